/**
 * The Blob port: where the bytes of files are. Bytes come in unseen, and are there when they are placed under a key, whole and on disk;
 * under one key there are only ever the same bytes. Which keys are needed, and by whom, is the Store's to know (store/files.ts).
 */
import type { Blob } from "../store/files.ts";

export interface Blobs extends AsyncDisposable {
  /** @throws BlobError `blob.full`, `blob.failed`. */
  receive(): Promise<Intake>;
  /**
   * The bytes, or a range of them, as they come.
   *
   * @throws BlobError `blob.missing`, `blob.failed`; the stream, too.
   */
  read(blob: Blob, range?: ByteRange): Promise<ReadableStream<Uint8Array>>;
  /** Those that are not there are gone already. @throws BlobError `blob.failed`: some of them may be gone. */
  remove(blobs: readonly Blob[]): Promise<void>;
}

/** Bytes on their way in. Disposing of it forgets what was not placed. */
export interface Intake extends AsyncDisposable {
  /** Keeps nothing of what it is given once it has resolved. @throws BlobError `blob.full`, `blob.failed`. */
  write(bytes: Uint8Array): Promise<void>;
  /** Everything that was written, and is this blob's; once, and again if it failed. @throws BlobError `blob.full`, `blob.failed`. */
  place(blob: Blob): Promise<void>;
}

/** Both ends belong to it, counted from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** A name for the bytes that no other bytes ever have: see store/files.ts. */
export function blobKey({ sha256, blob }: Blob): string {
  return `${sha256}.${blob}`;
}

export class BlobError extends Error {
  override readonly name = "BlobError";
  readonly code: BlobErrorCode;

  constructor(code: BlobErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type BlobErrorCode =
  /** There are no such bytes. */
  | "blob.missing"
  /** There is no room for more. */
  | "blob.full"
  /** The disk, or the storage, did not do it. It may at the next try. */
  | "blob.failed";
