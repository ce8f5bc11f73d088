/** Reads a local file, or a part of it, a piece at a time and no faster than it is taken. */
import { open } from "node:fs/promises";

import type { ByteRange } from "./blob.ts";

/** Bytes: with two of them under way, neither the disk nor the network waits for the other; small beside what a process has. */
const PIECE = 512 * 1024;

export interface FileRange {
  /** What the file must have, in bytes. */
  readonly size: number;
  /** Default: all of it. */
  readonly range?: ByteRange | undefined;
  /** Told how large each buffer is that is read into. */
  readonly onBuffer: (bytes: number) => void;
}

/**
 * @throws What opening it throws; RangeError when it has another size. So does the stream when it turns out to be shorter.
 */
export async function readFileRange(
  path: string,
  { size, range, onBuffer }: FileRange,
): Promise<ReadableStream<Uint8Array>> {
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const handle = await open(path, "r");
  try {
    const found = await handle.stat();
    if (found.size !== size) throw new RangeError(`${path} has ${found.size} bytes, not ${size}`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  let at = first;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const length = Math.min(PIECE, last + 1 - at);
          if (length > 0) {
            onBuffer(length);
            const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(length), 0, length, at);
            if (bytesRead === 0) throw new RangeError(`${path} has become shorter than ${size} bytes`);
            at += bytesRead;
            controller.enqueue(buffer.subarray(0, bytesRead));
          }
          if (at <= last) return;
          await handle.close();
          controller.close();
        } catch (error) {
          await handle.close();
          throw error;
        }
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 2 },
  );
}
