/**
 * Blobs in a local folder: a file for each, in folders by the first two digits of its hash. Bytes are on disk before they have their
 * name, and the name is on disk before anybody is told.
 */
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Blob } from "../store/files.ts";
import { BlobError, blobKey } from "./blob.ts";
import type { Blobs } from "./blob.ts";
import { readFileRange } from "./file-range.ts";
import { failed, Incoming } from "./incoming.ts";
import type { IncomingFile } from "./incoming.ts";
import { makeFolder } from "./make-folder.ts";

/**
 * @param folder Made with the first file, open to its owner alone.
 * @param onBuffer Told how large each buffer is that is made to read into.
 */
export function createBlobFolder(folder: string, onBuffer: (bytes: number) => void = () => undefined): Blobs {
  const incoming = new Incoming(join(folder, "incoming"));
  const pathOf = (blob: Blob) => join(folder, blob.sha256.slice(0, 2), blobKey(blob));
  const made = new Set<string>();

  const place = async (file: IncomingFile, blob: Blob) => {
    const path = pathOf(blob);
    await file.sync();
    if (!made.has(dirname(path))) {
      makeFolder(dirname(path));
      await syncFolder(folder);
      made.add(dirname(path));
    }
    try {
      await rename(file.path, path);
    } catch (error) {
      // It was placed before, and failed only after that.
      if (!(await hasSize(path, blob.size))) throw error;
    }
    await syncFolder(dirname(path));
  };

  return {
    receive: () => incoming.receive(place),

    async read(blob, range) {
      try {
        return await readFileRange(pathOf(blob), { size: blob.size, range, onBuffer });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") failed(error);
        throw new BlobError("blob.missing", `There is no file ${pathOf(blob)}.`, { cause: error });
      }
    },

    async remove(blobs) {
      for (const blob of blobs) await rm(pathOf(blob), { force: true }).catch(failed);
    },

    async [Symbol.asyncDispose]() {},
  };
}

async function hasSize(path: string, size: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === size;
}

/** A name is as lasting as the folder that it is in. */
async function syncFolder(folder: string): Promise<void> {
  // Windows has no such thing.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
