/** A2A 1.0, section 3, over HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Message, Task } from "@nylorun/protocol";

import { actor, makeAgent, pictures } from "./agents.ts";
import { AT_ONCE, messageOf, serve } from "./wire.ts";
import type { Served, Wire } from "./wire.ts";

const NOWHERE = "A".repeat(22);
/** Long enough for anything that ends by itself, short enough to wait for. */
const WAIT = 3_000;

describe("the operations of A2A", () => {
  let served: Served;
  let ada: Wire;
  let bob: Wire;

  before(async () => {
    served = await serve({ agents: [actor, pictures], a2aWaitMs: WAIT });
    ada = await served.as("ada");
    bob = await served.as("bob");
  });
  after(() => served[Symbol.asyncDispose]());

  const send = (text: string, message?: object): object => ({ message: messageOf(text, message) });
  const started = async (text: string): Promise<Task> => {
    const { id } = await ada.send("actor", text, { configuration: AT_ONCE });
    return ada.until("actor", id, text === "run" ? "TASK_STATE_WORKING" : "TASK_STATE_INPUT_REQUIRED");
  };
  const ended = async (): Promise<{ [state: string]: Task }> => {
    const cancelled = await started("run");
    return {
      TASK_STATE_COMPLETED: await ada.send("actor", "Hello"),
      TASK_STATE_FAILED: await ada.send("actor", "throw"),
      TASK_STATE_REJECTED: await ada.send("actor", "refuse"),
      TASK_STATE_CANCELED: await ada.result("actor", "CancelTask", { id: cancelled.id }),
    };
  };

  describe("SendMessage", () => {
    // keeps: a2a-3.1.1-answer, profile-serves-operations
    it("answers with a task, or with a message", async () => {
      const task = await ada.result<object>("actor", "SendMessage", send("Hello"));
      assert.deepEqual(Object.keys(task), ["task"]);
      const message = await ada.result<{ message: Message }>("actor", "SendMessage", send("message"));
      assert.deepEqual(Object.keys(message), ["message"]);
      assert.deepEqual(message.message.parts, [{ text: "Hello from the agent" }]);
      assert.equal(message.message.role, "ROLE_AGENT");
    });

    // keeps: a2a-3.1.1-ended
    it("to a task that has ended is -32004, in whatever state it ended", async () => {
      for (const [state, { id: taskId, status }] of Object.entries(await ended())) {
        assert.equal(status.state, state);
        assert.equal(await ada.code("actor", "SendMessage", send("More", { taskId })), -32004, state);
        assert.equal((await ada.task("actor", taskId)).status.timestamp, status.timestamp, `${state} is as it was`);
      }
    });

    // keeps: a2a-3.1.1-media-type, a2a-13.4-media-types
    it("with a part of a media type that the agent does not take is -32005", async () => {
      for (const part of [{ url: "https://example.com/x.zip", mediaType: "application/zip" }, { data: {} }]) {
        const { body } = await ada.call("pictures", "SendMessage", { message: messageOf("", { parts: [part] }) });
        assert.equal(body.error?.code, -32005);
      }
      assert.equal((await ada.list("pictures")).totalSize, 0);
      assert.equal((await ada.send("pictures", "text")).status.state, "TASK_STATE_COMPLETED");
    });

    // keeps: a2a-3.1.1-not-found, a2a-3.4.2-unknown
    it("to a task that is not there, or somebody else's, is -32001, and begins nothing", async () => {
      const { id } = await started("ask");
      const { totalSize } = await ada.list("actor", { pageSize: 1 });
      assert.equal(await ada.code("actor", "SendMessage", send("Hello", { taskId: NOWHERE })), -32001);
      assert.equal(await ada.code("actor", "SendMessage", send("Hello", { taskId: "my-own-id" })), -32001);
      assert.equal(await bob.code("actor", "SendMessage", send("Hello", { taskId: id })), -32001);
      assert.equal((await ada.list("actor", { pageSize: 1 })).totalSize, totalSize);
      assert.equal((await bob.list("actor")).totalSize, 0);
    });

    // keeps: a2a-3.3.1-send
    it("is idempotent by its messageId", async () => {
      const params = send("Once");
      const first = await ada.result<{ task: Task }>("actor", "SendMessage", params);
      const second = await ada.result<{ task: Task }>("actor", "SendMessage", params);
      assert.deepEqual(second, first);
    });
  });

  describe("a blocking SendMessage", () => {
    // keeps: a2a-3.2.2-blocking-within
    it("answers with the latest state and all artifacts when the task ends, or asks", async () => {
      const { artifacts, status } = await ada.send("actor", "data");
      assert.equal(status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(artifacts?.[0]?.parts[0]?.data, { key: "value", count: 42, nothing: null });
      for (const [text, state] of [
        ["ask", "TASK_STATE_INPUT_REQUIRED"],
        ["approve", "TASK_STATE_AUTH_REQUIRED"],
        ["connect", "TASK_STATE_AUTH_REQUIRED"],
        ["throw", "TASK_STATE_FAILED"],
        ["refuse", "TASK_STATE_REJECTED"],
      ] as const) {
        assert.equal((await ada.send("actor", text)).status.state, state, text);
      }
    });

    // deviates: a2a-3.2.2-blocking
    // keeps: profile-serves-blocking-wait
    it("answers after a2aWaitMs with a task that still works, though A2A would wait on", async () => {
      const began = performance.now();
      const { id, status } = await ada.send("actor", "run");
      const took = performance.now() - began;
      assert.equal(status.state, "TASK_STATE_WORKING");
      assert.ok(took >= WAIT - 100, `it waited ${took} ms`);
      assert.equal((await ada.task("actor", id)).status.state, "TASK_STATE_WORKING");
      await ada.result("actor", "CancelTask", { id });
    });

    // keeps: a2a-3.2.2-immediate
    it("that is not to wait answers at once, with the task in progress", async () => {
      const began = performance.now();
      const { id, status } = await ada.send("actor", "run", { configuration: AT_ONCE });
      assert.ok(performance.now() - began < WAIT, "it did not wait");
      assert.match(status.state, /^TASK_STATE_(SUBMITTED|WORKING)$/);
      await ada.result("actor", "CancelTask", { id });
    });

    // deviates: a2a-3.2.2-immediate-message
    it("that is not to wait answers with the task though the agent answers with a message, which is had by sending again", async () => {
      const gate = Promise.withResolvers<null>();
      const slow = makeAgent("slow", async (turn) => {
        await gate.promise;
        return actor.run({ ...turn, text: "message" });
      });
      await using other = await serve({ agents: [slow] });
      const caller = await other.as("ada");
      const message = messageOf("Hello");
      const first = await caller.result<object>("slow", "SendMessage", { message, configuration: AT_ONCE });
      assert.deepEqual(Object.keys(first), ["task"]);
      gate.resolve(null);
      const again = await caller.result<object>("slow", "SendMessage", { message });
      assert.deepEqual(Object.keys(again), ["message"]);
    });
  });

  describe("GetTask", () => {
    // keeps: a2a-3.1.3-current
    it("answers with the task as it is now", async () => {
      const { id } = await started("ask");
      assert.equal((await ada.task("actor", id)).status.state, "TASK_STATE_INPUT_REQUIRED");
      const answered = await ada.send("actor", "a tree", { message: { taskId: id } });
      assert.deepEqual(await ada.task("actor", id), answered);
      assert.equal(answered.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(answered.artifacts?.[0]?.parts, [{ text: "It is a tree." }]);
    });

    // keeps: a2a-3.1.3-not-found, a2a-3.3.2-no-difference, a2a-3.3.2-hidden, a2a-13.1-before-anything, profile-contexts-one-answer
    it("of an unknown, a malformed and a foreign id is one answer", async () => {
      const { id } = await ada.send("actor", "Hello");
      const answers = await Promise.all(
        [NOWHERE, "x", id].map(async (asked) => {
          const { text } = await bob.call("actor", "GetTask", { id: asked });
          return text.replaceAll(asked, "ID");
        }),
      );
      assert.equal(new Set(answers).size, 1, answers.join("\n"));
      assert.match(answers[0]!, /-32001/);
    });

    // keeps: a2a-3.3.1-get
    it("and ListTasks change nothing", async () => {
      const { id } = await started("ask");
      const [first, list] = [await ada.task("actor", id), await ada.list("actor")];
      for (let again = 0; again < 3; again++) {
        assert.deepEqual(await ada.task("actor", id), first);
        assert.deepEqual(await ada.list("actor"), list);
      }
    });
  });

  describe("CancelTask", () => {
    // keeps: a2a-3.1.5-answer, a2a-3.3.1-cancel
    it("answers with the cancelled task, and with the same again", async () => {
      for (const text of ["run", "ask"]) {
        const { id } = await started(text);
        const first = await ada.result<Task>("actor", "CancelTask", { id });
        assert.deepEqual([first.id, first.status.state], [id, "TASK_STATE_CANCELED"]);
        assert.deepEqual((await ada.result<Task>("actor", "CancelTask", { id })).status, first.status);
      }
    });

    // keeps: a2a-3.1.5-ended
    it("of a task that has ended otherwise is -32002", async () => {
      const { TASK_STATE_CANCELED: _, ...others } = await ended();
      for (const [state, { id }] of Object.entries(others)) {
        assert.equal(await ada.code("actor", "CancelTask", { id }), -32002, state);
      }
    });

    // keeps: a2a-3.1.5-not-found
    it("of an id that is not there, or somebody else's, is -32001", async () => {
      const { id } = await started("run");
      assert.equal(await ada.code("actor", "CancelTask", { id: NOWHERE }), -32001);
      assert.equal(await bob.code("actor", "CancelTask", { id }), -32001);
      assert.equal((await ada.task("actor", id)).status.state, "TASK_STATE_WORKING");
      await ada.result("actor", "CancelTask", { id });
    });
  });

  describe("what is not served", () => {
    // deviates: a2a-3.1.2-stream, a2a-3.1.6-stream, a2a-3.5.2-order, a2a-9.4.2-sse
    // keeps: a2a-3.3.4-streaming, profile-serves-no-streams
    it("streams: -32004 as JSON, and the card says so", async () => {
      const { id } = await ada.send("actor", "Hello");
      for (const [method, params] of [
        ["SendStreamingMessage", send("Hello")],
        ["SubscribeToTask", { id }],
      ] as const) {
        const { status, headers, body } = await ada.call("actor", method, params, {
          headers: { accept: "text/event-stream" },
        });
        assert.deepEqual([status, headers.get("content-type"), body.error?.code], [200, "application/json", -32004]);
      }
      const { body: card } = await ada.get("/v1/a2a/agents/actor/.well-known/agent-card.json");
      assert.equal((card as { capabilities?: { streaming?: boolean } }).capabilities?.streaming, false);
    });

    // deviates: a2a-3.1.11-extended-card
    // keeps: a2a-3.3.4-extended-card, profile-serves-no-extended-card
    it("an extended card: -32004, and the card says so", async () => {
      assert.equal(await ada.code("actor", "GetExtendedAgentCard", {}), -32004);
      const { body: card } = await ada.get("/v1/a2a/agents/actor/.well-known/agent-card.json");
      assert.equal((card as { capabilities?: { extendedAgentCard?: boolean } }).capabilities?.extendedAgentCard, false);
    });

    // keeps: a2a-3.3.4-push
    it("push, without a push secret: -32003 on every operation, and the card says so", async () => {
      const { id } = await ada.send("actor", "Hello");
      for (const [method, params] of [
        ["CreateTaskPushNotificationConfig", { taskId: id, url: "https://example.com/hook" }],
        ["GetTaskPushNotificationConfig", { taskId: id, id: "one" }],
        ["ListTaskPushNotificationConfigs", { taskId: id }],
        ["DeleteTaskPushNotificationConfig", { taskId: id, id: "one" }],
      ] as const) {
        assert.equal(await ada.code("actor", method, params), -32003, method);
      }
      const { body: card } = await ada.get("/v1/a2a/agents/actor/.well-known/agent-card.json");
      assert.equal((card as { capabilities?: { pushNotifications?: boolean } }).capabilities?.pushNotifications, false);
    });

    // keeps: a2a-3.3.4-required-extension
    it("nothing that a client must support: no extension is required, and a client without any is served", async () => {
      const { body } = await ada.get("/v1/a2a/agents/actor/.well-known/agent-card.json");
      const { capabilities } = body as { capabilities: { extensions: { uri: string; required: boolean }[] } };
      assert.ok(capabilities.extensions.length > 0);
      for (const { uri, required } of capabilities.extensions) assert.equal(required, false, uri);
      assert.equal((await ada.send("actor", "Hello")).status.state, "TASK_STATE_COMPLETED");
    });
  });

  describe("historyLength", () => {
    const exchanged = async (): Promise<string> => {
      const { id } = await ada.send("actor", "say");
      await ada.send("actor", "a tree", { message: { taskId: id, messageId: `answer-${id}` } });
      return id;
    };
    const history = async (id: string, params: object = {}): Promise<readonly Message[] | undefined> =>
      (await ada.result<Task>("actor", "GetTask", { id, ...params })).history;

    // keeps: a2a-3.2.4-unset, a2a-3.2.4-kept, a2a-3.2.4-order, a2a-3.2.4-content
    it("unset is all that was said, as it was said, in the order in which it was", async () => {
      const said = (await history(await exchanged()))!.map(({ role, parts }) => `${role} ${parts[0]!.text}`);
      assert.deepEqual(said, [
        "ROLE_USER say",
        "ROLE_AGENT I look at it.",
        "ROLE_AGENT What is it?",
        "ROLE_USER a tree",
      ]);
    });

    // keeps: a2a-3.2.4-zero
    it("0 leaves the field out, in every operation", async () => {
      const id = await exchanged();
      const [zero, snake] = [{ historyLength: 0 }, { history_length: 0 }];
      assert.equal(await history(id, zero), undefined);
      assert.equal(await history(id, snake), undefined);
      const sent = await ada.send("actor", "Hello", { configuration: zero });
      assert.ok(!("history" in sent));
      for (const task of (await ada.list("actor", zero)).tasks) assert.ok(!("history" in task));
    });

    // keeps: a2a-3.2.4-most
    it("n is the latest n", async () => {
      const id = await exchanged();
      const all = (await history(id))!;
      for (const n of [1, 2, 3, 4, 5, 1000]) assert.deepEqual(await history(id, { historyLength: n }), all.slice(-n));
    });
  });

  describe("contexts and tasks", () => {
    // keeps: a2a-3.4.1-generated, a2a-3.4.2-unique
    it("have ids that the server makes, each another one, and says in the answer", async () => {
      const tasks = await Promise.all(Array.from({ length: 20 }, () => ada.send("actor", "Hello")));
      assert.equal(new Set(tasks.map(({ id }) => id)).size, 20);
      assert.equal(new Set(tasks.map(({ contextId }) => contextId)).size, 20);
      for (const { id, contextId } of tasks) assert.ok(id !== "" && contextId);
      const { message } = await ada.result<{ message: Message }>("actor", "SendMessage", send("message"));
      assert.ok(message.contextId && message.taskId);
      assert.equal((await ada.task("actor", message.taskId)).contextId, message.contextId);
    });

    // keeps: a2a-3.4.1-own, a2a-3.4.1-own-refused, profile-contexts-own-id
    it("may be under a contextId of the client's own; one that cannot be is refused, and none is made in its place", async () => {
      for (const contextId of ["mine", "!", "~", "a".repeat(200), "../../etc/passwd"]) {
        assert.equal((await ada.send("actor", "Hello", { message: { contextId } })).contextId, contextId);
      }
      const { totalSize } = await ada.list("actor");
      for (const contextId of ["two words", "a".repeat(201), "kontext-ä", "tab\t", 7, {}, true]) {
        const code = await ada.code("actor", "SendMessage", send("Hello", { contextId }));
        assert.equal(code, -32602, JSON.stringify(contextId));
      }
      assert.equal((await ada.list("actor")).totalSize, totalSize);
    });

    // keeps: a2a-3.4.1-together, a2a-3.4.3-shared
    it("are one conversation: the agent is given what was said", async () => {
      const { contextId } = await ada.send("actor", "one");
      await ada.send("actor", "two", { message: { contextId } });
      const { artifacts } = await ada.send("actor", "remember", { message: { contextId } });
      assert.deepEqual(artifacts?.[0]?.parts, [{ text: "one, two" }]);
    });

    // keeps: a2a-3.4.3-infer, a2a-3.4.3-mismatch
    it("belong together: a taskId alone names its context, and another context's is refused", async () => {
      const { id: taskId, contextId } = await started("ask");
      assert.equal(await ada.code("actor", "SendMessage", send("a tree", { taskId, contextId: "another" })), -32602);
      assert.equal((await ada.task("actor", taskId)).status.state, "TASK_STATE_INPUT_REQUIRED");
      const answered = await ada.send("actor", "a tree", { message: { taskId } });
      assert.deepEqual([answered.id, answered.contextId], [taskId, contextId]);
      assert.equal(answered.history?.at(-1)?.contextId, contextId);
    });

    // keeps: a2a-3.4.3-references, profile-checks-references
    it("may be referred to when they are one's own", async () => {
      const { id } = await ada.send("actor", "Hello");
      const referring = await ada.send("actor", "More", { message: { referenceTaskIds: [id] } });
      assert.deepEqual(referring.history?.[0]?.referenceTaskIds, [id]);
      assert.equal(await bob.code("actor", "SendMessage", send("More", { referenceTaskIds: [id] })), -32001);
      assert.equal(await ada.code("actor", "SendMessage", send("More", { referenceTaskIds: [NOWHERE] })), -32001);
    });

    // keeps: a2a-3.7-artifacts, profile-tasks-output
    it("give their results as artifacts, not as messages", async () => {
      const { artifacts, status, history } = await ada.send("actor", "Hello");
      assert.deepEqual(artifacts, [{ artifactId: "output", name: "output", parts: [{ text: "Hello" }] }]);
      assert.equal(status.message, undefined);
      assert.deepEqual(
        history?.map(({ role }) => role),
        ["ROLE_USER"],
      );
    });
  });
});
