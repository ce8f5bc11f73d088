/** Runs suites of the whole system once more, on nodes that share a PostgreSQL: see `startNodes`, and `serve` of test/e2e. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { startPostgres } from "../postgres/server.ts";
import type { Postgres } from "../postgres/server.ts";
import { only } from "./suites.ts";

/** How long one may take, in milliseconds. */
const patienceMs = 270_000;

/** @param suites Below test/. */
export function runOnManyNodes(suites: readonly string[]): void {
  describe("on three nodes", { timeout: 290_000 }, () => {
    let postgres: Postgres;
    before(async () => void (postgres = await startPostgres()));
    after(() => postgres?.[Symbol.asyncDispose]());

    for (const suite of suites) {
      it(`the suite ${suite} holds as on one`, { timeout: patienceMs + 5000 }, async (t) => {
        const file = join(import.meta.dirname, `../${suite}.test.ts`);
        t.diagnostic(await run(file, { names: only[suite] ?? ".", url: postgres.url, signal: t.signal }));
      });
    }
  });
}

interface RunOptions {
  readonly names: string;
  readonly url: string;
  /** It is waited for no longer. */
  readonly signal: AbortSignal;
}

/** @returns How many tests there were. */
async function run(file: string, { names, url, signal }: RunOptions): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  // A group of its own: whatever a suite has started ends with it, should the suite not come to end that itself.
  const child = spawn(process.execPath, ["--test", "--test-reporter=spec", `--test-name-pattern=${names}`, file], {
    env: { ...env, TEST_DATABASE_URL: url },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const endAll = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // They are gone.
    }
  };
  process.once("exit", endAll);
  signal.addEventListener("abort", endAll);
  const timer = setTimeout(endAll, patienceMs);
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  try {
    const [code, endedBy] = (await once(child, "close")) as [number | null, string | null];
    assert.equal(endedBy, null, `it was ended after ${patienceMs / 1000} s: ${said.slice(-8000)}`);
    assert.equal(code, 0, said.slice(-8000));
  } finally {
    clearTimeout(timer);
    endAll();
    process.off("exit", endAll);
  }
  const [, passed] = /pass ([1-9]\d*)/.exec(said) ?? assert.fail(`no test ran: ${said}`);
  return `${passed} tests`;
}
