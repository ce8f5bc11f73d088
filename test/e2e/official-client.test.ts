/** The endpoint as the official SDK's client sees it: card, transport, types and errors are all the SDK's. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Message, Task, TaskState, taskStateToJSON } from "@a2a-js/sdk";
import type { SendMessageResult } from "@a2a-js/sdk";
import {
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from "@a2a-js/sdk/client";
import type { Client, RequestOptions } from "@a2a-js/sdk/client";
import {
  JsonRpcTaskNotCancelableError,
  JsonRpcTaskNotFoundError,
  JsonRpcUnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { defineAgent, reply } from "@nylorun/agents";
import type { AgentDefinition } from "@nylorun/agents";

import { serve } from "./callers.ts";

const PROGRESS = "https://docs.nylorun.com/a2a/progress/v1";

const define = (id: string, run: AgentDefinition["run"]) =>
  defineAgent({
    id,
    name: `The ${id}`,
    description: "For a test.",
    version: "1.2.3",
    skills: [{ id, name: id, description: "For a test.", tags: ["test"] }],
    run,
  });

/** What the agent `gate` waits for, by its text. */
const opened = new Map<string, () => void>();
const agents = [
  define("echo", (turn) => turn.text),
  define("gate", async (turn) => {
    const plan = turn.plan(["Wait", "Go through"]);
    plan.start("Wait");
    turn.say("Waiting at the gate.");
    await new Promise<void>((resolve) => {
      opened.set(turn.text, resolve);
      turn.signal.addEventListener("abort", () => resolve());
    });
    plan.start("Go through", { note: "At last." });
    return { through: turn.text };
  }),
  define("chat", (turn) => reply(`Hello, ${turn.text}.`)),
];

let served: Awaited<ReturnType<typeof serve>>;
let runtime: (typeof served)["runtime"];
let key: string;

before(async () => {
  served = await serve({ agents, logLevel: "warn" });
  ({ runtime } = served);
  key = await runtime.addKey({ role: "subject", subject: "ada" });
});
after(() => served[Symbol.asyncDispose]());

/** A client as a program makes one: from the agent's address alone. */
async function connect(agent: string): Promise<Client> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${key}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return factory.createFromUrl(`${runtime.url}/v1/a2a/agents/${agent}/`);
}

const message = (text: string, more: object = {}) =>
  Message.fromJSON({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more });

interface Sending extends RequestOptions {
  readonly returnImmediately?: boolean;
}

function send(
  client: Client,
  sent: Message,
  { returnImmediately = false, ...options }: Sending = {},
): Promise<SendMessageResult> {
  return client.sendMessage(
    {
      tenant: "",
      message: sent,
      configuration: { acceptedOutputModes: [], returnImmediately, taskPushNotificationConfig: undefined },
      metadata: undefined,
    },
    options,
  );
}

async function sendForTask(...args: Parameters<typeof send>): Promise<Task> {
  const result = await send(...args);
  assert.ok("status" in result, "it is a task");
  return result;
}

const stateOf = ({ status }: Task) => taskStateToJSON(status!.state);
const getTask = (client: Client, id: string, options?: RequestOptions) => client.getTask({ tenant: "", id }, options);

async function until(client: Client, id: string, state: string): Promise<Task> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const task = await getTask(client, id);
    if (stateOf(task) === state) return task;
    assert.ok(performance.now() < deadline, `the task is ${stateOf(task)}, and not ${state}, after 10 s`);
    await delay(10);
  }
}

async function open(text: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!opened.has(text)) {
    assert.ok(performance.now() < deadline, "the turn does not come to the gate");
    await delay(5);
  }
  opened.get(text)!();
}

describe("the official client", () => {
  it("finds the agent's card from its address, and what it says is understood", async () => {
    const card = await (await connect("echo")).getAgentCard();
    assert.equal(card.name, "The echo");
    assert.equal(card.version, "1.2.3");
    assert.equal(card.supportedInterfaces[0]?.url, `${runtime.url}/v1/a2a/agents/echo/`);
    assert.equal(card.capabilities?.streaming, false);
    assert.equal(card.capabilities.pushNotifications, false);
    const progress = card.capabilities.extensions.find(({ uri }) => uri === PROGRESS);
    assert.equal(progress?.required, false);
    const [scheme] = Object.values(card.securitySchemes);
    assert.equal(scheme?.scheme?.$case, "httpAuthSecurityScheme");
    assert.deepEqual(Object.keys(card.securityRequirements[0]?.schemes ?? {}), Object.keys(card.securitySchemes));
    assert.deepEqual(
      card.skills.map(({ id, tags }) => [id, tags]),
      [["echo", ["test"]]],
    );
  });

  it("sends a message and has the task when it is done", async () => {
    const task = await sendForTask(await connect("echo"), message("Hello"));
    assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
    assert.ok(task.id !== "" && task.contextId !== "");
    assert.deepEqual(task.artifacts[0]?.parts[0]?.content, { $case: "text", value: "Hello" });
    assert.equal(task.history[0]?.taskId, task.id);
  });

  it("sends one and goes on at once, then asks for the task until it is done", async () => {
    const client = await connect("gate");
    const task = await sendForTask(client, message("soon"), { returnImmediately: true });
    assert.equal(stateOf(task), "TASK_STATE_WORKING");
    await open("soon");
    const done = await until(client, task.id, "TASK_STATE_COMPLETED");
    assert.deepEqual(done.artifacts[0]?.parts[0]?.content, { $case: "data", value: { through: "soon" } });
    assert.deepEqual(
      done.history.map(({ parts }) => parts[0]?.content?.value as unknown),
      ["soon", "Waiting at the gate."],
    );
    const short = await client.getTask({ tenant: "", id: task.id, historyLength: 1 });
    assert.equal(short.history.length, 1);
  });

  it("has the agent's Message when the agent answers with one", async () => {
    const result = await send(await connect("chat"), message("Ada"));
    assert.ok("messageId" in result);
    assert.deepEqual(result.parts[0]?.content, { $case: "text", value: "Hello, Ada." });
    assert.ok(result.taskId !== "" && result.contextId !== "");
  });

  it("retries a message without running it twice (I3)", async () => {
    const client = await connect("echo");
    const sent = message("Once");
    const [first, second] = await Promise.all([sendForTask(client, sent), sendForTask(client, sent)]);
    assert.equal(first.id, second.id);
    assert.equal((await sendForTask(client, sent)).id, first.id);
  });

  it("cancels a task, any number of times; an ended one is not cancelable, an unknown one not found (A12)", async () => {
    const client = await connect("gate");
    const task = await sendForTask(client, message("cancel me"), { returnImmediately: true });
    for (let times = 0; times < 2; times++) {
      const canceled = await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
      assert.equal(stateOf(canceled), "TASK_STATE_CANCELED");
    }
    const done = await sendForTask(await connect("echo"), message("Hello"));
    const cancelDone = (await connect("echo")).cancelTask({ tenant: "", id: done.id, metadata: undefined });
    await assert.rejects(cancelDone, JsonRpcTaskNotCancelableError);
    await assert.rejects(getTask(client, "nonsense"), JsonRpcTaskNotFoundError);
    await assert.rejects(
      getTask(client, done.id),
      JsonRpcTaskNotFoundError,
      "a task of another agent is none of this one's",
    );
  });

  // keeps: profile-rules-busy-queued
  it("has a message to a busy context queued, and done in its turn (I2)", async () => {
    const client = await connect("gate");
    const first = await sendForTask(client, message("first"), { returnImmediately: true });
    const { contextId } = first;
    const second = await sendForTask(client, message("second", { contextId }), { returnImmediately: true });
    assert.equal(stateOf(second), "TASK_STATE_SUBMITTED");
    assert.notEqual(second.id, first.id);
    assert.equal(second.contextId, contextId);
    assert.equal(opened.has("second"), false, "it has not begun");
    await open("first");
    await open("second");
    await until(client, second.id, "TASK_STATE_COMPLETED");
    assert.equal(stateOf(await getTask(client, first.id)), "TASK_STATE_COMPLETED");
  });

  // keeps: profile-rules-busy-rejected
  it("has it refused instead when the message says so", async () => {
    const client = await connect("gate");
    const { id, contextId } = await sendForTask(client, message("busy"), { returnImmediately: true });
    const rejecting = message("or not", { contextId, metadata: { delivery: "reject" } });
    await assert.rejects(send(client, rejecting), (error: unknown) => {
      assert.ok(error instanceof JsonRpcUnsupportedOperationError);
      assert.match(JSON.stringify(error), /CONTEXT_BUSY/);
      return true;
    });
    await client.cancelTask({ tenant: "", id, metadata: undefined });
    await until(client, id, "TASK_STATE_CANCELED");
  });

  it("sees the plan when it activates progress/v1, and nothing of it when not", async () => {
    const client = await connect("gate");
    const active: RequestOptions = { serviceParameters: ServiceParameters.create(withA2AExtensions(PROGRESS)) };
    const { id } = await sendForTask(client, message("plan"), { ...active, returnImmediately: true });
    const deadline = performance.now() + 10_000;
    let task = await getTask(client, id, active);
    while (task.metadata === undefined && performance.now() < deadline) task = await getTask(client, id, active);
    assert.deepEqual(task.metadata?.[PROGRESS], {
      steps: [
        { label: "Wait", state: "active" },
        { label: "Go through", state: "pending" },
      ],
    });
    assert.ok(!JSON.stringify(Task.toJSON(await getTask(client, id))).includes("progress/v1"));
    await open("plan");
    await until(client, id, "TASK_STATE_COMPLETED");
    assert.deepEqual((await getTask(client, id, active)).metadata?.[PROGRESS], {
      steps: [
        { label: "Wait", state: "done" },
        { label: "Go through", state: "done", note: "At last." },
      ],
    });
  });

  it("lists its tasks, page by page", async () => {
    const client = await connect("chat");
    const sent = new Set<string>();
    for (let index = 0; index < 5; index++) {
      const result = await send(client, message(String(index)));
      assert.ok("messageId" in result);
      sent.add(result.taskId);
    }
    const listed: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listTasks({
        tenant: "",
        contextId: "",
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken,
        pageSize: 2,
        statusTimestampAfter: undefined,
      });
      listed.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.equal(new Set(listed).size, listed.length);
    for (const id of sent) assert.ok(listed.includes(id));
  });

  it("is told that nothing is streamed", async () => {
    const client = await connect("echo");
    await assert.rejects(async () => {
      for await (const event of client.resubscribeTask({ tenant: "", id: "x" })) assert.fail(JSON.stringify(event));
    }, JsonRpcUnsupportedOperationError);
  });
});
