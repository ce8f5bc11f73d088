/** The JSON that a request brings, in the one order of checks: its type, its size, that it is JSON. */
import type { Refusal } from "./answer.ts";
import { readBody } from "./body.ts";
import type { BodyRoom } from "./limits.ts";
import { bodyLost, notJson, notJsonType, tooLarge } from "./refusals.ts";

/** @param limit In bytes. @param room See {@link readBody}. @throws Refused */
export async function readJson(
  request: Request,
  limit: number,
  room?: BodyRoom,
): Promise<{ readonly value: unknown } | { readonly refusal: Refusal }> {
  if (!/^application\/json *(;|$)/i.test(request.headers.get("content-type") ?? "")) return { refusal: notJsonType };
  const body = await readBody(request, limit, room);
  if (body === "too large") return { refusal: tooLarge(limit) };
  if (body === "lost") return { refusal: bodyLost };
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as unknown };
  } catch {
    return { refusal: notJson };
  }
}
