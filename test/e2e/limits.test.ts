/**
 * What one subject may ask for, at the door of a process that serves: who asks for more is told so, and nobody else notices. What is
 * counted in a process is so much in each, where nodes share a database; what is counted there is so much in all.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { atOnce, messageOf } from "./callers.ts";
import type { Caller } from "./callers.ts";
import { Process } from "./process.ts";

interface Refusal {
  readonly status: number;
  readonly retryAfter: number;
  readonly code: unknown;
}

async function post(runtime: Process, { key }: Caller, params: object): Promise<Refusal> {
  const response = await fetch(`${runtime.url}/v1/a2a/agents/moods/`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${key}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params }),
    signal: AbortSignal.timeout(20_000),
  });
  const { error } = (await response.json()) as { error?: { code: unknown } };
  return { status: response.status, retryAfter: Number(response.headers.get("retry-after")), code: error?.code };
}

const reasonOf = async (caller: Caller, text: string) => {
  const { error } = await caller.call("moods", "SendMessage", { message: messageOf(text), ...atOnce });
  return (error?.data?.[0] as { reason?: string } | undefined)?.reason;
};

describe("a subject that asks for too much", () => {
  it("too often is answered 429 with when to come again, and then served; another is served all the time", async () => {
    await using runtime = await Process.start({ settings: { subjectRequestsPerSecond: 10 } });
    const [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    const all = await Promise.all(
      Array.from({ length: 40 * runtime.nodes }, () => post(runtime, ada, { message: messageOf("Hello"), ...atOnce })),
    );
    const refused = all.filter(({ status }) => status === 429);
    const taken = all.filter(({ status }) => status === 200);
    assert.equal(refused.length + taken.length, 40 * runtime.nodes);
    assert.ok(taken.length >= 10 && refused.length >= 10, `${taken.length} were taken, ${refused.length} refused`);
    for (const { code, retryAfter } of refused) {
      assert.equal(code, "limit.requests");
      assert.ok(retryAfter >= 1);
    }
    assert.equal((await bob.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED");
    await delay(refused.at(-1)!.retryAfter * 1000);
    assert.equal((await ada.list("moods")).totalSize, taken.length, "what was refused left nothing");
  });

  it("with too many calls that wait is answered 429, and may go on without waiting", async () => {
    await using runtime = await Process.start({ settings: { subjectOpenWaits: 3 } });
    const [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    const most = 3 * runtime.nodes;
    const waiting = Array.from({ length: most }, () => ada.send("moods", "stay"));
    await runtime.measured((figures) => figures.get("nylorun_waits") === most);
    const { status, code, retryAfter } = await post(runtime, ada, { message: messageOf("stay") });
    assert.deepEqual([status, code], [429, "limit.waits"]);
    assert.ok(retryAfter >= 1);
    assert.equal((await ada.send("moods", "stay", atOnce)).status.state, "TASK_STATE_WORKING");
    assert.equal((await bob.send("moods", "work 300")).status.state, "TASK_STATE_COMPLETED");
    for (const { id } of (await ada.list("moods")).tasks) await ada.result("moods", "CancelTask", { id });
    for (const { status: ended } of await Promise.all(waiting)) assert.equal(ended.state, "TASK_STATE_CANCELED");
    assert.equal((await ada.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED", "there is room again");
  });

  it("with too many turns has them run one after another, and another's run beside them", async () => {
    await using runtime = await Process.start({ settings: { subjectRunningTurns: 2, subjectQueuedTurns: 4 } });
    const [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    const most = 2 * runtime.nodes;
    for (let sent = 1; sent <= most + 4; sent++) {
      await ada.send("moods", "stay", atOnce);
      // It may be another node that has room.
      await runtime.measured((figures) => figures.get("nylorun_turns_running") === Math.min(sent, most));
    }
    await runtime.measured((figures) => figures.get("nylorun_queue_contexts") === 4);
    assert.equal((await runtime.metrics()).get("nylorun_turns_running"), most);
    assert.equal(await reasonOf(ada, "stay"), "SUBJECT_QUEUE_FULL");
    await bob.send("moods", "stay", atOnce);
    await runtime.measured((figures) => figures.get("nylorun_turns_running") === most + 1);
  });

  it("with too much that is kept is refused (SUBJECT_STORAGE_FULL) until there is less", async () => {
    await using runtime = await Process.start({ settings: { subjectStoredBytes: 1024 * 1024 } });
    const [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    const large = `ask ${"x".repeat(300_000)}`;
    const ids: string[] = [];
    for (let tries = 0; tries < 10; tries++) {
      const { result, error } = await ada.call("moods", "SendMessage", { message: messageOf(large) });
      if (error !== undefined) {
        assert.deepEqual(
          [error.code, (error.data?.[0] as { reason?: string } | undefined)?.reason],
          [-32004, "SUBJECT_STORAGE_FULL"],
        );
        break;
      }
      ids.push((result as { task: { id: string } }).task.id);
    }
    assert.ok(ids.length >= 2 && ids.length <= 4, `${ids.length} of 300 kB were taken for 1 MiB`);
    assert.equal((await bob.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED");
    const { code, stderr } = await runtime.run("delete", "subject", "ada", "--yes");
    assert.equal(code, 0, stderr);
    const again = await runtime.as("ada");
    assert.equal((await again.send("moods", large)).status.state, "TASK_STATE_INPUT_REQUIRED");
  });
});

describe("what is past its time", () => {
  it("is forgotten by itself: tasks that have ended, and message ids; what waits for somebody is kept", async () => {
    const settings = { turnRetentionMs: 1_500, journalRetentionMs: 1_000, messageDedupeMs: 1_000 };
    await using runtime = await Process.start({ settings });
    const ada = await runtime.as("ada");
    const asking = await ada.send("moods", "ask");
    const once = messageOf("Hello");
    const sendOnce = async () =>
      (await ada.result<{ task: { id: string } }>("moods", "SendMessage", { message: once })).task.id;
    const first = await sendOnce();
    assert.equal(await sendOnce(), first, "the same message within its time is the same task");
    for (let sent = 0; sent < 20; sent++) await ada.send("moods", "work 1");
    const figures = await runtime.measured(
      (now) =>
        (now.get('nylorun_forgotten_total{what="turns"}') ?? 0) >= 21 &&
        now.get('nylorun_turns{state="completed"}') === 0,
    );
    assert.ok(figures.get('nylorun_forgotten_total{what="messages"}')! >= 21);
    assert.ok(figures.get('nylorun_forgotten_total{what="journals"}')! >= 20);
    const { tasks, totalSize } = await ada.list("moods");
    assert.deepEqual([tasks.map(({ id }) => id), totalSize], [[asking.id], 1]);
    assert.equal(await ada.refusal("moods", "GetTask", { id: first }), -32001);
    assert.notEqual(await sendOnce(), first, "and is a new one after that");
    const answer = { message: messageOf("42", { taskId: asking.id }) };
    const { task } = await ada.result<{ task: { status: { state: string } } }>("moods", "SendMessage", answer);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  });
});
