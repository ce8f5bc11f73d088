/**
 * An agent that is for some subjects alone: for all others it is not there. Every operation, with a subject that may use it, one that may not,
 * and an operator; and each time the same as for an agent that nobody ever made (I7).
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Agent, AgentDefinition } from "@nylorun/agents";
import type { Task } from "@nylorun/protocol";

import { HostList } from "../../src/dial/host-list.ts";
import { createWebhookKeys } from "../../src/push/keys.ts";
import { hello, makeAgent, serve } from "./served.ts";
import type { Answer, Served } from "./served.ts";

const run: AgentDefinition["run"] = async (turn) => {
  if (turn.text === "ask") await turn.ask({ prompt: "Which?" });
  return turn.text;
};
const vault = (...subjects: string[]): Agent => makeAgent("vault", run, subjects.length > 0 ? { subjects } : {});
const open = makeAgent("open", run);

const CARD = "/.well-known/agent-card.json";
const cardOf = (agent: string) => `/v1/a2a/agents/${agent}${CARD}`;
const target = { url: "https://hooks.example/x" };

/** What each method asks of a task that `ada` has. */
const METHODS: Readonly<Record<string, (task: string) => object>> = {
  SendMessage: () => ({ message: hello() }),
  "SendMessage again": () => ({ message: { messageId: "once", role: "ROLE_USER", parts: [{ text: "ask" }] } }),
  "SendMessage to a task": (taskId) => ({ message: hello({ taskId }) }),
  SendStreamingMessage: () => ({ message: hello() }),
  GetTask: (id) => ({ id }),
  ListTasks: () => ({}),
  CancelTask: (id) => ({ id }),
  SubscribeToTask: (id) => ({ id }),
  CreateTaskPushNotificationConfig: (taskId) => ({ taskId, ...target }),
  GetTaskPushNotificationConfig: (taskId) => ({ taskId, id: "one" }),
  ListTaskPushNotificationConfigs: (taskId) => ({ taskId }),
  DeleteTaskPushNotificationConfig: (taskId) => ({ taskId, id: "one" }),
  GetExtendedAgentCard: () => ({}),
  NoSuchMethod: () => ({}),
};

async function ids(served: Served, as: string): Promise<string[]> {
  const response = await served.get("/v1/agents", { authorization: `Bearer ${as}` });
  const { agents } = (await response.json()) as { agents: { id: string }[] };
  return agents.map(({ id }) => id);
}

/** Everything of an answer that a caller sees, but for the time. */
async function seen(response: Response): Promise<object> {
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

describe("an agent that is for some subjects alone (I7)", () => {
  let served: Served;
  let task: Task;
  before(async () => {
    served = await serve({
      agents: [vault("ada"), open],
      settings: { defaultAgent: "vault" },
      instead: ({ store }) => ({ push: { hosts: HostList.parse(["hooks.example"])!, keys: createWebhookKeys(store) } }),
    });
    const params = {
      ...METHODS["SendMessage again"]!(""),
      configuration: { taskPushNotificationConfig: { id: "one", ...target } },
    };
    ({ task } = await served.result<{ task: Task }>("SendMessage", params, { agent: "vault" }));
    assert.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED");
  });
  after(() => served[Symbol.asyncDispose]());

  for (const [name, params] of Object.entries(METHODS)) {
    const [method = ""] = name.split(" ");
    it(`answers ${name} of another subject as an agent that is not there does`, async () => {
      const ask = (as: string, agent: string): Promise<Answer> => served.call(method, params(task.id), { as, agent });
      const [kept, missing] = [await ask("bob", "vault"), await ask("bob", "nowhere")];
      assert.equal(kept.status, 404);
      assert.equal(kept.body.error?.code, "agent.unknown");
      assert.deepEqual(
        [kept.status, kept.body, [...kept.headers]],
        [missing.status, missing.body, [...missing.headers]],
      );
      assert.equal((await ask("operator", "vault")).status, 403, "an operator acts for nobody");
      assert.equal((await ask("bob", "open")).status, 200, "and bob may use the other agent");
    });
  }

  it("refuses before it looks at anything else of the request", async () => {
    const response = await served.fetch("{", { as: "bob", agent: "vault", headers: { "content-type": "text/html" } });
    assert.equal(response.status, 404);
  });

  it("is used by its own subjects as any agent is", async () => {
    const options = { agent: "vault" };
    for (const method of [
      "GetTask",
      "ListTasks",
      "CreateTaskPushNotificationConfig",
      "GetTaskPushNotificationConfig",
    ]) {
      const { body } = await served.call(method, METHODS[method]!(task.id), options);
      assert.ok(body.result, `${method}: ${JSON.stringify(body)}`);
    }
    const other = await served.send({ parts: [{ text: "Hello" }] }, options);
    assert.equal(other.status.state, "TASK_STATE_COMPLETED");
  });

  const CALLERS = {
    nobody: undefined,
    nonsense: "Basic x",
    ada: "Bearer ada",
    bob: "Bearer bob",
    operator: "Bearer operator",
  };
  for (const [caller, authorization] of Object.entries(CALLERS)) {
    const headers = authorization === undefined ? {} : { authorization };
    const may = caller === "ada" || caller === "operator";
    it(`${may ? "shows" : "does not show"} its card to ${caller}, below its address and as the server's`, async () => {
      for (const path of [cardOf("vault"), CARD]) {
        const response = await served.get(path, headers);
        assert.equal(response.status, may ? 200 : 404, path);
        if (may) {
          assert.equal(((await response.json()) as { name: string }).name, "The vault");
          assert.match(response.headers.get("cache-control") ?? "", /^private, no-cache$/);
          const etag = response.headers.get("etag") ?? "";
          assert.equal((await served.get(path, { ...headers, "if-none-match": etag })).status, 304);
          assert.equal((await served.get(path, { authorization: "Bearer bob", "if-none-match": etag })).status, 404);
        } else if (path === CARD) {
          assert.match(await response.text(), /agent\.noDefault/);
        } else {
          assert.deepEqual(await seen(response), await seen(await served.get(cardOf("nowhere"), headers)));
        }
      }
      assert.equal((await served.get(cardOf("open"), headers)).status, 200, "and the other agent's to everybody");
    });
  }

  it("asks who looks for the card of an agent that is not there, too, so that trouble in asking tells nothing", async () => {
    await using troubled = await serve({
      agents: [vault("ada"), open],
      instead: () => ({ authenticate: () => Promise.reject(new Error("No answer.")) }),
    });
    for (const agent of ["vault", "nowhere"]) assert.equal((await troubled.get(cardOf(agent))).status, 500, agent);
    assert.equal((await troubled.get(cardOf("open"))).status, 200, "who may see what all may see is not asked");
  });

  // keeps: profile-checks-restricted
  it("is in the lists of its subjects alone", async () => {
    assert.deepEqual(await ids(served, "ada"), ["vault", "open"]);
    assert.deepEqual(await ids(served, "bob"), ["open"]);
    assert.deepEqual(await ids(served, "ADA"), ["open"], "names are compared exactly");
  });
});

describe("an agent that is not open to a subject any more", () => {
  // keeps: profile-checks-restricted
  it("takes its tasks along: they cannot be got at, referred to or seen, and are there again when it is open again", async (t) => {
    const home = mkdtempSync(join(tmpdir(), "nylorun-http-"));
    t.after(() => rmSync(home, { recursive: true }));
    const served = await serve({ home, agents: [vault(), open] });
    const task = await served.send({ parts: [{ text: "ask" }] }, { agent: "vault" });
    const elsewhere = await served.send({ parts: [{ text: "ask" }] }, { agent: "open" });
    const refer = { message: hello({ referenceTaskIds: [task.id] }) };
    const progress = async (as: string, from: Served) => {
      const response = await from.get("/v1/progress", { authorization: `Bearer ${as}` });
      const { tasks } = (await response.json()) as { tasks: { task_id: string }[] };
      return tasks.map(({ task_id }) => task_id).toSorted();
    };
    const of = ({ id }: Task, agent: string) => `${agent}:${id}`.slice(0, 128);
    const both = [of(elsewhere, "open"), of(task, "vault")].toSorted();
    assert.ok((await served.call("SendMessage", refer, { agent: "open" })).body.result);

    await served[Symbol.asyncDispose]();

    const later = await serve({ home, agents: [vault("bob"), open] });
    assert.equal((await later.call("GetTask", { id: task.id }, { agent: "vault" })).status, 404);
    const { body } = await later.call("SendMessage", refer, { agent: "open" });
    assert.equal(body.error?.code, -32001, "a reference to it is one to nothing");
    assert.deepEqual(await progress("ada", later), [of(elsewhere, "open")]);
    assert.deepEqual(await progress("operator", later), both, "operators see all that is under way");
    assert.deepEqual(await progress("ada", later), [of(elsewhere, "open")], "and that shows it to nobody else");

    await later[Symbol.asyncDispose]();

    await using again = await serve({ home, agents: [vault("bob", "ada"), open] });
    assert.ok((await again.call("GetTask", { id: task.id }, { agent: "vault" })).body.result);
    assert.deepEqual(await progress("ada", again), both);
  });
});
