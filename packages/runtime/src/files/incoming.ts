/** Files that bytes come in to, before it is known what they are: in a folder of their own, where nobody looks for them. */
import { randomUUID } from "node:crypto";
import { open, readdir, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";

import { BlobError } from "./blob.ts";
import type { Intake } from "./blob.ts";
import { makeFolder } from "./make-folder.ts";

/** What is older was left by a process that died, in milliseconds. */
const LEFT = 86_400_000;

/** Bytes that are written in one go: while they are, the next ones come in. */
const PIECE = 256 * 1024;
/** Bytes after which the disk is asked to have them, so that little is left for the end. */
const SYNCED = 16 * 1024 * 1024;
/** Pieces that are kept for the next files: what is made anew each time is a hundred times as much before it is collected. */
const SPARE = 8;

/** Memory for pieces of files, used again and again. */
class Pieces {
  readonly #spare: Buffer[] = [];

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(PIECE);
  }

  giveBack(piece: Buffer | undefined): void {
    if (piece !== undefined && this.#spare.length < SPARE) this.#spare.push(piece);
  }
}

export class Incoming {
  readonly #folder: string;
  readonly #memory = new Pieces();
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
    const file = new IncomingFile(path, handle, this.#memory);
    return {
      write: (bytes) => file.write(bytes).catch(failed),
      place: (blob) => place(file, blob).catch(failed),
      [Symbol.asyncDispose]: () => file.forget(),
    };
  }

  async #prepare(): Promise<void> {
    makeFolder(this.#folder);
    const before = Date.now() - LEFT;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      // Another process on the same folder may be faster.
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
    }
  }
}

export class IncomingFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #memory: Pieces;
  /** Of the piece that comes in, what is there of it. A small file has none of its own for long. */
  #piece: Buffer | undefined;
  #filled = 0;
  #unsynced = 0;
  /** The write, and the sync, that are under way. Each is waited for before the next. */
  #writing: Promise<void> = Promise.resolve();
  #syncing: Promise<void> | undefined;
  #isOnDisk = false;
  #isOpen = true;

  constructor(path: string, handle: FileHandle, memory: Pieces) {
    this.path = path;
    this.#handle = handle;
    this.#memory = memory;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      this.#piece ??= this.#memory.take();
      const part = bytes.subarray(from, from + PIECE - this.#filled);
      this.#piece.set(part, this.#filled);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled === PIECE) await this.#flush();
    }
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
      this.#memory.giveBack(this.#piece);
      this.#piece = undefined;
    }
    await rm(this.path, { force: true });
  }

  /** Waits for the write before, and begins one of what has come in since. */
  async #flush(): Promise<void> {
    const piece = this.#piece;
    const length = this.#filled;
    this.#piece = undefined;
    this.#filled = 0;
    await this.#writing;
    if (piece === undefined) return;
    this.#writing = this.#writeAll(piece.subarray(0, length)).finally(() => this.#memory.giveBack(piece));
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

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const { bytesWritten } = await this.#handle.write(bytes, from, bytes.length - from);
      from += bytesWritten;
    }
  }
}

/** @throws BlobError */
export function failed(error: unknown): never {
  if (error instanceof BlobError) throw error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT")
    throw new BlobError("blob.full", "The disk that files are kept on is full.", { cause: error });
  throw new BlobError("blob.failed", `Files cannot be kept: ${message}.`, { cause: error });
}
