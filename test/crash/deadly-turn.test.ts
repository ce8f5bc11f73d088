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

import { Client, isTerminal } from "./client.ts";
import type { Message, Task } from "./client.ts";
import { readTurns } from "./database.ts";
import { nylorun, Serving } from "./nylorun.ts";

const worker = fileURLToPath(new URL("agents/worker.ts", import.meta.url));

describe("a turn that kills its process", { timeout: 120_000 }, () => {
  let folder: string;
  let home: string;
  let key: string;
  let serving: Serving;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "nylorun-crash-"));
    home = join(folder, "home");
    key = (await nylorun(home, "keys", "add", "--subject", "crash-test")).stdout.trim();
    serving = serve();
    await serving.url;
  });

  after(async () => {
    await serving?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  function serve(): Serving {
    return new Serving(home, worker, { WORKER_DIARY: join(folder, "diary.jsonl") });
  }

  async function client(): Promise<Client> {
    return new Client(await serving.url, key, "worker");
  }

  /** Sends a message that kills its process, and starts the process again as often as that takes. Returns the deaths. */
  async function killUntilHeld(deadly: Message, others: readonly Message[]): Promise<number> {
    const api = await client();
    // The others are taken first, and are at work when the process dies.
    await Promise.all(others.map((message) => api.send({ ...message, returnImmediately: true })));
    await api.send({ ...deadly, returnImmediately: true }).catch(() => {});
    for (let deaths = 0; deaths < 10; deaths += 1) {
      const dead = serving.ended.then(() => true);
      const held = untilHeld(deadly).then(() => false);
      if (!(await Promise.race([dead, held]))) return deaths;
      serving = serve();
    }
    throw new Error("the turn was not held after ten deaths");
  }

  /** Looks into the database file, which outlives the process. */
  async function untilHeld({ messageId }: Message): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!readTurns(home).some((row) => row.messageId === messageId && row.state === "held")) {
      if (performance.now() > deadline) return;
      await setTimeout(20);
    }
    // Held at the start of the process that is to live: let it show that it does.
    await setTimeout(300);
  }

  async function ended(api: Client, message: Message): Promise<Task> {
    for (let tries = 0; tries < 500; tries += 1) {
      const task = await api.send({ ...message, returnImmediately: true });
      if (isTerminal(task)) return task;
      await setTimeout(20);
    }
    throw new Error(`${message.messageId} did not end within 10 s`);
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
      const api = await client();

      // The others finish, whatever they saw of the deaths.
      for (const other of others) assert.equal((await ended(api, other)).status.state, "TASK_STATE_COMPLETED");

      // To its caller the held turn is at work; what came after it waits.
      const task = await api.send({ ...deadly, returnImmediately: true });
      assert.equal(task.status.state, "TASK_STATE_WORKING");
      const queued = await api.send({ ...behind, returnImmediately: true });
      assert.equal(queued.status.state, "TASK_STATE_SUBMITTED");

      const held = await nylorun(home, "turns", "held");
      assert.equal(held.code, 0, held.stderr);
      assert.ok(held.stdout.includes(task.id), `"turns held" lists ${task.id}; it printed:\n${held.stdout}`);

      if (heal) await writeFile(healed, "");
      const decided = await nylorun(home, "turns", verdict, task.id);
      assert.equal(decided.code, 0, decided.stderr);
      assert.equal((await ended(api, deadly)).status.state, state);
      assert.equal((await ended(api, behind)).status.state, "TASK_STATE_COMPLETED");
      assert.ok(!(await nylorun(home, "turns", "held")).stdout.includes(task.id));
    });
  }
});
