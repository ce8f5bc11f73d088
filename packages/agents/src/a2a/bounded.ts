/** Reads what somebody else sends, up to a limit: what is longer is not read to its end. */

/**
 * @param limit In bytes.
 * @returns undefined when it is longer.
 */
export async function readUpTo(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > limit) {
      // Its end is not waited for: who sends too much may take for ever over it.
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(next.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
