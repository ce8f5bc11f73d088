/** Blobs in memory: for tests of agents, which end with their process. */
import type { Blob } from "../store/files.ts";
import { BlobError, blobKey } from "./blob.ts";
import type { Blobs } from "./blob.ts";

/** Bytes that are read in one go. */
const PIECE = 64 * 1024;

export function createMemoryBlobs(): Blobs {
  const placed = new Map<string, Uint8Array>();
  return {
    async receive() {
      const pieces: Uint8Array[] = [];
      return {
        async write(bytes) {
          // Not `slice`: of a Buffer that is no copy.
          pieces.push(Uint8Array.from(bytes));
        },
        async place(blob) {
          placed.set(blobKey(blob), Buffer.concat(pieces));
        },
        async [Symbol.asyncDispose]() {},
      };
    },

    async read(blob: Blob, range) {
      const bytes = placed.get(blobKey(blob));
      if (bytes === undefined) throw new BlobError("blob.missing", `There are no bytes ${blobKey(blob)}.`);
      const { first, last } = range ?? { first: 0, last: bytes.length - 1 };
      let at = first;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = Uint8Array.from(bytes.subarray(at, Math.min(at + PIECE, last + 1)));
          if (piece.length > 0) controller.enqueue(piece);
          if ((at += PIECE) > last) controller.close();
        },
      });
    },

    async remove(blobs) {
      for (const blob of blobs) placed.delete(blobKey(blob));
    },

    async [Symbol.asyncDispose]() {},
  };
}
