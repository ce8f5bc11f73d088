/**
 * Memory of chunks that are nobody's but ours: given back when the next chunk is asked for. What is left to the collector is left for
 * long, as it hardly sees how much hangs on a few objects: a file of a hundred megabytes would be in memory whole.
 */

/** Bytes: smaller chunks may be parts of memory that Node has for many. */
const LARGE = 16 * 1024;

/** @param chunks Whoever takes one has done with it when it asks for the next. */
export async function* released(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    yield chunk;
    const { buffer, byteLength } = chunk;
    if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= LARGE) buffer.transfer(0);
  }
}

const own = new WeakSet<object>();

/** A stream whose chunks nobody else has, opened when it is first read from. */
export function ownStream(open: () => Promise<ReadableStream<Uint8Array>>): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= (await open()).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  own.add(stream);
  return stream;
}

export function isOwn(stream: object): boolean {
  return own.has(stream);
}
