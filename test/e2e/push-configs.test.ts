/** The push configs of a task, over the wire: what is kept, what is shown of it, and to whom. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, it } from "node:test";

import { A2A_ERRORS } from "@nylorun/protocol";
import type {
  AgentCard,
  JsonRpcError,
  ListTaskPushNotificationConfigsResponse,
  Task,
  TaskPushNotificationConfig,
} from "@nylorun/protocol";

import { atOnce, makeAgent, messageOf, serve } from "./callers.ts";
import type { Caller } from "./callers.ts";

const agent = makeAgent("asker", async (turn) =>
  turn.text === "ask" ? `You said ${await turn.ask({ prompt: "What?" })}` : turn.text,
);
const pushSecret = [`whsec_${randomBytes(24).toString("base64")}`];
const CREATE = "CreateTaskPushNotificationConfig";
const GET = "GetTaskPushNotificationConfig";
const LIST = "ListTaskPushNotificationConfigs";
const DELETE = "DeleteTaskPushNotificationConfig";
/** Of a host that is allowed, and is not there. */
const url = "https://hooks.example.invalid/a2a";

function reasonOf(error: JsonRpcError | undefined) {
  return [error?.code, error?.data[0].reason, error?.data[1]?.fieldViolations[0]?.field];
}

function configsOf(caller: Caller, taskId: string): Promise<ListTaskPushNotificationConfigsResponse> {
  return caller.result("asker", LIST, { taskId });
}

describe("push configs", async () => {
  const served = await serve({
    agents: [agent],
    pushSecret,
    pushHosts: ["hooks.example.invalid", "*.example.invalid:8443"],
  });
  after(() => served[Symbol.asyncDispose]());
  const ada = await served.as("ada");
  const bob = await served.as("bob");
  const create = (taskId: string, config: Partial<TaskPushNotificationConfig> = {}) =>
    ada.result<TaskPushNotificationConfig>("asker", CREATE, { taskId, url, ...config });

  it("are declared by the card", async () => {
    const response = await fetch(`${served.runtime.url}/v1/a2a/agents/asker/.well-known/agent-card.json`);
    assert.equal(((await response.json()) as AgentCard).capabilities.pushNotifications, true);
  });

  // keeps: push-configs-ids
  it("are kept under ids of their own, and changed under their id (A29)", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    const first = await create(taskId);
    const second = await create(taskId);
    const named = await create(taskId, { id: "mine" });
    assert.deepEqual(
      [first, second, named].map((one) => one.taskId),
      [taskId, taskId, taskId],
    );
    assert.equal(named.id, "mine");
    assert.equal(new Set([first.id, second.id, "mine"]).size, 3);
    const moved = await create(taskId, { id: "mine", url: `${url}/moved` });
    assert.deepEqual(moved, { taskId, id: "mine", url: `${url}/moved` });
    assert.deepEqual(await ada.result("asker", GET, { taskId, id: "mine" }), moved);
    assert.deepEqual(await configsOf(ada, taskId), { configs: [first, second, moved] });
    const page = await ada.result<ListTaskPushNotificationConfigsResponse>("asker", LIST, { taskId, pageSize: 2 });
    assert.deepEqual(page.configs, [first, second]);
    const rest = { taskId, pageSize: 2, pageToken: page.nextPageToken };
    assert.deepEqual(await ada.result("asker", LIST, rest), { configs: [moved] });
    assert.deepEqual(await ada.result("asker", DELETE, { taskId, id: second.id }), {});
    assert.deepEqual(
      await ada.result("asker", LIST, rest),
      { configs: [moved] },
      "its last one is gone; what follows is not",
    );
    assert.deepEqual(await ada.result("asker", DELETE, { taskId, id: second.id }), {}, "deleting again is the same");
    assert.equal(await ada.refusal("asker", GET, { taskId, id: second.id }), A2A_ERRORS.TaskNotFound.code);
    assert.equal(await ada.refusal("asker", LIST, { taskId, pageToken: "x" }), A2A_ERRORS.InvalidParams.code);
  });

  // keeps: push-configs-redacted
  it("never show a token or credentials again (A30)", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    const secrets = { token: "t0ken", authentication: { scheme: "Bearer", credentials: "cr3dentials" } };
    const answers = [await ada.call("asker", CREATE, { taskId, url, id: "secret", ...secrets })];
    answers.push(await ada.call("asker", GET, { taskId, id: "secret" }), await ada.call("asker", LIST, { taskId }));
    const configuration = { taskPushNotificationConfig: { url, ...secrets } };
    const { id } = await ada.send("asker", "ask", { configuration });
    answers.push(await ada.call("asker", LIST, { taskId: id }), await ada.call("asker", "GetTask", { id }));
    for (const answer of answers) {
      assert.equal(answer.error, undefined);
      assert.doesNotMatch(JSON.stringify(answer), /t0ken|cr3dentials/);
    }
    const shown = { taskId, id: "secret", url, authentication: { scheme: "Bearer" } };
    assert.deepEqual(
      answers.slice(0, 2).map(({ result }) => result),
      [shown, shown],
    );
  });

  // keeps: push-configs-limit
  it("are 16 a task at most, also with messages, and one more changes nothing (A29)", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    const made = await Promise.all(Array.from({ length: 20 }, () => ada.call("asker", CREATE, { taskId, url })));
    const refused = made.filter(({ error }) => error !== undefined);
    assert.equal(refused.length, 4);
    for (const { error } of refused) assert.deepEqual(reasonOf(error), [-32602, "PUSH_CONFIG_LIMIT", "taskId"]);
    const configuration = { taskPushNotificationConfig: { url } };
    const { error } = await ada.call("asker", "SendMessage", { message: messageOf("me", { taskId }), configuration });
    assert.deepEqual(reasonOf(error), [-32602, "PUSH_CONFIG_LIMIT", "configuration.taskPushNotificationConfig"]);
    assert.equal((await ada.get("asker", taskId)).status.state, "TASK_STATE_INPUT_REQUIRED");
    assert.equal((await configsOf(ada, taskId)).configs?.length, 16);
  });

  // keeps: push-configs-hosts, a2a-13.2-https
  it("lead to hosts that the operator has allowed, and nowhere else", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    await create(taskId, { url: "https://a.b.example.invalid:8443/x" });
    await create(taskId, { url: "https://HOOKS.example.invalid:443/" });
    for (const other of [
      "http://hooks.example.invalid/",
      "https://hooks.example.invalid:8080/",
      "https://example.invalid:8443/",
      "https://evil.example/",
      "https://hooks.example.invalid.evil.example/",
      "https://127.0.0.1/",
      "https://[::1]/",
      "https://0x7f.1/",
      "https://localhost/",
      "https://169.254.169.254/latest/meta-data/",
    ]) {
      const { error } = await ada.call("asker", CREATE, { taskId, url: other });
      assert.deepEqual(reasonOf(error), [-32602, "PUSH_HOST_NOT_ALLOWED", "url"], other);
      const configuration = { taskPushNotificationConfig: { url: other } };
      const inline = await ada.call("asker", "SendMessage", { message: messageOf("Hello"), configuration });
      assert.deepEqual(
        reasonOf(inline.error),
        [-32602, "PUSH_HOST_NOT_ALLOWED", "configuration.taskPushNotificationConfig.url"],
        other,
      );
    }
    assert.equal((await ada.list("asker", { status: "TASK_STATE_COMPLETED" })).totalSize, 0, "nothing ran");
  });

  // keeps: push-configs-clean
  it("hold nothing that would break a header or hide in a URL", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    for (const [field, config] of [
      ["url", { url: "file:///etc/passwd" }],
      ["url", { url: "hooks.example.invalid" }],
      ["url", { url: "https://ada:secret@hooks.example.invalid/" }],
      ["url", { url: `${url}/${"x".repeat(2048)}` }],
      ["token", { token: "a\r\nX-Evil: 1" }],
      ["token", { token: "a\0" }],
      ["token", { token: "ключ" }],
      ["token", { token: "x".repeat(4097) }],
      ["authentication.credentials", { authentication: { scheme: "Bearer", credentials: "a\nb" } }],
      ["authentication.scheme", { authentication: { scheme: "Bearer x\r\n", credentials: "a" } }],
    ] as const) {
      const { error } = await ada.call("asker", CREATE, { taskId, url, ...config });
      assert.deepEqual(reasonOf(error), [-32602, "INVALID_PARAMS", field], JSON.stringify(config).slice(0, 80));
    }
    assert.deepEqual(await configsOf(ada, taskId), { configs: [] });
  });

  // keeps: push-configs-owner
  it("of others are not there, on any operation (I7, A24, A31)", async () => {
    const { id: taskId } = await ada.send("asker", "ask");
    const { id } = await create(taskId, { id: "adas" });
    const nowhere = "A".repeat(22);
    const anonymous = (answer: object, task: string) => JSON.stringify(answer).replaceAll(task, "TASK");
    for (const [method, params] of [
      [CREATE, { url }],
      [CREATE, { url, id }],
      [GET, { id }],
      [LIST, {}],
      [DELETE, { id }],
    ] as const) {
      const answer = await bob.call("asker", method, { taskId, ...params });
      assert.equal(answer.error?.code, A2A_ERRORS.TaskNotFound.code, method);
      const missing = await bob.call("asker", method, { taskId: nowhere, ...params });
      assert.equal(anonymous(answer, taskId), anonymous(missing, nowhere), method);
    }
    assert.equal((await configsOf(ada, taskId)).configs?.length, 1);
  });

  // keeps: push-configs-inline
  it("come with a message as with a call, whether its caller waits or not, and once however often it is sent", async () => {
    for (const more of [{}, { returnImmediately: true }]) {
      const message = messageOf("ask");
      const configuration = { ...more, taskPushNotificationConfig: { id: "inline", url } };
      const send = () => ada.result<{ task: Task }>("asker", "SendMessage", { message, configuration });
      const [{ task }, again] = await Promise.all([send(), send()]);
      assert.equal(again.task.id, task.id);
      await ada.until("asker", task.id, "TASK_STATE_INPUT_REQUIRED");
      assert.deepEqual(await configsOf(ada, task.id), { configs: [{ taskId: task.id, id: "inline", url }] });
    }
  });
});

describe("without a push secret", async () => {
  const served = await serve({ agents: [agent], pushHosts: ["hooks.example.invalid"] });
  after(() => served[Symbol.asyncDispose]());

  // keeps: push-configs-off
  it("there are no push configs, and a message that brings one does not run", async () => {
    const ada = await served.as("ada");
    const { id: taskId } = await ada.send("asker", "ask");
    const { code } = A2A_ERRORS.PushNotificationNotSupported;
    for (const method of [CREATE, GET, LIST, DELETE])
      assert.equal(await ada.refusal("asker", method, { taskId, id: "x", url }), code, method);
    const configuration = { ...atOnce.configuration, taskPushNotificationConfig: { url } };
    assert.equal(await ada.refusal("asker", "SendMessage", { message: messageOf("Hello"), configuration }), code);
    assert.equal((await ada.list("asker")).totalSize, 1);
    const keys = await fetch(`${served.runtime.url}/.well-known/nylorun-webhook-keys.json`);
    assert.deepEqual(await keys.json(), { keys: [] });
  });
});
