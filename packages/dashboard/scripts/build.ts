/**
 * Builds the dashboard, unless what it is built from is what it was built from before, and prints the folder.
 *
 *     node packages/dashboard/scripts/build.ts
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const PACKAGE = resolve(import.meta.dirname, "..");
const ROOT = resolve(PACKAGE, "../..");
const CACHE = join(ROOT, "node_modules/.cache/nylorun-dashboard");

/** What the built files follow from: our sources, and the versions of everything else. */
const SOURCES = [
  "package-lock.json",
  "packages/dashboard/{index.html,package.json,scripts/build.ts}",
  "packages/dashboard/src/**",
  "packages/{agents,protocol,widget}/package.json",
  "packages/{agents,protocol,widget}/src/**",
];

function fingerprint(): string {
  const hash = createHash("sha256");
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.toSorted()) hash.update(file.slice(ROOT.length)).update("\0").update(readFileSync(file));
  return hash.digest("hex").slice(0, 24);
}

/** The folder of the built files. */
export async function buildDashboard(): Promise<string> {
  const folder = join(CACHE, fingerprint());
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, "draft-"));
  try {
    const { build } = await import("vite");
    await build({
      root: PACKAGE,
      configFile: false,
      // What stands before a Runtime may have a path of its own.
      base: "./",
      build: {
        outDir: draft,
        emptyOutDir: true,
        target: "es2023",
        // Files, so that the page's policy needs no exception.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        // The notices of what is in the files, beside them.
        license: { fileName: "assets/licences.md" },
      },
      logLevel: "error",
    });
    renameSync(draft, folder);
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

if (import.meta.main) process.stdout.write(`${await buildDashboard()}\n`);
