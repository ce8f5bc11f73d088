/** Files that bytes come in to, before it is known what they are: in a folder of their own, where nobody looks for them. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";

import { BlobError } from "./blob.ts";
import type { Intake } from "./blob.ts";

/** What is older was left by a process that died, in milliseconds. */
const LEFT = 86_400_000;

export class Incoming {
  readonly #folder: string;
  #prepared: Promise<void> | undefined;

  /** @param folder Made, and rid of what dead processes left in it, when it is first needed. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async receive(place: (file: IncomingFile, name: Parameters<Intake["place"]>[0]) => Promise<void>): Promise<Intake> {
    this.#prepared ??= this.#prepare();
    await this.#prepared.catch((error: unknown) => {
      this.#prepared = undefined;
      failed(error);
    });
    const path = join(this.#folder, randomUUID());
    const handle = await open(path, "wx", 0o600).catch(failed);
    const file = new IncomingFile(path, handle);
    return {
      write: (bytes) => file.write(bytes).catch(failed),
      place: (blob) => place(file, blob).catch(failed),
      [Symbol.asyncDispose]: () => file.forget(),
    };
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const before = Date.now() - LEFT;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      // Another process on the same folder may be faster.
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
    }
  }
}

/** Bytes that are written in one go: while they are, the next ones come in. */
const PIECE = 1024 * 1024;
/** Bytes after which the disk is asked to have them, so that little is left for the end. */
const SYNCED = 16 * 1024 * 1024;

export class IncomingFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #pieces: Uint8Array[] = [];
  #pending = 0;
  #unsynced = 0;
  /** The write, and the sync, that are under way. Each is waited for before the next. */
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> | undefined;
  #isOnDisk = false;
  #isOpen = true;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // A copy: whoever gave them may use them again.
    this.#pieces.push(Uint8Array.from(bytes));
    this.#pending += bytes.length;
    if (this.#pending >= PIECE) await this.#flush();
  }

  /** Resolves when the file holds everything that was written. */
  async finish(): Promise<void> {
    await this.#flush();
    await this.#writing;
  }

  /** Resolves when it can be relied on that the bytes are there after a loss of power. */
  async sync(): Promise<void> {
    if (this.#isOnDisk) return;
    await this.finish();
    await this.#syncing;
    await this.#handle.sync();
    this.#isOnDisk = true;
  }

  async forget(): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false;
      await this.#writing.catch(() => undefined);
      await this.#syncing?.catch(() => undefined);
      await this.#handle.close();
    }
    await rm(this.path, { force: true });
  }

  /** Waits for the write before, and begins one of what has come in since. */
  async #flush(): Promise<void> {
    const pieces = this.#pieces;
    const length = this.#pending;
    this.#pieces = [];
    this.#pending = 0;
    await this.#writing;
    if (length === 0) return;
    this.#writing = this.#writeAll(pieces);
    // Whoever waits for it next is told.
    this.#writing.catch(() => undefined);
    this.#unsynced += length;
    if (this.#unsynced < SYNCED || this.#syncing !== undefined) return;
    this.#unsynced = 0;
    this.#syncing = this.#writing.then(() => this.#handle.datasync());
    this.#syncing.then(
      () => (this.#syncing = undefined),
      () => undefined,
    );
  }

  async #writeAll(pieces: readonly Uint8Array[]): Promise<void> {
    let left = pieces;
    while (left.length > 0) {
      const { bytesWritten } = await this.#handle.writev(left);
      left = after(left, bytesWritten);
    }
  }
}

/** What of these pieces is left after so many bytes. */
function after(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skip = bytes;
  for (const [index, piece] of pieces.entries()) {
    if (skip < piece.length) return [piece.subarray(skip), ...pieces.slice(index + 1)];
    skip -= piece.length;
  }
  return [];
}

/** @throws BlobError */
export function failed(error: unknown): never {
  if (error instanceof BlobError) throw error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT")
    throw new BlobError("blob.full", "The disk that files are kept on is full.", { cause: error });
  throw new BlobError("blob.failed", `Files cannot be kept: ${message}.`, { cause: error });
}
