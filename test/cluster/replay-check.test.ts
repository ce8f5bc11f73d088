/** `nylorun replay-check` against the database that nodes share, while they serve from it. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Client } from "../crash/client.ts";
import { nylorunWith } from "../crash/nylorun.ts";
import { startPostgres } from "../postgres/server.ts";
import { Nodes } from "./nodes.ts";

const AGENTS = JSON.stringify(import.meta.resolve("@nylorun/agents"));
const agentOf = (body: string) => `
  import { defineAgent } from ${AGENTS};
  export default defineAgent({
    id: "refunds", name: "Refunds", description: "Refunds.", version: "1.0.0",
    skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
    async run(turn) { ${body} },
  });`;
const asks = `return (await turn.approve({ prompt: "Refund?" })) ? "Refunded." : "Not refunded.";`;

test("replay-check reads the turns of the database that nodes share, and changes nothing in it", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "nylorun-cluster-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const write = async (name: string, body: string) => {
    const file = join(folder, name);
    await writeFile(file, agentOf(body));
    return file;
  };
  const same = await write("same.ts", `const order = await turn.effect("find", () => 42); ${asks}`);
  const changed = await write("changed.ts", asks);
  const postgres = stack.use(await startPostgres());
  const env = { NYLORUN_DATABASE_URL: postgres.url };
  const check = (file: string) => nylorunWith(env, join(folder, "elsewhere"), "replay-check", file);

  assert.match((await check(same)).stdout, /^No turn of refunds has begun and not ended\.$/m, "there is no schema yet");
  const nodes = stack.use(await Nodes.start({ postgres, folder, agents: same, count: 1 }));
  const client = new Client(nodes.proxy.url, await nodes.key("ada"), "refunds");
  const tasks = [];
  for (const messageId of ["1", "2"]) tasks.push(await client.send({ messageId, text: "Refund" }));

  // What they ask is shown a moment before they are put down.
  const running = "SELECT 1 FROM nylorun.contexts WHERE runner IS NOT NULL";
  for (let tries = 0; (await postgres.query(running)).length > 0; tries++) {
    assert.ok(tries < 400, "they are never put down");
    await delay(50);
  }
  const snapshot = async () => JSON.stringify(await postgres.query("SELECT * FROM nylorun.turns ORDER BY turn"));
  const before = await snapshot();
  assert.deepEqual(await check(same), { code: 0, stdout: "All 2 turns fit.\n", stderr: "" });
  const { code, stdout } = await check(changed);
  assert.equal(code, 1);
  assert.match(stdout, /^2 of 2 do not fit:$/m);
  for (const { id } of tasks) assert.ok(stdout.includes(id), stdout);
  assert.equal(await snapshot(), before);

  await postgres.query("INSERT INTO nylorun.versions VALUES (1000, now())");
  const { stderr } = await check(same);
  assert.match(
    stderr,
    /^nylorun: The schema nylorun is of version 1000, and this version of Nylorun reads \d+: use the/,
  );
});
