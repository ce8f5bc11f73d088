/**
 * A turn that kills the process that runs it (E17): two deaths may be chance, so it runs again, alone; a death while it is alone is
 * its own. Then it is held, the others go on, and an operator decides.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";
import { Client, isTerminal } from "./client.ts";
import type { Message, Task } from "./client.ts";

const worker = fileURLToPath(new URL("agents/worker.ts", import.meta.url));

describe("a turn that kills its process", { timeout: 120_000 }, () => {
  let folder: string;
  let key: string;
  let nodes: Nodes;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "nylorun-crash-"));
    nodes = await startNodes({ folder, agents: worker, env: { WORKER_DIARY: join(folder, "diary.jsonl") } });
    key = await nodes.key("crash-test");
  });

  after(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const client = () => new Client(nodes.url, key, "worker");

  /** Sends a message that kills its process, and starts the process again as often as that takes. Returns the deaths. */
  async function killUntilHeld(deadly: Message, others: readonly Message[]): Promise<number> {
    const api = client();
    // The others are taken first, and are at work when the process dies.
    await Promise.all(others.map((message) => api.send({ ...message, returnImmediately: true })));
    await api.send({ ...deadly, returnImmediately: true }).catch(() => {});
    let deaths = 0;
    for (const deadline = performance.now() + 60_000; !(await isHeld(deadly)); await setTimeout(50)) {
      assert.ok(performance.now() < deadline, `it is not held, 60 s and ${deaths} deaths later`);
      deaths += nodes.dead.length;
      // One that takes the turn up again may die before it has said that it serves.
      await nodes.revive().catch(() => {});
    }
    // Held at the start of the process that is to live: let it show that it does.
    await setTimeout(300);
    return deaths + nodes.dead.length;
  }

  /** Looks into the database, which outlives the process. */
  async function isHeld({ messageId }: Message): Promise<boolean> {
    const turns = await nodes.records.turns();
    return turns.some((row) => row.messageId === messageId && row.state === "held");
  }

  async function ended(api: Client, message: Message): Promise<Task> {
    for (const deadline = performance.now() + 20_000; performance.now() < deadline; await setTimeout(20)) {
      const task = await api.send({ ...message, returnImmediately: true });
      if (isTerminal(task)) return task;
    }
    throw new Error(`${message.messageId} did not end within 20 s`);
  }

  const message = (messageId: string, text: string, contextId = messageId): Message => ({ messageId, text, contextId });

  for (const { verdict, state, heal } of [
    { verdict: "release", state: "TASK_STATE_COMPLETED", heal: true },
    { verdict: "fail", state: "TASK_STATE_FAILED", heal: false },
  ] as const) {
    test(`is held after its third death, and "turns ${verdict}" decides`, async () => {
      const healed = join(folder, `healed-${verdict}`);
      const deadly = message(`deadly-${verdict}`, `die until ${healed}`);
      const behind = message(`behind-${verdict}`, "wait 5", deadly.contextId);
      const others = Array.from({ length: 10 }, (_, n) => message(`other-${verdict}-${n}`, "wait 30"));

      assert.equal(await killUntilHeld(deadly, others), 3);
      const api = client();

      // The others finish, whatever they saw of the deaths.
      for (const other of others) assert.equal((await ended(api, other)).status.state, "TASK_STATE_COMPLETED");

      // To its caller the held turn is at work; what came after it waits.
      const task = await api.send({ ...deadly, returnImmediately: true });
      assert.equal(task.status.state, "TASK_STATE_WORKING");
      const queued = await api.send({ ...behind, returnImmediately: true });
      assert.equal(queued.status.state, "TASK_STATE_SUBMITTED");

      const held = await nodes.run("turns", "held");
      assert.equal(held.code, 0, held.stderr);
      assert.ok(held.stdout.includes(task.id), `"turns held" lists ${task.id}; it printed:\n${held.stdout}`);

      if (heal) await writeFile(healed, "");
      const decided = await nodes.run("turns", verdict, task.id);
      assert.equal(decided.code, 0, decided.stderr);
      assert.equal((await ended(api, deadly)).status.state, state);
      assert.equal((await ended(api, behind)).status.state, "TASK_STATE_COMPLETED");
      assert.ok(!(await nodes.run("turns", "held")).stdout.includes(task.id));
    });
  }
});
