/**
 * kill -9 while 200 messages are on their way, again and again (I1, I2, I3): each message that was answered has exactly one task,
 * each task ends, and no retry makes a second one. Looked at from three sides: the API, the database, and a diary that the agent
 * keeps.
 *
 * `CRASH_SEED` repeats a run's chances, `CRASH_ROUNDS` sets the number of rounds (20, or 5 where nodes share a database: there each waits
 * for a lease to end).
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { databaseUrl, startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";
import { Client, isTerminal } from "./client.ts";
import type { Message, Task } from "./client.ts";
import { Diary } from "./diary.ts";
import { Random } from "./random.ts";

const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const rounds = Number(process.env["CRASH_ROUNDS"] ?? (databaseUrl === undefined ? 20 : 5));
const worker = fileURLToPath(new URL("agents/worker.ts", import.meta.url));

describe(`kill -9 during 200 concurrent sends (CRASH_SEED=${seed})`, { timeout: 600_000 }, () => {
  const random = new Random(seed);
  /** Message id -> its task's id, over all rounds. */
  const tasks = new Map<string, string>();
  let folder: string;
  let diary: string;
  let key: string;
  let nodes: Nodes;
  /** What follows a round that failed says nothing new. */
  let failed = false;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "nylorun-crash-"));
    diary = join(folder, "diary.jsonl");
    nodes = await startNodes({ folder, agents: worker, env: { WORKER_DIARY: diary } });
    key = await nodes.key("crash-test");
  });

  after(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const kill = () => nodes.node(random.whole(nodes.count)).kill();

  async function restart(): Promise<Client> {
    await nodes.revive();
    return client();
  }

  function client(): Client {
    return new Client(nodes.url, key, "worker");
  }

  /** Sends all at once. Whatever is answered goes to `answered`. */
  async function sendAll(to: Client, messages: readonly Message[], answered: (message: Message, task: Task) => void) {
    await Promise.all(
      messages.map((message) =>
        to.send(message).then(
          (task) => answered(message, task),
          () => {}, // Killed. Sent again later.
        ),
      ),
    );
  }

  /** I3: whoever asks again is told of the same task. */
  function remember(message: Message, task: Task): void {
    assert.equal(task.id, tasks.get(message.messageId) ?? task.id, `${message.messageId} has two tasks`);
    tasks.set(message.messageId, task.id);
    if (!message.returnImmediately) assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  }

  for (let round = 0; round < rounds; round += 1) {
    test(`round ${round + 1}: every message has one task, and every task ends (A11, A32)`, async (t) => {
      if (failed) return t.skip("an earlier round failed");
      failed = true;
      const messages = Array.from({ length: 200 }, (_, n) => someMessage(random, round, n));
      const known = tasks.size;

      // The first death: after so many answers, or after so much time, whichever the dice say.
      const killAfter = random.chance(0.5)
        ? { answers: random.whole(200), milliseconds: 5000 }
        : { answers: 200, milliseconds: random.whole(150) };
      const enough = new AbortController();
      const sent = sendAll(client(), messages, (message, task) => {
        remember(message, task);
        if (tasks.size - known >= killAfter.answers) enough.abort();
      });
      await Promise.race([
        setTimeout(killAfter.milliseconds, undefined, { signal: enough.signal }).catch(() => {}),
        sent,
      ]);
      await kill();
      const acknowledged = tasks.size - known;
      const turns = await nodes.records.turns();
      const underway = turns.filter(({ state }) => state === "running" || state === "queued").length;
      await sent;

      let api = await restart();
      if (round % 5 === 4) {
        // The second: while what the first one left is taken up.
        const again = sendAll(api, unanswered(messages), remember);
        await setTimeout(random.whole(60));
        await kill();
        await again;
        api = await restart();
      }

      // Retried as a caller would: what was not answered surely, what was answered perhaps.
      const retried = messages.filter(({ messageId }) => !tasks.has(messageId) || random.chance(0.25));
      await Promise.all(retried.map(async (message) => remember(message, await api.send(message))));
      t.diagnostic(
        `killed after ${acknowledged} answers with ${underway} turns underway, ${retried.length} messages sent again`,
      );

      await allEnd(api, messages);
      await assertByApi(api, messages);
      await assertByDatabase(messages);
      await assertByDiary(messages);
      failed = false;
    });
  }

  test("after all of it, nothing is left over and the database is whole", async (t) => {
    if (failed) return t.skip("a round failed");
    await assertListed(client());
    assert.equal((await nodes.records.turns()).length, tasks.size);
    await nodes.records.assertAtRest();
  });

  function unanswered(messages: readonly Message[]): readonly Message[] {
    return messages.filter(({ messageId }) => !tasks.has(messageId));
  }

  async function allEnd(api: Client, messages: readonly Message[]): Promise<void> {
    const deadline = performance.now() + 40_000;
    let left = messages.map(({ messageId }) => tasks.get(messageId)!);
    while (left.length > 0) {
      const seen = await Promise.all(left.map((id) => api.get(id)));
      left = seen.filter((task) => !isTerminal(task)).map(({ id }) => id);
      assert.ok(performance.now() < deadline, `after 40 s ${left.length} tasks have not ended`);
      if (left.length > 0) await setTimeout(20);
    }
  }

  async function assertByApi(api: Client, messages: readonly Message[]): Promise<void> {
    const ids = messages.map(({ messageId }) => tasks.get(messageId)!);
    assert.equal(new Set(ids).size, messages.length, "two messages have one task");
    await Promise.all(
      messages.map(async ({ messageId, text, contextId }) => {
        const task = await api.get(tasks.get(messageId)!);
        assert.equal(task.status.state, "TASK_STATE_COMPLETED");
        assert.equal(task.artifacts?.[0]?.parts[0]?.text, `did: ${text}`);
        assert.equal(task.contextId, contextId ?? task.contextId);
        const asked = task.history?.filter(({ role }) => role === "ROLE_USER").map((message) => message.messageId);
        assert.deepEqual(asked, [messageId]);
      }),
    );
    await assertListed(api);
  }

  /** The list is all tasks, each once, and no other. */
  async function assertListed(api: Client): Promise<void> {
    const listed = (await api.list()).map(({ id }) => id);
    const known = new Set(tasks.values());
    const seen = new Set(listed);
    assert.deepEqual(
      [...known].filter((id) => !seen.has(id)),
      [],
      "tasks that the list lacks",
    );
    assert.deepEqual(
      listed.filter((id) => !known.has(id)),
      [],
      "tasks that nobody was told of",
    );
    assert.equal(listed.length, seen.size, "a task is listed twice");
  }

  async function assertByDatabase(messages: readonly Message[]): Promise<void> {
    const rows = await nodes.records.turns();
    const ours = new Map(Map.groupBy(rows, ({ messageId }) => messageId));
    for (const { messageId } of messages) {
      assert.deepEqual(
        ours.get(messageId)?.map(({ state }) => state),
        ["completed"],
        `turns of ${messageId}`,
      );
    }
    assert.equal(rows.length, tasks.size);
    assert.deepEqual(await nodes.records.oddMessages(), []);
  }

  async function assertByDiary(messages: readonly Message[]): Promise<void> {
    const written = Diary.read(diary);
    written.assertOneAtATime();
    for (const { messageId } of messages) assert.ok(written.timesDone(tasks.get(messageId)!) >= 1);

    const rows = await nodes.records.turns();
    const shared = new Set(messages.flatMap(({ contextId }) => contextId ?? []));
    for (const contextId of shared) {
      const accepted = rows.filter((row) => row.contextId === contextId).map((row) => tasks.get(row.messageId));
      assert.deepEqual(written.order(contextId), accepted, `turns of ${contextId} ran in another order`);
    }
  }
});

/** A little work: in a context of its own, or in one of eight that others share and queue in. */
function someMessage(random: Random, round: number, n: number): Message {
  const where = random.next();
  const contextId =
    where < 0.4 ? `r${round}-shared-${random.whole(8)}` : where < 0.6 ? `r${round}-own-${n}` : undefined;
  return {
    messageId: `r${round}-m${n}`,
    text: `wait ${random.whole(25)}`,
    ...(contextId === undefined ? {} : { contextId }),
    returnImmediately: random.chance(0.3),
  };
}
