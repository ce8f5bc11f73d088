/** Suites of the whole system, once more: on three nodes that share a PostgreSQL, behind a plain round-robin proxy. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { startPostgres } from "../postgres/server.ts";
import type { Postgres } from "../postgres/server.ts";

const suites = ["turns", "subjects", "official-client", "push-configs", "push"];

describe("on three nodes", { timeout: 180_000 }, () => {
  let postgres: Postgres;
  before(async () => void (postgres = await startPostgres()));
  after(() => postgres?.[Symbol.asyncDispose]());

  for (const suite of suites) {
    it(`the suite ${suite} holds as on one`, async () => {
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const file = fileURLToPath(new URL(`../e2e/${suite}.test.ts`, import.meta.url));
      const child = spawn(process.execPath, ["--test", "--test-reporter=spec", file], {
        env: { ...env, E2E_DATABASE_URL: postgres.url },
        stdio: ["ignore", "pipe", "inherit"],
        timeout: 120_000,
      });
      let said = "";
      child.stdout.on("data", (text: Buffer) => (said += text.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      assert.equal(code, 0, said.slice(-8000));
      assert.match(said, /pass [1-9]/);
    });
  }
});
