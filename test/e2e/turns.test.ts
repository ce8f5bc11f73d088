/** What becomes of turns whose agents are slow, hang, throw, or do not listen, over the wire. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { SendMessageResponse, Task } from "@nylorun/protocol";

import { atOnce, makeAgent, messageOf, serve } from "./callers.ts";
import type { Caller } from "./callers.ts";

const GRACE = 200;

/** When turns of `slow` began and ended, in order. */
const diary: { text: string; event: "begin" | "end" }[] = [];
/** Two turns of `slow` with `beside` in their texts run at the same time. */
const beside = Promise.withResolvers<undefined>();
/** Texts that `stubborn` was run with. */
const stubbornRan = new Set<string>();
/** Lets the turns of `stubborn` return at last. */
const late = Promise.withResolvers<string>();
/** Lets those of `patient` do so. */
const enough = Promise.withResolvers<string>();

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, "it did not come to that in 10 s");
    await delay(5);
  }
}

const agents = [
  makeAgent("echo", (turn) => turn.text),
  makeAgent("slow", async (turn) => {
    diary.push({ text: turn.text, event: "begin" });
    turn.say(`Working on ${turn.text}`);
    if (turn.text.startsWith("beside")) {
      if (diary.filter(({ text }) => text.startsWith("beside")).length > 1) beside.resolve(undefined);
      await Promise.race([beside.promise, delay(5000, undefined, { ref: false })]);
    } else await delay(30);
    diary.push({ text: turn.text, event: "end" });
    return turn.text;
  }),
  makeAgent("stubborn", async (turn) => {
    stubbornRan.add(turn.text);
    return late.promise;
  }),
  makeAgent("patient", () => enough.promise),
  makeAgent("waits", (turn) => turn.ask({ prompt: "What?" })),
  makeAgent("throws", async (turn) => {
    switch (turn.text) {
      case "at once":
        throw new Error("secret: password=hunter2 at /srv/agent.ts:3");
      case "later":
        await delay(10);
        throw new TypeError("secret: undefined is not a function");
      case "a text":
        // oxlint-disable-next-line typescript/only-throw-error, no-throw-literal -- some agents do
        throw "secret";
      case "nothing":
        // oxlint-disable-next-line typescript/only-throw-error, no-throw-literal -- some agents do
        throw undefined;
      default:
        return turn.text;
    }
  }),
];

describe("a turn", async () => {
  const served = await serve({ agents, cancelGraceMs: GRACE });
  after(async () => {
    late.resolve("much too late");
    await served[Symbol.asyncDispose]();
  });
  let ada: Caller;
  before(async () => {
    ada = await served.as("ada");
  });
  const cancel = (agent: string, id: string) => ada.result<Task>(agent, "CancelTask", { id });

  it("is one for one message, however often and however fast that is sent (A8, I3)", async () => {
    const message = messageOf("Once", { messageId: "once" });
    const before20 = diary.length;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ada.result<SendMessageResponse>("slow", "SendMessage", { message })),
    );
    const ids = new Set(answers.map(({ task }) => task!.id));
    assert.equal(ids.size, 1);
    assert.equal(diary.length - before20, 2, "it ran once");
    const again = await ada.result<SendMessageResponse>("slow", "SendMessage", { message });
    assert.deepEqual(again.task, answers[0]?.task);
    const other = messageOf("Twice", { messageId: "once" });
    const { error } = await ada.call("slow", "SendMessage", { message: other });
    assert.deepEqual([error?.code, error?.data[0].reason], [-32602, "MESSAGE_ID_REUSED"]);
  });

  it("is not begun by a message that names another context, or a task that is not there (A9)", async () => {
    const { id } = await ada.send("waits", "Hello", { message: { contextId: "here" } });
    const { totalSize } = await ada.list("waits");
    const send = (more: object) => ada.refusal("waits", "SendMessage", { message: messageOf("Hi", more) });
    assert.equal(await send({ taskId: id, contextId: "there" }), -32602);
    assert.equal(await send({ taskId: "A".repeat(22) }), -32001);
    assert.equal(await send({ taskId: "A".repeat(22), contextId: "here" }), -32001);
    assert.equal(await send({ taskId: "../here" }), -32001);
    const { tasks, totalSize: now } = await ada.list("waits");
    assert.equal(now, totalSize);
    assert.equal(tasks[0]?.status.state, "TASK_STATE_INPUT_REQUIRED", "and the one that waits still does");
    await cancel("waits", id);
  });

  // keeps: profile-contexts-one-turn
  it("is alone in its context, in the order of messages, and runs beside those of others (A10, I2)", async () => {
    const from = diary.length;
    const texts = Array.from({ length: 8 }, (_, index) => `in line ${index}`);
    const sent: Promise<Task>[] = [];
    for (const text of texts) {
      sent.push(ada.send("slow", text, { message: { contextId: "line" } }));
      // One request after another, each answered when its turn is done. In line is what is stored.
      const deadline = performance.now() + 10_000;
      while ((await ada.list("slow", { contextId: "line" })).totalSize < sent.length)
        assert.ok(performance.now() < deadline, "it was not taken");
    }
    const others = await Promise.all(Array.from({ length: 4 }, (_, index) => ada.send("slow", `beside ${index}`)));
    const tasks = await Promise.all(sent);
    assert.deepEqual(
      tasks.map(({ artifacts }) => artifacts?.[0]?.parts[0]?.text),
      texts,
    );
    for (const task of tasks) {
      const words = JSON.stringify(task.history);
      assert.ok(texts.filter((text) => words.includes(text)).length === 1, "the output of two was not mixed");
    }
    const line = diary.slice(from).filter(({ text }) => texts.includes(text));
    assert.deepEqual(
      line,
      texts.flatMap((text) => [
        { text, event: "begin" },
        { text, event: "end" },
      ]),
    );
    assert.equal(others.length, 4);
    const theirs = diary.slice(from).filter(({ text }) => text.startsWith("beside"));
    assert.deepEqual(
      theirs.slice(0, 2).map(({ event }) => event),
      ["begin", "begin"],
      "two contexts at once",
    );
  });

  // keeps: profile-tasks-cancel
  it("that waits is cancelled at once, and a second time as well; one that has ended is not (A12)", async () => {
    const { id } = await ada.send("waits", "Hello");
    for (let times = 0; times < 3; times++) {
      assert.equal((await cancel("waits", id)).status.state, "TASK_STATE_CANCELED");
    }
    const done = await ada.send("echo", "Hello");
    const failed = await ada.send("throws", "at once");
    assert.equal(await ada.refusal("echo", "CancelTask", { id: done.id }), -32002);
    assert.equal(await ada.refusal("throws", "CancelTask", { id: failed.id }), -32002);
  });

  it("whose agent does not listen is cancelled at once too; its context goes on after the grace (A12, E16)", async () => {
    const message = { contextId: "stubborn" };
    const first = await ada.send("stubborn", "deaf", { message, ...atOnce });
    const second = await ada.send("stubborn", "after the deaf", { message, ...atOnce });
    assert.equal(second.status.state, "TASK_STATE_SUBMITTED");
    await until(() => stubbornRan.has("deaf"));
    const began = performance.now();
    assert.equal((await cancel("stubborn", first.id)).status.state, "TASK_STATE_CANCELED");
    assert.ok(performance.now() - began < GRACE, "without waiting for it");
    assert.equal((await ada.get("stubborn", second.id)).status.state, "TASK_STATE_SUBMITTED");
    await until(() => stubbornRan.has("after the deaf"));
    assert.ok(performance.now() - began >= GRACE - 5);
    assert.equal((await ada.get("stubborn", second.id)).status.state, "TASK_STATE_WORKING");
    await cancel("stubborn", second.id);
  });

  it("that was cancelled in the queue never begins", async () => {
    const message = { contextId: "queue" };
    const [first, second, third] = [
      await ada.send("stubborn", "queue 1", { message, ...atOnce }),
      await ada.send("stubborn", "queue 2", { message, ...atOnce }),
      await ada.send("stubborn", "queue 3", { message, ...atOnce }),
    ];
    assert.equal((await cancel("stubborn", second.id)).status.state, "TASK_STATE_CANCELED");
    await cancel("stubborn", first.id);
    await until(() => stubbornRan.has("queue 3"));
    assert.equal(stubbornRan.has("queue 2"), false);
    assert.equal((await ada.get("stubborn", second.id)).status.state, "TASK_STATE_CANCELED");
    await cancel("stubborn", third.id);
  });

  // keeps: profile-tasks-final
  it("that has ended stays as it ended, whatever its agent returns later (A13, I5)", async () => {
    const { id } = await ada.send("stubborn", "late", atOnce);
    await until(() => stubbornRan.has("late"));
    await cancel("stubborn", id);
    const ended = await ada.get("stubborn", id);
    late.resolve("much too late");
    await delay(50);
    assert.deepEqual(await ada.get("stubborn", id), ended);
    assert.equal(ended.artifacts, undefined);
  });

  // keeps: profile-tasks-failed, profile-tasks-next
  it("whose agent throws has failed, with words that tell nothing of the inside, and its context goes on (A14, I10)", async () => {
    for (const how of ["at once", "later", "a text", "nothing"]) {
      const message = { contextId: `failing ${how}`.replaceAll(" ", "-") };
      const task = await ada.send("throws", how, { message });
      assert.equal(task.status.state, "TASK_STATE_FAILED", how);
      const said = task.status.message?.parts[0]?.text ?? "";
      assert.ok(said.length > 0, how);
      assert.ok(!/secret|hunter2|agent\.ts|TypeError|undefined/.test(JSON.stringify(task.status)), how);
      assert.deepEqual((await ada.get("throws", task.id)).status, task.status);
      const next = await ada.send("throws", "well", { message });
      assert.equal(next.status.state, "TASK_STATE_COMPLETED", how);
    }
  });

  it("goes on when its caller is gone, early in the wait or late, and what comes of it is kept (A15)", async () => {
    const gone = [10, 100, 400].map((patience) => ({
      patience,
      message: messageOf("Take your time", { contextId: `gone-${patience}` }),
    }));
    for (const { patience, message } of gone) {
      const caller = new AbortController();
      const asked = ada.call("patient", "SendMessage", { message }, { signal: caller.signal });
      setTimeout(() => caller.abort(), patience);
      await assert.rejects(asked, { name: "AbortError" });
    }
    enough.resolve("done");
    const { tasks } = await ada.list("patient");
    assert.equal(tasks.length, gone.length);
    for (const { message } of gone) {
      const { id } = tasks.find(({ contextId }) => contextId === message.contextId)!;
      const done = await ada.until("patient", id, "TASK_STATE_COMPLETED");
      assert.equal(done.artifacts?.[0]?.parts[0]?.text, "done");
      const again = await ada.result<{ task: Task }>("patient", "SendMessage", { message });
      assert.equal(again.task.id, id, "a retry finds it");
    }
  });
});
