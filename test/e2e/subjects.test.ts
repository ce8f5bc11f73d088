/** A subject sees and touches what is its own; the rest does not exist (I7), on any operation (A31). */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import { atOnce, makeAgent, messageOf, serve } from "./callers.ts";
import type { Caller } from "./callers.ts";

const SECRET = "the treasure is under the oak";
const INTERACTIONS = EXTENSIONS.interactions;

/** Does as it is told, and tells what it knows. */
const agent = makeAgent("butler", async (turn) => {
  switch (turn.text) {
    case "ask":
      return turn.ask({ prompt: `Where is it? ${SECRET}` });
    case "approve":
      return (await turn.approve({ prompt: "Dig?" })) ? "Dug." : "Left alone.";
    case "hang":
      return new Promise<string>((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
    case "remember":
      return { subject: turn.subject, earlier: turn.history.map(({ text }) => text) };
    default:
      return turn.text;
  }
});
const other = makeAgent("gardener", (turn) => turn.text);

describe("two subjects", async () => {
  const served = await serve({ agents: [agent, other] });
  after(() => served[Symbol.asyncDispose]());
  let ada: Caller;
  let bob: Caller;
  /** Of Ada's, one in each of several states. */
  const tasks = new Map<string, Task>();

  before(async () => {
    ada = await served.as("ada");
    bob = await served.as("bob");
    const message = { contextId: "talk" };
    tasks.set("done", await ada.send("butler", SECRET, { message }));
    tasks.set("running", await ada.send("butler", "hang", { message, ...atOnce }));
    tasks.set("queued", await ada.send("butler", SECRET, { message, ...atOnce }));
    tasks.set("asking", await ada.send("butler", "ask"));
    tasks.set("approving", await ada.send("butler", "approve"));
  });

  /** What an answer says, with the id that was asked for taken out. */
  const anonymous = (answer: object, id: string) => JSON.stringify(answer).replaceAll(id, "ID");

  for (const [what, method, params] of [
    ["read", "GetTask", (id: string) => ({ id })],
    ["cancel", "CancelTask", (id: string) => ({ id })],
    ["reply to", "SendMessage", (taskId: string) => ({ message: messageOf("Hello", { taskId }) })],
    ["refer to", "SendMessage", (id: string) => ({ message: messageOf("Hello", { referenceTaskIds: [id] }) })],
  ] as const) {
    it(`cannot ${what} each other's tasks: the answer is that of a task which is not there`, async () => {
      const nowhere = "A".repeat(22);
      const expected = anonymous(await bob.call("butler", method, params(nowhere)), nowhere);
      assert.match(expected, /-32001/);
      for (const [state, { id, status }] of tasks) {
        assert.equal(anonymous(await bob.call("butler", method, params(id)), id), expected, state);
        assert.deepEqual((await ada.get("butler", id)).status, status, `${state} is as it was`);
      }
    });
  }

  it("have lists of their own, whatever they filter by", async () => {
    const mine = await bob.send("butler", "Hello");
    for (const params of [
      {},
      { contextId: "talk" },
      { status: "TASK_STATE_INPUT_REQUIRED" },
      { includeArtifacts: true },
    ]) {
      const { tasks: listed, totalSize } = await bob.list("butler", params);
      assert.deepEqual(
        listed.filter(({ id }) => id !== mine.id),
        [],
      );
      assert.ok(totalSize <= 1);
    }
    assert.equal((await ada.list("butler")).totalSize, tasks.size);
    const { nextPageToken: pageToken } = await ada.list("butler", { pageSize: 1 });
    assert.equal(await bob.refusal("butler", "ListTasks", { pageSize: 1, pageToken }), -32602);
  });

  // keeps: profile-rules-subject
  it("have contexts of their own under one name: neither waits for the other, nor hears of it", async () => {
    const message = { contextId: "talk", metadata: { delivery: "reject" } };
    const task = await bob.send("butler", "remember", { message });
    assert.equal(task.status.state, "TASK_STATE_COMPLETED", "while Ada's context of that name is busy");
    assert.deepEqual(task.artifacts?.[0]?.parts[0]?.data, { subject: "bob", earlier: [] });
    assert.notEqual(task.id, tasks.get("done")!.id);
  });

  it("have message ids of their own (A8)", async () => {
    const message = { messageId: "the same", contextId: "ids" };
    const [adas, bobs] = await Promise.all([
      ada.send("gardener", "Ada's", { message }),
      bob.send("gardener", "Bob's", { message }),
    ]);
    assert.notEqual(adas.id, bobs.id);
    assert.deepEqual(adas.artifacts?.[0]?.parts, [{ text: "Ada's" }]);
    assert.deepEqual(bobs.artifacts?.[0]?.parts, [{ text: "Bob's" }]);
  });

  // keeps: interactions-answer-foreign
  it("cannot answer what the other was asked, not even with the interaction's own id (I6)", async () => {
    const active = { extensions: INTERACTIONS };
    const { id, status } = await ada.get("butler", tasks.get("approving")!.id, active);
    const { interactionId } = status.message!.metadata![INTERACTIONS] as OpenInteraction;
    const answer = (taskId: string) => ({
      message: messageOf("Yes", {
        taskId,
        extensions: [INTERACTIONS],
        metadata: { [INTERACTIONS]: { interactionId, approved: true } },
      }),
    });
    assert.equal(await bob.refusal("butler", "SendMessage", answer(id), active), -32001);
    assert.equal((await ada.get("butler", id)).status.state, "TASK_STATE_AUTH_REQUIRED");
    const bobs = await bob.send("butler", "approve");
    assert.equal(
      await bob.refusal("butler", "SendMessage", answer(bobs.id), active),
      -32602,
      "nor use it for one's own",
    );
    assert.equal((await bob.get("butler", bobs.id)).status.state, "TASK_STATE_AUTH_REQUIRED");
    const { task } = await ada.result<{ task: Task }>("butler", "SendMessage", answer(id), active);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED", "while the one it was meant for can");
  });

  it("see nothing of each other in any answer", async () => {
    const seen = [
      await bob.list("butler", { includeArtifacts: true }),
      await bob.call("butler", "GetTask", { id: tasks.get("done")!.id }),
      await bob.send("butler", "remember", { message: { contextId: "talk" } }),
    ];
    assert.ok(!JSON.stringify(seen).includes("treasure"));
  });
});

describe("two agents", () => {
  it("have nothing to do with each other's tasks, though one subject owns them", async () => {
    await using served = await serve({ agents: [agent, other] });
    const ada = await served.as("ada");
    const { id } = await ada.send("butler", "Hello");
    for (const method of ["GetTask", "CancelTask"]) assert.equal(await ada.refusal("gardener", method, { id }), -32001);
    assert.equal((await ada.list("gardener")).totalSize, 0);
  });
});

describe("an operator", () => {
  // keeps: profile-checks-unauthenticated
  it("has no tasks, and sends none", async () => {
    await using served = await serve({ agents: [agent] });
    const key = await served.runtime.addKey({ role: "operator" });
    for (const method of ["SendMessage", "ListTasks", "GetTask", "CancelTask"]) {
      const response = await fetch(`${served.runtime.url}/v1/a2a/agents/butler/`, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${key}` },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { message: messageOf("Hello"), id: "x" } }),
      });
      assert.equal(response.status, 403);
    }
  });
});
