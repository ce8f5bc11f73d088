/**
 * `npm run check`: everything that can be said about the code without running it. Prints a line for each check, and what it
 * has to say if it fails; exits with 1 if one failed.
 *
 *     npm run check                  all of them
 *     npm run check -- types rooms   these
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

const ROOT = resolve(import.meta.dirname, "..");
/** For one check, in milliseconds: none takes a minute, so one that has not ended is stuck. */
const TIMEOUT = 5 * 60_000;

/** What Node runs for each check, the slowest first. */
const CHECKS = new Map<string, readonly string[]>([
  ["lint", ["node_modules/oxlint/bin/oxlint", "--type-aware"]],
  ["generated", ["scripts/generate.ts", "--check"]],
  ["types", ["node_modules/typescript/bin/tsc", "-p", "."]],
  ["rooms", ["scripts/rooms.ts"]],
  ["conformance", ["test/conformance/main.ts", "--check"]],
  ["exports", ["scripts/exports.ts", "--check"]],
  ["licences", ["scripts/licences.ts", "--check"]],
  ["format", ["node_modules/oxfmt/bin/oxfmt", "--check"]],
]);

interface Outcome {
  readonly name: string;
  readonly failure: string | undefined;
  readonly output: string;
  readonly seconds: number;
}

/** Never rejects: a check that cannot be run has failed. */
async function run(name: string, args: readonly string[]): Promise<Outcome> {
  const started = performance.now();
  const check = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], timeout: TIMEOUT });
  const { promise, resolve: ended } = Promise.withResolvers<string | undefined>();
  check.on("error", (error) => ended(error.message));
  check.on("close", (code, signal) => ended(code === 0 ? undefined : (signal ?? `exit code ${code}`)));
  const [failure, ...output] = await Promise.all([promise, text(check.stdout), text(check.stderr)]);
  return { name, failure, output: output.join("").trim(), seconds: (performance.now() - started) / 1000 };
}

function print({ name, failure, output, seconds }: Outcome): void {
  const line = `${failure === undefined ? "✔" : "✖"} ${name.padEnd(11)} ${seconds.toFixed(1)} s\n`;
  process.stdout.write(failure === undefined ? line : `${line}${output || failure}\n\n`);
}

async function main(asked: readonly string[]): Promise<void> {
  const unknown = asked.find((name) => !CHECKS.has(name));
  if (unknown !== undefined) {
    process.stderr.write(`check: there is no check "${unknown}"; there are ${[...CHECKS.keys()].join(", ")}\n`);
    process.exitCode = 1;
    return;
  }
  const waiting = [...CHECKS].filter(([name]) => asked.length === 0 || asked.includes(name));
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const outcome = await run(...next);
      print(outcome);
      if (outcome.failure !== undefined) failed.push(outcome.name);
    }
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));
  if (failed.length > 0) {
    process.stdout.write(
      `${failed.length} failed: ${failed.join(", ")}. \`npm run fix\` does what can be done by itself.\n`,
    );
    process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
