/** Reads a request's body, as far as it may be long. */

/** `lost`: the caller went away before the body had come in whole. */
export type Body = Uint8Array | "too large" | "lost";

/**
 * A body that says it is too large is not read at all; one of unknown length is read up to the limit only.
 *
 * @param limit In bytes.
 */
export async function readBody(request: Request, limit: number): Promise<Body> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > limit) return "too large";
  try {
    return await (length === null ? readUnknown(request, limit) : readKnown(request, limit));
  } catch {
    return "lost";
  }
}

/** In one piece: several times faster than piece by piece. The server has seen to it that the length is true. */
async function readKnown(request: Request, limit: number): Promise<Body> {
  const body = await request.arrayBuffer();
  return body.byteLength > limit ? "too large" : new Uint8Array(body);
}

async function readUnknown({ body }: Request, limit: number): Promise<Body> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    // The rest is left unread and not cancelled: that would cut the connection before the answer is out.
    if (length > limit) return "too large";
    chunks.push(next.value);
  }
  return Buffer.concat(chunks, length);
}
