/**
 * The packages that we stand on, as the lock file has them: under which licence, and whether what is installed is what was locked.
 * `node scripts/licences.ts` lists them; with `--check` it lists what may not be, and exits with 1 if anything is.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = dirname(import.meta.dirname);

/** What everybody who installs us may use as they like; most want their notice kept. */
const SHIPPED: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "(Apache-2.0 AND BSD-3-Clause)",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "Unlicense",
]);
/** For what only builds and tests, also those that ask something of who passes on a changed copy. */
const DEVELOPMENT: ReadonlySet<string> = new Set([
  ...SHIPPED,
  "(MIT AND Zlib)",
  "BlueOak-1.0.0",
  "MPL-2.0",
  "PSF-2.0",
  "Python-2.0",
]);
/** What packages say elsewhere than in the field for it, looked up by hand for this very version. */
const SAID: Readonly<Record<string, string>> = {
  // In the field that npm had before.
  "busboy 1.6.0": "MIT",
  "streamsearch 1.1.0": "MIT",
  // At the end of its Readme.
  "humanize-number 0.0.2": "MIT",
};

export interface Locked {
  readonly version?: string;
  /** Where it comes from, when not from the registry that npm is set up with; whatever that serves has to fit `integrity`. */
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

export interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

/** The packages that come from elsewhere, by their place. */
function foreign({ packages }: Lock): [string, Locked][] {
  return Object.entries(packages).filter(([place, { link }]) => place.includes("node_modules/") && link !== true);
}

/** One line for each package that may not be as it is. */
export function problemsIn(lock: Lock): string[] {
  return foreign(lock).flatMap(([place, locked]) => {
    const { version = "?", resolved, integrity, dev = false } = locked;
    const name = `${nameOf(place)} ${version}`;
    const license = locked.license ?? SAID[name] ?? "no licence";
    const problems: string[] = [];
    if (!(dev ? DEVELOPMENT : SHIPPED).has(license)) {
      problems.push(
        `${name} is under ${license}, which ${dev ? "no package here" : "nothing that we publish"} may be under`,
      );
    }
    if (resolved !== undefined) problems.push(`${name} comes from ${resolved}, not from npm's registry`);
    if (!integrity?.startsWith("sha512-")) problems.push(`${name} has no SHA-512 of what is installed`);
    return problems;
  });
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}

function list(lock: Lock): string {
  return foreign(lock)
    .map(
      ([place, { version, license, dev }]) =>
        `${nameOf(place)} ${version}  ${license}${dev === true ? "  (development)" : ""}`,
    )
    .toSorted()
    .join("\n");
}

function main(check: boolean): void {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock;
  if (!check) process.stdout.write(`${list(lock)}\n`);
  const problems = problemsIn(lock);
  if (problems.length === 0) return;
  process.stderr.write(`${problems.join("\n")}\n`);
  process.exitCode = 1;
}

if (import.meta.main) main(process.argv.includes("--check"));
