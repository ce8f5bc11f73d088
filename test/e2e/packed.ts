/**
 * Our packages as somebody has them who has installed them: built, packed by npm, and installed by npm from these tarballs into an empty
 * project. Nothing comes over the network: what they depend on is packed from this repository's node_modules, and npm's cache is empty.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
export const MODULES = join(ROOT, "node_modules");

export interface Packed {
  /** The folder of the project. */
  readonly project: string;
  /** By the names of our packages. */
  readonly tarballs: ReadonlyMap<string, string>;
}

/**
 * @param folder An empty one.
 * @param name Of a package's folder: `agents`. Those of ours that it needs come along.
 */
export function installPacked(folder: string, name: string): Packed {
  const [built, packs, project] = ["built", "packs", "project"].map((one) => join(folder, one)) as [
    string,
    string,
    string,
  ];
  for (const one of [built, packs, project]) mkdirSync(one);
  node(join(ROOT, "scripts/build.ts"), "--out", built, name);
  const ours = closureOf(join(built, name), (needed) =>
    needed.startsWith("@nylorun/") ? join(built, needed.slice("@nylorun/".length)) : join(MODULES, needed),
  );
  const packed = npm(packs, folder, ["pack", "--json", ...ours.values()]);
  const files = new Map(
    (JSON.parse(packed) as readonly { name: string; filename: string }[]).map((one) => [
      one.name,
      join(packs, one.filename),
    ]),
  );
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  npm(project, folder, ["install", "--offline", ...files.values()]);
  return { project, tarballs: new Map([...files].filter(([of]) => of.startsWith("@nylorun/"))) };
}

/** A package and all that it depends on: names, and where they are. */
function closureOf(first: string, locate: (name: string) => string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const waiting = [first];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as {
      readonly name: string;
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    if (found.has(manifest.name)) continue;
    found.set(manifest.name, at);
    waiting.push(...Object.keys(manifest.dependencies ?? {}).map(locate));
  }
  return found;
}

function node(...args: readonly string[]): void {
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: "pipe" });
}

/** What the npm that we may be a script of has set for its scripts is not for this one. */
function npm(cwd: string, folder: string, args: readonly string[]): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$)/i.test(name)));
  const flags = [
    "--cache",
    join(folder, "cache"),
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
  ];
  return execFileSync("npm", [...args, ...flags], {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
    shell: process.platform === "win32",
  });
}
