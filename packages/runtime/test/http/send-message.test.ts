import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as macrotask, setTimeout as delay } from "node:timers/promises";

import { refuse, reply } from "@nylorun/agents";
import type { Message, SendMessageResponse, Task } from "@nylorun/protocol";

import type { TurnRecord } from "../../src/turn/record.ts";
import { echo, hello, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

/** Turns of the agent `gate` go on when they are let, by their text. */
const gates = new Map<string, PromiseWithResolvers<undefined>>();
const gate = (name: string) => {
  let found = gates.get(name);
  if (found === undefined) gates.set(name, (found = Promise.withResolvers()));
  return found;
};
const agents = [
  echo,
  makeAgent("gate", async (turn) => {
    await gate(turn.text).promise;
    return `through ${turn.text}`;
  }),
  makeAgent("chat", (turn) => reply(`You said ${turn.text}`)),
  makeAgent("picky", () => refuse("Ask somebody else.")),
];

const through = (name: string) => ({ parts: [{ text: name }] });
const stateOf = async (served: Served, id: string) =>
  (await served.result<Task>("GetTask", { id }, { agent: "gate" })).status.state;

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, "it did not come to that in 20 s");
    await delay(5);
  }
}

describe("SendMessage", async () => {
  const served = await serve({ agents });
  after(() => served[Symbol.asyncDispose]());
  const send = (message: Partial<Message>, options: Parameters<Served["send"]>[1] = {}) =>
    served.send(message, { agent: "gate", ...options });

  it("answers with the task when it is done, output and all", async () => {
    const task = await served.send({ contextId: "talk" });
    assert.equal(task.contextId, "talk");
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(
      task.artifacts?.map(({ name, parts }) => [name, parts]),
      [["output", [{ text: "Hello" }]]],
    );
    assert.equal(task.history?.[0]?.taskId, task.id);
    assert.match((await served.send({})).contextId ?? "", /^[\x21-\x7e]{1,200}$/, "without a context it is a new one");
  });

  it("answers when a task that takes longer is done, too", async () => {
    const asked = send(through("longer"));
    await delay(400);
    gate("longer").resolve(undefined);
    const task = await asked;
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  });

  it("answers at once when asked to, with the task as it is", async () => {
    const task = await send(through("later"), { configuration: { returnImmediately: true } });
    assert.equal(task.status.state, "TASK_STATE_WORKING");
    assert.equal(task.artifacts, undefined);
    const next = await send(
      { ...through("later"), contextId: task.contextId! },
      { configuration: { returnImmediately: true } },
    );
    assert.equal(next.status.state, "TASK_STATE_SUBMITTED", "the message after it is queued");
    assert.equal(await stateOf(served, next.id), "TASK_STATE_SUBMITTED");
    gate("later").resolve(undefined);
    await until(async () => (await stateOf(served, next.id)) === "TASK_STATE_COMPLETED");
    assert.equal(await stateOf(served, task.id), "TASK_STATE_COMPLETED");
  });

  it("answers with a refusal as with any other end", async () => {
    const task = await served.send({}, { agent: "picky" });
    assert.equal(task.status.state, "TASK_STATE_REJECTED");
    assert.deepEqual(task.status.message?.parts, [{ text: "Ask somebody else." }]);
  });

  it("answers with the agent's Message when it gives one, and with the same when asked again (I3)", async () => {
    const message = hello({ messageId: "small talk" });
    const first = await served.result<SendMessageResponse>("SendMessage", { message }, { agent: "chat" });
    assert.equal(first.task, undefined);
    assert.deepEqual(first.message?.parts, [{ text: "You said Hello" }]);
    assert.equal(first.message.role, "ROLE_AGENT");
    assert.deepEqual(await served.result("SendMessage", { message }, { agent: "chat" }), first);
    const task = await served.result<Task>("GetTask", { id: first.message.taskId }, { agent: "chat" });
    assert.equal(task.contextId, first.message.contextId);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(task.history?.at(-1), first.message);
  });

  // keeps: profile-contexts-again, profile-contexts-again-other, profile-contexts-again-scope
  it("sent again is the same task; with other content it is refused; another subject's ids are its own (A8, I3)", async () => {
    const message = hello({ messageId: "again", contextId: "talk" });
    const params = { message };
    const [first, second] = await Promise.all([
      served.result<{ task: Task }>("SendMessage", params),
      served.result<{ task: Task }>("SendMessage", params),
    ]);
    assert.equal(second.task.id, first.task.id);
    assert.deepEqual((await served.result<{ task: Task }>("SendMessage", params)).task, first.task);
    const { body } = await served.call("SendMessage", { message: { ...message, parts: [{ text: "Other" }] } });
    assert.equal(body.error?.code, -32602);
    assert.equal(body.error?.data?.[0].reason, "MESSAGE_ID_REUSED");
    const bobs = await served.result<{ task: Task }>("SendMessage", params, { as: "bob" });
    assert.notEqual(bobs.task.id, first.task.id);
  });

  it("to a task of another context is -32602, to none that there is -32001, and begins nothing (A9)", async () => {
    const { id, contextId } = await served.send({});
    const { totalSize } = await served.list();
    const refused = async (message: Partial<Message>) =>
      (await served.call("SendMessage", { message: hello(message) })).body.error?.code;
    assert.equal(await refused({ taskId: id, contextId: "elsewhere" }), -32602);
    assert.equal(await refused({ taskId: "A".repeat(22) }), -32001);
    assert.equal(await refused({ taskId: "nonsense", contextId: contextId! }), -32001);
    assert.equal(await refused({ taskId: id }), -32004, "it has ended: it takes no more messages");
    assert.equal((await served.list()).totalSize, totalSize);
  });

  // keeps: profile-contexts-hang-up
  it("whose caller hangs up ends the wait, and nothing else (A15)", async () => {
    const caller = new AbortController();
    const began = performance.now();
    const asked = served.post(
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: hello(through("hung up")) } }),
      { agent: "gate", signal: caller.signal },
    );
    await delay(350);
    caller.abort();
    const { task } = (await asked).body.result as { task: Task };
    assert.ok(performance.now() - began < 5_000);
    assert.equal(task.status.state, "TASK_STATE_WORKING");
    gate("hung up").resolve(undefined);
    await until(async () => (await stateOf(served, task.id)) === "TASK_STATE_COMPLETED");
  });
});

describe("a blocking SendMessage", () => {
  // keeps: profile-serves-blocking-wait
  it("waits for a2aWaitMs at most, then answers with the task as it is, queued ones too", async () => {
    for (const a2aWaitMs of [0, 100, 400]) {
      await using served = await serve({ agents, settings: { a2aWaitMs } });
      const began = performance.now();
      const task = await served.send(through("never"), { agent: "gate" });
      const took = performance.now() - began;
      assert.ok(took >= a2aWaitMs - 5 && took < a2aWaitMs + 2_000, `${a2aWaitMs} took ${took}`);
      assert.equal(task.status.state, "TASK_STATE_WORKING");
      const queued = await served.send({ ...through("never"), contextId: task.contextId! }, { agent: "gate" });
      assert.equal(queued.status.state, "TASK_STATE_SUBMITTED");
    }
  });

  it("is answered with the task as it is when the Runtime stops", async () => {
    await using served = await serve({ agents });
    const asked = [1, 2, 3].map(() => served.send(through("never"), { agent: "gate" }));
    await delay(350);
    served.stop();
    for (const task of await Promise.all(asked)) assert.equal(task.status.state, "TASK_STATE_WORKING");
    const late = await served.send(through("never"), { agent: "gate" });
    assert.equal(late.status.state, "TASK_STATE_WORKING", "one that comes after that, as well");
  });
});

/** The wait is in the test's hands, and so is time: a quarter of a minute takes none. */
describe("an answer that takes long", () => {
  async function start(t: TestContext) {
    const settled = Promise.withResolvers<TurnRecord>();
    const waiting = Promise.withResolvers<{ turn: TurnRecord; signal: AbortSignal }>();
    const served = await serve({
      agents,
      instead: ({ engine }) => ({
        engine: {
          ...engine,
          settled(turn, { signal }) {
            // The brief wait comes first, and is over.
            if (signal === undefined) return Promise.resolve(turn);
            waiting.resolve({ turn, signal });
            return settled.promise;
          },
        },
      }),
    });
    t.after(async () => {
      // What stops waits for real.
      t.mock.timers.reset();
      await served[Symbol.asyncDispose]();
    });
    t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    const params = { message: hello(through("never")) };
    const answer = served.fetch(JSON.stringify({ jsonrpc: "2.0", id: "late", method: "SendMessage", params }), {
      agent: "gate",
    });
    const { turn, signal } = await waiting.promise;
    await macrotask();
    t.mock.timers.tick(15_000);
    const response = await answer;
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const read = async () => (await reader.read()).value;
    return { served, response, reader, read, turn, signal, settled };
  }

  // keeps: profile-contexts-keep-alive
  it("begins with a space every 15 s, and is the same JSON in the end", async (t) => {
    const { response, read, turn, settled } = await start(t);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(await read(), " ");
    for (let times = 0; times < 3; times++) {
      t.mock.timers.tick(15_000);
      assert.equal(await read(), " ");
    }
    settled.resolve({ ...turn, state: "completed" });
    const { id, result } = JSON.parse((await read())!) as { id: string; result: { task: Task } };
    assert.equal(id, "late");
    assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
    assert.equal(await read(), undefined);
  });

  it("is an error in the same way, when it becomes one", async (t) => {
    const { served, read, settled } = await start(t);
    assert.equal(await read(), " ");
    settled.reject(new Error("secret"));
    const text = (await read())!;
    assert.equal((JSON.parse(text) as { error: { code: number } }).error.code, -32603);
    assert.ok(!text.includes("secret"));
    assert.equal(served.log.length, 1);
  });

  it("ends its wait when the caller hangs up", async (t) => {
    const { served, reader, read, turn, signal, settled } = await start(t);
    assert.equal(await read(), " ");
    assert.equal(signal.aborted, false);
    await reader.cancel();
    assert.equal(signal.aborted, true);
    settled.resolve(turn);
    await macrotask();
    t.mock.timers.tick(60_000);
    assert.deepEqual(served.log, []);
  });
});
