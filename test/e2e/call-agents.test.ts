/**
 * An agent that calls agents elsewhere (`turn.call`), over the network: a Runtime of ours, which wants a key; the official SDK's server that
 * speaks the profile; and one that speaks nothing but A2A.
 */
import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";

import { CallError, reply } from "@nylorun/agents";
import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient, A2aClientOptions, A2aTask, Auth, TaskView } from "@nylorun/agents/a2a";

import { makeAgent, serve } from "./callers.ts";
import { SdkServer } from "./sdk-server.ts";

// The SDK's server tells the console of streams that are asked for too late, which is nobody's mistake here.
mock.method(console, "error", () => undefined);

interface Elsewhere extends AsyncDisposable {
  readonly url: string;
  readonly auth?: Auth;
  /** Somebody approves without this client. */
  authorize?(taskId: string): void;
  /** As its own callers see it: its newest task. */
  newest(): Promise<A2aTask>;
}

interface Kind {
  readonly name: string;
  readonly profile: boolean;
  start(): Promise<Elsewhere>;
}

const kinds: readonly Kind[] = [
  { name: "a Runtime", profile: true, start: startRuntime },
  { name: "the SDK's server with the profile", profile: true, start: () => startSdk(true) },
  { name: "a plain SDK server", profile: false, start: () => startSdk(false) },
];

async function startRuntime(): Promise<Elsewhere> {
  const agent = makeAgent("few-words", async (turn) => {
    switch (turn.text) {
      case "work":
        await turn.sleep(300);
        return "Worked.";
      case "slow":
        await turn.sleep(600_000);
        return "Late.";
      case "fail":
        throw new Error("It did not work.");
      case "reply":
        return reply("Hello.");
      case "approve":
        return (await turn.approve({ prompt: "Really?", detail: { amount: 42 } })) ? "Approved." : "Denied.";
      default:
        return `You said ${await turn.ask({ prompt: "Which day?", choices: ["Mon", "Tue"] })}.`;
    }
  });
  const served = await serve({ agents: [agent] });
  const auth = await served.runtime.addKey({ role: "subject", subject: "concierge" });
  const url = `${served.runtime.url}/v1/a2a/agents/few-words/`;
  return {
    url,
    auth: () => auth,
    newest: () => newest({ url, auth }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

async function startSdk(profile: boolean): Promise<Elsewhere> {
  const server = await SdkServer.start({ profile, streaming: false });
  return {
    url: server.url,
    authorize: (id) => server.authorize(id),
    newest: () => newest({ url: server.url }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function newest(options: A2aClientOptions): Promise<A2aTask> {
  const client = await createA2aClient(options);
  for await (const { id } of client.tasks()) return client.task(id!);
  throw new Error("There is no task.");
}

const soon = () => ({ signal: AbortSignal.timeout(20_000) });

async function untilAsked(task: A2aTask): Promise<TaskView> {
  for await (const now of task.updates(soon())) if (now.interaction) return now;
  throw new Error(`The task ended as ${task.state}, without a question.`);
}

for (const kind of kinds) {
  describe(kind.name, { timeout: 120_000 }, () => {
    let elsewhere: Elsewhere;
    let here: Awaited<ReturnType<typeof serve>>;
    let agent: A2aClient;

    before(async () => {
      elsewhere = await kind.start();
      const concierge = makeAgent("concierge", async (turn) => {
        const auth = turn.text === "without a key" ? {} : { ...(elsewhere.auth && { auth: elsewhere.auth }) };
        try {
          const limit = turn.text === "slow" ? { timeoutMs: 1500 } : {};
          const { output } = await turn.call(elsewhere.url, turn.text, { ...auth, ...limit });
          return { output };
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          return { code: error.code, text: error.text };
        }
      });
      here = await serve({ agents: [concierge] });
      const auth = await here.runtime.addKey({ role: "subject", subject: "ada" });
      agent = await createA2aClient({ url: `${here.runtime.url}/v1/a2a/agents/concierge/`, auth, pollMs: 100 });
    });

    after(async () => {
      await here?.[Symbol.asyncDispose]();
      await elsewhere?.[Symbol.asyncDispose]();
    });

    const outcome = async (text: string) => (await (await agent.send(text)).done(soon())).output;

    test("is waited for, and what came out of it is the answer", async () => {
      assert.deepEqual(await outcome("work"), { output: "Worked." });
    });

    test("may answer with a message", async () => {
      assert.deepEqual(await outcome("reply"), { output: "Hello." });
    });

    test("whose task fails is an error", async () => {
      const { code, text } = (await outcome("fail")) as { readonly code: string; readonly text?: string };
      assert.equal(code, "callee.failed");
      assert.ok(text);
    });

    test("whose time is up is told to stop", async () => {
      assert.deepEqual(await outcome("slow"), { code: "callee.timeout" });
      assert.equal((await elsewhere.newest()).state, "TASK_STATE_CANCELED");
    });

    test("has its question asked, and is given the answer", async () => {
      const task = await agent.send("ask");
      const { interaction } = await untilAsked(task);
      assert.equal(interaction?.kind, "question");
      assert.match(interaction.prompt, /^Which day\?/);
      if (kind.profile) assert.deepEqual(interaction.choices, ["Mon", "Tue"]);
      await task.answer("Tue");
      assert.deepEqual((await task.done(soon())).output, { output: "You said Tue." });
    });

    if (kind.profile) {
      for (const approved of [true, false]) {
        test(`has its approval asked for, and is told ${approved}`, async () => {
          const task = await agent.send("approve");
          const { interaction, state } = await untilAsked(task);
          assert.equal(state, "TASK_STATE_AUTH_REQUIRED");
          assert.equal(interaction?.kind, "approval");
          assert.deepEqual(interaction.detail, { amount: 42 });
          await task.approve(approved);
          assert.deepEqual((await task.done(soon())).output, { output: approved ? "Approved." : "Denied." });
        });
      }
    } else {
      test("that wants an authorization in words is given none; the turn goes on when the agent has it", async () => {
        const task = await agent.send("approve");
        const { interaction, state } = await untilAsked(task);
        assert.equal(state, "TASK_STATE_AUTH_REQUIRED");
        assert.equal(interaction?.kind, "connection");
        await task.connected();
        const again = await agent.task(task.id!);
        assert.equal(again.interaction?.kind, "connection", "it is open as long as the agent says so");
        assert.equal((await elsewhere.newest()).state, "TASK_STATE_AUTH_REQUIRED");
        elsewhere.authorize!((await elsewhere.newest()).id!);
        await again.connected();
        assert.deepEqual((await again.done(soon())).output, { output: "Approved." });
      });

      test("that wants an authorization which is declined is told to stop", async () => {
        const task = await agent.send("approve");
        await untilAsked(task);
        await task.connected(false);
        assert.deepEqual((await task.done(soon())).output, { code: "callee.declined" });
        assert.equal((await elsewhere.newest()).state, "TASK_STATE_CANCELED");
      });
    }

    if (elsewhereWantsKey(kind)) {
      test("that does not take the credentials is an error", async () => {
        assert.deepEqual(await outcome("without a key"), { code: "callee.refused" });
      });
    }

    test("is told to stop when the task that called it is cancelled while it waits (E16)", async () => {
      const task = await agent.send("approve");
      await untilAsked(task);
      await task.cancel();
      assert.equal(task.state, "TASK_STATE_CANCELED");
      for (let looks = 0; (await elsewhere.newest()).state !== "TASK_STATE_CANCELED"; looks++) {
        assert.ok(looks < 100, "it goes on elsewhere");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
  });
}

function elsewhereWantsKey({ name }: Kind): boolean {
  return name === "a Runtime";
}

test("an agent that is served here hands its files over to the one that called it", { timeout: 60_000 }, async () => {
  const painter = makeAgent("painter", async (turn) => {
    await turn.file("cat.txt", `A ${turn.text} cat`);
    return "Painted.";
  });
  const gallery = makeAgent("gallery", async (turn) => {
    const { artifacts, output } = await turn.call("painter", "grey");
    const link = artifacts.flatMap(({ parts }) => parts).find(({ url }) => url !== undefined)?.url;
    const read = async () => (await fetch(link!)).text();
    return { output: output ?? null, file: await turn.effect("fetch", read, { idempotent: true }) };
  });
  await using here = await serve({ agents: [gallery, painter] });
  const auth = await here.runtime.addKey({ role: "subject", subject: "ada" });
  const client = await createA2aClient({ url: `${here.runtime.url}/v1/a2a/agents/gallery/`, auth, pollMs: 100 });
  const { output, files } = await (await client.send("Show me")).done(soon());
  assert.deepEqual(output, { output: "Painted.", file: "A grey cat" });
  assert.deepEqual(
    files.map(({ path }) => path),
    ["output.json"],
    "what the other one made is not the caller's",
  );
});
