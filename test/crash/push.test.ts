/**
 * kill -9 while 1,000 tasks tell webhooks of themselves, again and again (I8, A25): no change is missing at the receiver, and each
 * task's are in order (A27). Where nodes share a database, they are 200, and one node is killed at a time.
 *
 * `CRASH_SEED` repeats a run's chances.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { EXTENSIONS } from "@nylorun/protocol";
import type { StreamResponse } from "@nylorun/protocol";

import { databaseUrl, startNodes } from "../cluster/nodes.ts";
import { Receiver } from "../e2e/receiver.ts";
import { Client } from "./client.ts";
import type { Task } from "./client.ts";
import { Random } from "./random.ts";

const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const agent = fileURLToPath(new URL("agents/teller.ts", import.meta.url));
/** What is told of each task. One that waited in line first is told of as working, too. */
const changesOf = (text: string) => [
  ...(text === "files" ? ["file 1", "file 2"] : []),
  "output told",
  "TASK_STATE_COMPLETED",
];
const textOf = (n: number) => (n % 20 === 7 ? "files" : "plain");

const plan = databaseUrl === undefined ? { count: 1000, deaths: 6 } : { count: 200, deaths: 3 };
/** How long all may take to arrive once nobody dies any more, in milliseconds. */
const patience = 90_000;

const title = `no change is missing, and each task's are in order, whoever dies (CRASH_SEED=${seed})`;
test(title, { timeout: 240_000 }, async (t) => {
  const random = new Random(seed);
  const { count, deaths } = plan;
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "nylorun-push-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const receiver = resources.use(await Receiver.start());
  const env = {
    NYLORUN_PUSH_SECRET: `whsec_${randomBytes(24).toString("base64")}`,
    NYLORUN_PUSH_HOSTS: `http://127.0.0.1:${receiver.port}`,
    NYLORUN_LOG_LEVEL: "warn",
    NYLORUN_MAX_RUNNING_TURNS: "32",
  };
  const nodes = resources.use(await startNodes({ folder, agents: agent, env }));
  const key = await nodes.key("crash-test");

  const over = new AbortController();
  resources.defer(() => over.abort());
  const tasks = new Map<string, Task>();
  const send = async (n: number) => {
    const name = `task-${n}`;
    // One in twenty is refused at first, and told a little later.
    const url = receiver.url(name, ...(n % 20 === 0 ? ["503", "ok"] : []));
    const contextId = n % 3 === 0 ? `shared-${n % 24}` : `own-${n}`;
    const message = {
      messageId: name,
      text: textOf(n),
      contextId,
      returnImmediately: n % 2 === 0,
      push: { id: "hook", url },
    };
    for (let tries = 0; !over.signal.aborted; tries++) {
      try {
        const client = new Client(nodes.url, key, "teller", EXTENSIONS.files);
        tasks.set(name, await client.send(message));
        return;
      } catch (error) {
        // It was killed, or is not there yet: the same message, until somebody has taken it.
        if (tries > 600) throw error;
        await setTimeout(50);
      }
    }
  };
  let next = 0;
  const sending = Promise.all(
    Array.from({ length: 40 }, async () => {
      while (next < count) await send(next++);
    }),
  );
  sending.catch(() => undefined);
  for (let n = 0; n < deaths; n++) {
    const enough = Math.floor(((n + random.next()) * count) / deaths);
    while (tasks.size < enough) await Promise.race([setTimeout(5), sending]);
    await nodes.node(random.whole(nodes.count)).kill();
    await nodes.revive();
  }
  await sending;
  assert.equal(tasks.size, count);
  const expected = (name: string) => changesOf(textOf(Number(name.slice("task-".length))));

  const isMissing = (name: string) =>
    toldOf(receiver, name).filter((change) => change !== "TASK_STATE_WORKING").length < expected(name).length;
  const deadline = performance.now() + patience;
  for (;;) {
    const missing = [...tasks.keys()].filter(isMissing);
    if (missing.length === 0) break;
    // After three deaths it is held (E17): here it is known who kills it.
    for (const { messageId, state } of await nodes.records.turns()) {
      if (state === "held") await nodes.run("turns", "release", tasks.get(messageId)!.id);
    }
    assert.ok(
      performance.now() < deadline,
      `${missing.length} lack changes, ${missing[0]} has ${toldOf(receiver, missing[0]!).join(", ")}`,
    );
    await setTimeout(200);
  }
  for (const [name, task] of tasks) {
    const told = toldOf(receiver, name);
    assert.deepEqual(
      told.filter((change) => change !== "TASK_STATE_WORKING"),
      expected(name),
      name,
    );
    const working = told.indexOf("TASK_STATE_WORKING");
    if (task.status.state === "TASK_STATE_SUBMITTED") assert.equal(working, 0, `${name} waited in line`);
  }
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  t.diagnostic(`${count} tasks, ${deaths} deaths: ${ids.length} requests for ${new Set(ids).size} deliveries`);
});

/** What a task's webhook was told, each delivery once, in the order in which it first came. */
function toldOf(receiver: Receiver, name: string): string[] {
  const first = new Map(
    receiver
      .of(name)
      .toReversed()
      .map((one) => [one.headers["webhook-id"], one.body]),
  );
  return [...first.values()].toReversed().map((body) => {
    const { artifactUpdate, statusUpdate } = JSON.parse(body) as StreamResponse;
    if (artifactUpdate === undefined) return statusUpdate!.status.state;
    const { parts, metadata } = artifactUpdate.artifact;
    const { version } = metadata![EXTENSIONS.files] as { version: number };
    return parts[0]?.text === undefined ? `file ${version}` : `output ${parts[0].text}`;
  });
}
