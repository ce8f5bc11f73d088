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

export class IncomingFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #isOnDisk = false;
  #isOpen = true;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const { bytesWritten } = await this.#handle.write(bytes, from, bytes.length - from);
      from += bytesWritten;
    }
  }

  /** Resolves when it can be relied on that the bytes are there after a loss of power. */
  async sync(): Promise<void> {
    if (!this.#isOnDisk) await this.#handle.sync();
    this.#isOnDisk = true;
  }

  async forget(): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false;
      await this.#handle.close();
    }
    await rm(this.path, { force: true });
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
