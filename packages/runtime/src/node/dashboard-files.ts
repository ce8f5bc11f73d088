/**
 * The dashboard's built files. A published package carries them; a clone builds them the first time that somebody asks (a second), in
 * a process of its own, and keeps them by what they were built from.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import type { DashboardFile, DashboardFiles } from "../http/dashboard.ts";
import type { Log } from "./log.ts";

const PUBLISHED = fileURLToPath(new URL("../../dashboard/", import.meta.url));
const BUILD = fileURLToPath(new URL("../../../dashboard/scripts/build.ts", import.meta.url));
/** For a build on a busy machine, in milliseconds. */
const PATIENCE = 60_000;
/** After a failure, in milliseconds. */
const PAUSE = 10_000;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".md": "text/plain; charset=utf-8",
};

/** Looked for, or built, at the first call. After a failure it is tried again, but not by everybody who asks. */
export function findDashboard(log: Log): DashboardFiles {
  let found: Promise<ReadonlyMap<string, DashboardFile>> | undefined;
  let failedAt = -Infinity;
  return async () => {
    if (performance.now() - failedAt < PAUSE) return undefined;
    found ??= folderOf().then(readFiles);
    const finding = found;
    try {
      return await finding;
    } catch (error) {
      if (found !== finding) return undefined;
      found = undefined;
      failedAt = performance.now();
      log.error({ error }, "The dashboard's files are neither here nor can they be built.");
      return undefined;
    }
  };
}

async function folderOf(): Promise<string> {
  if (existsSync(join(PUBLISHED, "index.html"))) return PUBLISHED;
  const { stdout } = await promisify(execFile)(process.execPath, [BUILD], { timeout: PATIENCE });
  return stdout.trim();
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, DashboardFile>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile() && extname(entry.name) in TYPES);
  return new Map(
    await Promise.all(
      files.map(async ({ name, parentPath }): Promise<[string, DashboardFile]> => {
        const file = join(parentPath, name);
        const path = file.slice(folder.length).replaceAll("\\", "/").replace(/^\//, "");
        const body = new Uint8Array(await readFile(file));
        return [path, { body, gzipped: new Uint8Array(await promisify(gzip)(body)), type: TYPES[extname(name)]! }];
      }),
    ),
  );
}
