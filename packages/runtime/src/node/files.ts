/** Files, as the settings say: where they are kept, from where they are fetched, and how much of them. */
import { join } from "node:path";

import { createDialler } from "../dial/dialler.ts";
import { HostList } from "../dial/host-list.ts";
import type { Blobs } from "../files/blob.ts";
import { createFetcher } from "../files/fetcher.ts";
import { FileKeeper } from "../files/files.ts";
import { createBlobFolder } from "../files/folder.ts";
import { createFileLinks } from "../files/links.ts";
import type { FileLinks } from "../files/links.ts";
import { createS3Blobs } from "../files/s3.ts";
import { takeOutBuffers } from "../store/garbage.ts";
import type { Store } from "../store/store.ts";
import { RuntimeError } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Settings } from "./settings.ts";

export interface FilesOptions {
  /** The folder of the home. */
  readonly home: string;
  readonly settings: Settings;
  readonly store: Store;
  /** Whether the disk of the home has room. */
  readonly hasRoom: () => boolean;
  readonly log: Log;
}

export interface OpenFiles extends AsyncDisposable {
  readonly blobs: Blobs;
  readonly files: FileKeeper;
}

/** @throws RuntimeError `setting.invalid`. */
export function openFiles({ home, settings, store, hasRoom, log }: FilesOptions): OpenFiles {
  const { fileBytes, totalBytes, subjectStoredBytes, fileFetchMs, fileHosts } = settings;
  const { databaseUrl, fileFolder, s3Url } = settings;
  if (databaseUrl !== undefined && fileFolder === undefined && s3Url === undefined) {
    log.warn(
      {},
      "Files are kept in this home alone: other processes on the database cannot give them out. Set s3Url, or fileFolder.",
    );
  }
  const blobs = blobsOf(home, settings);
  const trusted = HostList.parse(fileHosts)!;
  const dialler = createDialler({
    trustOf: (origin) => trusted.trustOf(origin) ?? (origin.protocol === "https:" ? "public" : undefined),
  });
  const fetcher = createFetcher({ dialler, ms: fileFetchMs });
  const limits = { file: fileBytes, total: totalBytes, subject: subjectStoredBytes };
  return {
    blobs,
    files: new FileKeeper({ store, blobs, fetcher, limits, hasRoom }),
    async [Symbol.asyncDispose]() {
      await dialler[Symbol.asyncDispose]();
      await blobs[Symbol.asyncDispose]();
    },
  };
}

/** @param publicUrl Where callers reach the Runtime. */
export function linksTo(publicUrl: string, store: Store, { fileLinkMs: ms }: Settings): FileLinks {
  return createFileLinks({ secret: (name, make) => store.secret(name, make), now: () => store.now(), ms, publicUrl });
}

/** A folder, or the URL of S3-compatible storage. */
export function filePlaceOf(home: string, { fileFolder, s3Url }: Settings): string {
  return s3Url ?? fileFolder ?? join(home, "blobs");
}

/** @throws RuntimeError `setting.invalid`. */
export function blobsOf(home: string, settings: Settings): Blobs {
  const { s3Url, s3Region, s3AccessKeyId, s3SecretAccessKey } = settings;
  if (s3Url === undefined) return createBlobFolder(filePlaceOf(home, settings), takeOutBuffers());
  if (s3AccessKeyId === undefined || s3SecretAccessKey === undefined) {
    throw new RuntimeError(
      "setting.invalid",
      "S3-compatible storage needs a key: NYLORUN_S3_ACCESS_KEY_ID and NYLORUN_S3_SECRET_ACCESS_KEY.",
    );
  }
  return createS3Blobs({
    url: s3Url,
    region: s3Region ?? "auto",
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
    incoming: join(home, "incoming"),
  });
}
