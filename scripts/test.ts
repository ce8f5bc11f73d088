/**
 * `npm test`: runs the `*.test.ts` files with Node's test runner.
 *
 *     npm test                                        all of them
 *     npm test -- packages/protocol test/e2e/a.test.ts    those at or below the given paths
 *     npm test -- --test-name-pattern "queued"        the tests whose title matches, in any file
 *
 * Each file is a process of its own. A test that takes longer than `TEST_TIMEOUT` fails; a file that has not ended after
 * `FILE_TIMEOUT` is killed, so nothing hangs. The runner's summary is the last thing printed, and its exit code is ours.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["packages", "test", "examples", "scripts", "bench"];
/** In milliseconds. */
const TEST_TIMEOUT = 4 * 60_000;
/** In milliseconds, longer than a test's: the file whose test fails for taking too long can still clean up. */
const FILE_TIMEOUT = 5 * 60_000;
/** Files that run at once: most wait for sockets and disks, so two cores carry two, and more than four only slow each other. */
const CONCURRENCY = Math.min(4, Math.max(2, availableParallelism()));

const OPTIONS = {
  "test-name-pattern": { type: "string", multiple: true },
  "test-skip-pattern": { type: "string", multiple: true },
  "test-reporter": { type: "string", default: "spec" },
  "test-timeout": { type: "string", default: String(TEST_TIMEOUT) },
  "test-only": { type: "boolean", default: false },
} as const;

function testFiles(): string[] {
  const pattern = `{${FOLDERS.join(",")}}/**/*.test.ts`;
  return globSync(pattern, { cwd: ROOT, exclude: ["**/node_modules/**", "**/dist/**"] }).toSorted();
}

/** The files at or below the asked paths, which are relative to where npm was called, else to the root. */
function select(files: readonly string[], asked: readonly string[]): string[] {
  if (asked.length === 0) return [...files];
  const chosen = new Set<string>();
  for (const path of asked) {
    const at = [process.env["INIT_CWD"] ?? ROOT, ROOT]
      .map((from) => resolve(from, path))
      .find((full) => existsSync(full));
    const below = at === undefined ? [] : files.filter((file) => isAtOrBelow(join(ROOT, file), at));
    if (below.length === 0) throw new Error(`there is no *.test.ts file at or below "${path}"`);
    for (const file of below) chosen.add(file);
  }
  return [...chosen];
}

function isAtOrBelow(file: string, path: string): boolean {
  const way = relative(path, file);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/**
 * The tests see none of the caller's own settings, and are not part of a test run that may have started us.
 *
 * @param events Takes the place of the caller's own sink, where a Runtime on this machine reports.
 */
function testEnvironment(events: string): NodeJS.ProcessEnv {
  const isOurs = (name: string): boolean => name.startsWith("NYLORUN_") || name === "NODE_TEST_CONTEXT";
  const rest = Object.entries(process.env).filter(([name]) => !isOurs(name));
  return { TEST_FILE_TIMEOUT: String(FILE_TIMEOUT), ...Object.fromEntries(rest), AGENT_PROGRESS_EVENTS_DIR: events };
}

function main(): void {
  let files: string[];
  const flags = [
    "--test",
    `--import=${pathToFileURL(join(import.meta.dirname, "test-deadline.ts")).href}`,
    `--test-concurrency=${CONCURRENCY}`,
  ];
  try {
    const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
    for (const [name, value] of Object.entries(values)) {
      if (value === true) flags.push(`--${name}`);
      else if (value !== false) for (const one of [value].flat()) flags.push(`--${name}=${one}`);
    }
    files = select(testFiles(), positionals);
    if (files.length === 0) throw new Error("there is no *.test.ts file to run");
  } catch (error) {
    process.stderr.write(`test: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
    return;
  }
  const events = mkdtempSync(join(tmpdir(), "nylorun-test-events-"));
  const runner = spawn(process.execPath, [...flags, ...files], {
    cwd: ROOT,
    env: testEnvironment(events),
    stdio: ["ignore", "inherit", "inherit"],
  });
  // Ctrl-C reaches the runner by itself; a signal to us alone is passed on.
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => runner.kill(signal));
  process.on("SIGINT", () => {});
  runner.on("close", (code, signal) => {
    rmSync(events, { recursive: true, force: true });
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : 1);
  });
}

main();
