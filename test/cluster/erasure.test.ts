/** What is erased is forgotten by all nodes of one PostgreSQL, whichever process erases it. */
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

const AGENT = `
  import { defineAgent } from ${JSON.stringify(import.meta.resolve("@nylorun/agents"))};
  export default defineAgent({
    id: "refunds", name: "Refunds", description: "Refunds.", version: "1.0.0",
    skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
    run: async (turn) => (await turn.approve({ prompt: "Refund?" })) ? "Refunded." : "Not refunded.",
  });`;

// keeps: a2a-13.4-deletion
test("an erased subject's progress is shown by no node, though a process that serves nothing has erased it", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "nylorun-cluster-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const agents = join(folder, "refunds.ts");
  await writeFile(agents, AGENT);
  const postgres = stack.use(await startPostgres());
  const nodes = stack.use(await Nodes.start({ postgres, folder, agents, count: 2 }));
  const [ada, bob, operator] = [await nodes.key("ada"), await nodes.key("bob"), await nodes.key(undefined)];
  const task = await new Client(nodes.proxy.url, ada, "refunds").send({ messageId: "1", text: "Refund" });
  for (const [at, key] of [
    [0, ada],
    [1, ada],
    [1, bob],
  ] as const) {
    const response = await fetch(`${nodes.urls[at]}/v1/progress`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ task_id: `ci:${at}`, percent: 42, stage: "Build", status: "running" }),
    });
    assert.equal(response.status, 200);
  }
  const shown = async (at: number): Promise<string> => {
    const headers = { authorization: `Bearer ${operator}` };
    const { tasks }: any = await (await fetch(`${nodes.urls[at]}/v1/progress`, { headers })).json();
    return tasks
      .map((one: any) => `${one.subject} ${one.task_id}`)
      .toSorted()
      .join(", ");
  };
  const until = async (at: number, expected: string): Promise<void> => {
    const deadline = performance.now() + 20_000;
    while ((await shown(at)) !== expected && performance.now() < deadline) await delay(20);
    assert.equal(await shown(at), expected, `node ${at}`);
  };
  await until(0, `ada ci:0, ada refunds:${task.id}`);
  await until(1, `ada ci:1, ada refunds:${task.id}, bob ci:1`);

  const env = { NYLORUN_DATABASE_URL: postgres.url };
  const elsewhere = join(folder, "elsewhere");
  assert.equal((await nylorunWith(env, elsewhere, "keys", "add", "--subject", "eve")).code, 0, "that makes a home");
  const { code, stderr } = await nylorunWith(env, elsewhere, "delete", "subject", "ada", "--yes");
  assert.equal(code, 0, stderr);
  await until(0, "");
  await until(1, "bob ci:1");
});
