/** Reads a request's body, as far as it may be long. */
import { Refused } from "./answer.ts";
import type { BodyRoom } from "./limits.ts";

/** `lost`: the caller went away before the body had come in whole. */
export type Body = Uint8Array | "too large" | "lost";

/** Room that is taken at a time for a body that does not say how long it is, in bytes. */
const PIECE = 64 * 1024;

/**
 * A body that says it is too large is not read at all; one of unknown length is read up to the limit only.
 *
 * @param limit In bytes.
 * @param room Where the body has room. Default: everywhere.
 * @throws Refused
 */
export async function readBody(request: Request, limit: number, room?: BodyRoom): Promise<Body> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > limit) return "too large";
  if (length !== null) room?.take(Number(length));
  try {
    const body = await (length === null ? readUnknown(request, limit, room) : readKnown(request, limit));
    if (body !== "too large") await room?.arrived();
    return body;
  } catch (error) {
    if (error instanceof Refused) throw error;
    return "lost";
  }
}

/** In one piece: several times faster than piece by piece. The server has seen to it that the length is true. */
async function readKnown(request: Request, limit: number): Promise<Body> {
  const body = await request.arrayBuffer();
  return body.byteLength > limit ? "too large" : new Uint8Array(body);
}

async function readUnknown({ body }: Request, limit: number, room: BodyRoom | undefined): Promise<Body> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let taken = 0;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    // The rest is left unread and not cancelled: that would cut the connection before the answer is out.
    if (length > limit) return "too large";
    if (length > taken) {
      const more = Math.max(length, Math.min(taken + PIECE, limit)) - taken;
      room?.take(more);
      taken += more;
    }
    chunks.push(next.value);
  }
  return Buffer.concat(chunks, length);
}
