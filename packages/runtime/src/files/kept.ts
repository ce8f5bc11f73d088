/** Reads what turns have kept. */
import type { RawPart } from "@nylorun/protocol";

import type { FileStore } from "../store/files.ts";
import type { TurnKey } from "../turn/record.ts";
import { BlobError } from "./blob.ts";
import type { Blobs, ByteRange } from "./blob.ts";
import { ownStream } from "./own-memory.ts";

export interface KeptFiles {
  /** The bytes that a part of a message brings itself. */
  readonly decode: (part: RawPart) => Uint8Array<ArrayBuffer>;
  /**
   * What a turn has kept or fetched, or a range of it.
   *
   * @throws BlobError, StoreError; the stream, too.
   */
  readonly read: (key: TurnKey, sha256: string, range?: ByteRange) => Promise<ReadableStream<Uint8Array>>;
  /** The same, opened when it is first read from. */
  readonly stream: (key: TurnKey, sha256: string) => ReadableStream<Uint8Array>;
  /** How many bytes that is. Undefined: the turn has no such file. */
  readonly sizeOf: (key: TurnKey, sha256: string) => Promise<number | undefined>;
}

export interface KeptOptions {
  readonly store: { readonly files: Pick<FileStore, "find"> };
  readonly blobs: Pick<Blobs, "read">;
}

export function keptFiles({ store, blobs }: KeptOptions): KeptFiles {
  const read: KeptFiles["read"] = async (key, sha256, range) => {
    const blob = await store.files.find(key, sha256);
    if (blob === undefined) throw new BlobError("blob.missing", "The turn holds no such file.");
    return blobs.read(blob, range);
  };
  return {
    decode: ({ raw }) => Uint8Array.from(Buffer.from(raw, "base64")),
    read,
    stream: (key, sha256) => ownStream(() => read(key, sha256)),

    sizeOf: async (key, sha256) => (await store.files.find(key, sha256))?.size,
  };
}
