/**
 * Three nodes on one PostgreSQL, behind a plain round-robin proxy: kill -9 of one of them while messages are on their way, of the
 * database, and an outage of it. Each message that was answered has one task, each task ends, in the order of its context, on one node at a
 * time (I1, I2, I3, E18). Looked at from three sides: the API, the database, and a diary that the agent keeps.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client, isTerminal } from "../crash/client.ts";
import type { Message, Task } from "../crash/client.ts";
import { Diary } from "../crash/diary.ts";
import { Random } from "../crash/random.ts";
import { startPostgres } from "../postgres/server.ts";
import type { Postgres } from "../postgres/server.ts";
import { Nodes } from "./nodes.ts";

const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const worker = fileURLToPath(new URL("../crash/agents/worker.ts", import.meta.url));
/** A lease, in milliseconds: what a killed node leaves is taken up after so long. */
const leaseMs = 2000;
const messages = 90;

describe(`three nodes (CRASH_SEED=${seed})`, { timeout: 180_000 }, () => {
  const random = new Random(seed);
  const tasks = new Map<string, string>();
  let folder: string;
  let diary: string;
  let postgres: Postgres;
  let nodes: Nodes;
  let api: Client;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "nylorun-cluster-"));
    diary = join(folder, "diary.jsonl");
    // What is killed must find again what it said was stored.
    postgres = await startPostgres({ durable: true });
    const env = { WORKER_DIARY: diary, NYLORUN_LEASE_MS: String(leaseMs), NYLORUN_DATABASE_CONNECTIONS: "5" };
    nodes = await Nodes.start({ postgres, folder, agents: worker, count: 3, env });
    api = new Client(nodes.proxy.url, await nodes.key("crash-test"), "worker");
  });

  after(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const crashes = {
    "a node": async () => {
      const n = random.whole(nodes.count);
      await nodes.node(n).kill();
      return () => nodes.start(n);
    },
    "two nodes": async () => {
      const n = random.whole(nodes.count);
      const others = [n, (n + 1) % nodes.count];
      await Promise.all(others.map((one) => nodes.node(one).kill()));
      return async () => {
        for (const one of others) await nodes.start(one);
      };
    },
    "the database": async () => {
      await postgres.stop("crash");
      return () => postgres.start();
    },
    "all connections": async () => {
      await postgres.dropConnections();
      return async () => {};
    },
  };

  for (const [round, [what, crash]] of Object.entries(crashes).entries()) {
    it(`lose nothing when ${what} ${what === "two nodes" || what === "all connections" ? "are" : "is"} lost`, async () => {
      const sent = Array.from({ length: messages }, (_, n) => someMessage(random, round, n));
      const sending = Promise.all(
        sent.map(async (message) => {
          await setTimeout(random.whole(400));
          await api.send(message).then(
            (task) => remember(message, task),
            () => {}, // Sent again later.
          );
        }),
      );
      await setTimeout(100 + random.whole(200));
      const mend = await crash();
      await setTimeout(random.whole(300));
      await mend();
      await sending;
      const retried = sent.filter(({ messageId }) => !tasks.has(messageId) || random.chance(0.25));
      for (const message of retried) remember(message, await sendAtLast(message));
      await allEnd(sent);
      await hold(sent);
    });
  }

  it("say that the database is away, and go on when it is back", async () => {
    const [url] = nodes.urls;
    const first = { messageId: "before", text: "wait 1500", returnImmediately: true };
    const task = await api.send(first);
    remember(first, task);
    await postgres.stop();
    const deadline = Date.now() + 20_000;
    while ((await fetch(`${url}/ready`)).status !== 503) assert.ok(Date.now() < deadline);
    const refused = await fetch(`${url}/v1/a2a/agents/worker`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${api.key}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: task.id } }),
    });
    assert.equal(refused.status, 503);
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal((await fetch(`${url}/health`)).status, 200, "the process itself is well");
    // The turn's own work ends meanwhile, with nowhere to write that.
    await setTimeout(2000);
    await postgres.start();
    await allEnd([first]);
    assert.equal(Diary.read(diary).timesDone(task.id) >= 1, true);
    while ((await fetch(`${url}/ready`)).status !== 200) assert.ok(Date.now() < deadline + 20_000);
  });

  function remember(message: Message, task: Task): void {
    assert.equal(task.id, tasks.get(message.messageId) ?? task.id, `${message.messageId} has two tasks`);
    tasks.set(message.messageId, task.id);
  }

  /** As a caller would: for as long as it takes, the same message. */
  async function sendAtLast(message: Message): Promise<Task> {
    for (const deadline = Date.now() + 20_000; ; await setTimeout(100)) {
      try {
        return await api.send(message);
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  async function allEnd(sent: readonly Message[]): Promise<void> {
    const deadline = Date.now() + 40_000;
    let left = sent.map(({ messageId }) => tasks.get(messageId)!);
    while (left.length > 0) {
      const seen = await Promise.all(left.map((id) => api.get(id).catch(() => undefined)));
      left = left.filter((_, n) => seen[n] === undefined || !isTerminal(seen[n]));
      assert.ok(Date.now() < deadline, `after 40 s ${left.length} tasks have not ended`);
      if (left.length > 0) await setTimeout(50);
    }
  }

  async function hold(sent: readonly Message[]): Promise<void> {
    const rows = await nodes.records.turns();
    assert.equal(rows.length, tasks.size, "as many turns as messages");
    const ours = Map.groupBy(rows, (row) => row.messageId);
    for (const { messageId } of sent)
      assert.deepEqual(
        ours.get(messageId)?.map(({ state }) => state),
        ["completed"],
        messageId,
      );
    assert.deepEqual(await nodes.records.oddMessages(), []);
    await nodes.records.assertAtRest();
    const written = Diary.read(diary);
    written.assertOneAtATime();
    for (const { messageId } of sent) assert.ok(written.timesDone(tasks.get(messageId)!) >= 1);
    for (const contextId of new Set(sent.flatMap((message) => message.contextId ?? []))) {
      const accepted = rows.filter((row) => row.contextId === contextId).map((row) => tasks.get(row.messageId));
      assert.deepEqual(written.order(contextId), accepted, `turns of ${contextId} ran in another order`);
    }
  }
});

/** A little work: in a context of its own, or in one of six that others share and queue in. */
function someMessage(random: Random, round: number, n: number): Message {
  const contextId = random.chance(0.5) ? `r${round}-shared-${random.whole(6)}` : undefined;
  return {
    messageId: `r${round}-m${n}`,
    text: `wait ${random.whole(40)}`,
    ...(contextId !== undefined && { contextId }),
    returnImmediately: random.chance(0.3),
  };
}
