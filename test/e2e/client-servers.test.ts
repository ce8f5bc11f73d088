/**
 * The same calls against every kind of server: our Runtime; our Runtime when the echo of extensions is lost; the official SDK's server with
 * and without streams, speaking the profile's extensions and speaking none. What each gets is the profile's table "What a client
 * gets", row by row.
 */
import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";

import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { reply } from "@nylorun/agents";
import { createA2aClient, toProgressEvent } from "@nylorun/agents/a2a";
import type { A2aClient, A2aClientError, A2aClientOptions, A2aTask, TaskView } from "@nylorun/agents/a2a";
import { EXTENSIONS } from "@nylorun/protocol";

import { makeAgent, serve } from "./callers.ts";
import { CSV, SdkServer, TRACE } from "./sdk-server.ts";
import type { SdkServerOptions } from "./sdk-server.ts";
import { startSilentProxy } from "./silent-proxy.ts";

// The SDK's server tells the console of streams that are asked for too late, which is nobody's mistake here.
mock.method(console, "error", () => undefined);

interface Started extends AsyncDisposable {
  readonly options: A2aClientOptions;
  /** Somebody approves or connects without this client. */
  authorize?(taskId: string): void;
  readonly calls?: readonly string[];
  expireLinks?(): void;
}

interface Kind {
  readonly name: string;
  readonly tier: "profile" | "core";
  readonly streaming: boolean;
  start(): Promise<Started>;
}

const sdk = (options: SdkServerOptions) => async () => {
  const server = await SdkServer.start(options);
  return {
    options: { url: server.url, transports: [new GrpcTransportFactory()] },
    authorize: (id: string) => server.authorize(id),
    calls: server.calls,
    expireLinks: () => server.expireLinks(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

const kinds: readonly Kind[] = [
  { name: "our Runtime", tier: "profile", streaming: false, start: startRuntime },
  { name: "our Runtime without the echo", tier: "profile", streaming: false, start: startBehindProxy },
  {
    name: "the SDK's server with the profile, polled",
    tier: "profile",
    streaming: false,
    start: sdk({ profile: true, streaming: false }),
  },
  {
    name: "the SDK's server with the profile, streaming",
    tier: "profile",
    streaming: true,
    start: sdk({ profile: true, streaming: true }),
  },
  {
    name: "the SDK's server with the profile, HTTP+JSON, streaming",
    tier: "profile",
    streaming: true,
    start: sdk({ profile: true, streaming: true, bindings: ["HTTP+JSON"] }),
  },
  {
    name: "the SDK's server with the profile, gRPC, streaming",
    tier: "profile",
    streaming: true,
    start: sdk({ profile: true, streaming: true, bindings: ["GRPC"] }),
  },
  { name: "our Runtime with nothing activated", tier: "core", streaming: false, start: startPlain },
  {
    name: "a plain SDK server, polled",
    tier: "core",
    streaming: false,
    start: sdk({ profile: false, streaming: false }),
  },
  {
    name: "a plain SDK server, streaming",
    tier: "core",
    streaming: true,
    start: sdk({ profile: false, streaming: true }),
  },
];

const connected = new Set<string>();

function runtimeAgent() {
  return makeAgent("few-words", async (turn) => {
    switch (turn.text) {
      case "work": {
        const plan = turn.plan(["Find", "Do"]);
        plan.start("Find");
        turn.say("Working on it.");
        await turn.effect("work", ({ usage }) => {
          usage({ tokens: 12, costUsd: 0.5 });
          return new Promise((resolve) => setTimeout(resolve, 400));
        });
        plan.start("Do");
        return "Worked.";
      }
      case "slow":
        turn.say("Taking my time.");
        await turn.sleep(60_000);
        return "Late.";
      case "fail":
        throw new Error("a secret");
      case "file":
        // The second version is the one that the task has.
        await turn.file("out/report.csv", "a draft");
        await turn.file("out/report.csv", CSV);
        return;
      case "reply":
        return reply("Hello.");
      case "approve":
        return (await turn.approve({ prompt: "Really?", detail: { amount: 42 } })) ? "Approved." : "Denied.";
      case "connect": {
        const verify = () => connected.has(turn.contextId);
        const made = await turn.connect({
          prompt: "Connect it.",
          provider: "calendar",
          url: "https://example.com/",
          verify,
        });
        return made ? "Connected." : "Denied.";
      }
      case "ask":
        return `You said ${await turn.ask({ prompt: "Which day?", choices: ["Mon", "Tue"] })}.`;
      default:
        return turn.text;
    }
  });
}

async function startRuntime(): Promise<Started> {
  const served = await serve({ agents: [runtimeAgent()] });
  const auth = await served.runtime.addKey({ role: "subject", subject: "ada" });
  return {
    options: { url: `${served.runtime.url}/v1/a2a/agents/few-words/`, auth },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

async function startPlain(): Promise<Started> {
  const { options, ...started } = await startRuntime();
  return { ...started, options: { ...options, extensions: [] } };
}

async function startBehindProxy(): Promise<Started> {
  const started = await startRuntime();
  const { origin, pathname } = new URL(started.options.url!);
  const proxy = await startSilentProxy(origin);
  return {
    options: { ...started.options, url: `${proxy.url}${pathname}` },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await started[Symbol.asyncDispose]();
    },
  };
}

/** The first view of a task that waits for its caller. */
async function untilAsked(task: A2aTask): Promise<TaskView> {
  for await (const now of task.updates({ signal: AbortSignal.timeout(10_000) })) if (now.interaction) return now;
  throw new Error(`The task ended as ${task.state}, without a question.`);
}

const soon = () => ({ signal: AbortSignal.timeout(10_000) });

for (const kind of kinds) {
  describe(kind.name, { timeout: 90_000 }, () => {
    let started: Started;
    let agent: A2aClient;

    before(async () => {
      started = await kind.start();
      agent = await createA2aClient({ ...started.options, pollMs: 100 });
    });

    after(() => started?.[Symbol.asyncDispose]());

    test("gives states, words and artifacts", async () => {
      const task = await agent.send("work");
      const states: string[] = [];
      const words: (string | undefined)[] = [];
      for await (const now of task.updates(soon())) {
        states.push(now.state);
        words.push(now.text);
      }
      assert.ok(states.includes("TASK_STATE_WORKING"), states.join());
      assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
      assert.ok(words.includes("Working on it."), words.join());
      assert.equal(task.output, "Worked.");
      assert.equal((await task.done()).output, "Worked.");
    });

    if (kind.tier === "profile") {
      test("gives the plan, the cost and a trace id", async () => {
        const task = await agent.send("work");
        const plans: string[] = [];
        for await (const { plan } of task.updates(soon()))
          plans.push(plan?.steps.map(({ state }) => state).join() ?? "");
        assert.ok(plans.includes("active,pending"), plans.join(" "));
        assert.deepEqual(
          task.plan?.steps.map(({ label, state }) => [label, state]),
          [
            ["Find", "done"],
            ["Do", "done"],
          ],
        );
        assert.deepEqual(task.totals, { steps: 1, tokens: 12, costUsd: 0.5 });
        assert.match(task.traceId!, /^[0-9a-f]{32}$/);
        if (kind.name.startsWith("the SDK")) assert.equal(task.traceId, TRACE);
        assert.equal(toProgressEvent(task).percent, 100);
      });

      test("gives typed approvals, and takes an answer", async () => {
        for (const [approved, output] of [
          [true, "Approved."],
          [false, "Denied."],
        ] as const) {
          const task = await agent.send("approve");
          const { interaction, state } = await untilAsked(task);
          assert.equal(state, "TASK_STATE_AUTH_REQUIRED");
          assert.equal(interaction?.kind, "approval");
          assert.equal(interaction.prompt, "Really?");
          assert.deepEqual(interaction.detail, { amount: 42 });
          assert.equal(toProgressEvent(task).status, "paused");
          await assert.rejects(task.answer("yes"), { code: "interaction.kind" });
          await task.approve(approved);
          assert.equal((await task.done(soon())).output, output);
        }
      });

      test("gives typed connections", async () => {
        const task = await agent.send("connect");
        const { interaction } = await untilAsked(task);
        assert.equal(interaction?.kind, "connection");
        assert.equal(interaction.provider, "calendar");
        assert.equal(interaction.url, "https://example.com/");
        connected.add(task.contextId!);
        await task.connected();
        assert.equal((await task.done(soon())).output, "Connected.");
      });

      test("gives typed questions with their choices", async () => {
        const task = await agent.send("ask");
        const { interaction, state } = await untilAsked(task);
        assert.equal(state, "TASK_STATE_INPUT_REQUIRED");
        assert.equal(interaction?.kind, "question");
        assert.deepEqual(interaction.choices, ["Mon", "Tue"]);
        assert.equal(interaction.wantsAuthorization, false);
        await task.answer("Tue");
        assert.equal((await task.done(soon())).output, "You said Tue.");
      });
    } else {
      // keeps: profile-client-core
      test("gives no plan, no cost and no trace id, and makes none up", async () => {
        const task = await agent.send("work");
        for await (const now of task.updates(soon())) {
          assert.deepEqual(
            [now.plan, now.totals, now.traceId, now.uncertain],
            [undefined, undefined, undefined, undefined],
          );
          const event = toProgressEvent(now);
          assert.equal(event.eta_seconds, null);
          assert.equal(event.percent, now.ended ? 100 : 0);
        }
      });

      for (const word of ["approve", "connect"] as const) {
        // keeps: profile-client-core-approval, a2a-client-text-is-no-credential
        test(`gives a text question for "${word}", whose reply in words does not approve`, async () => {
          const task = await agent.send(word);
          const { interaction, state } = await untilAsked(task);
          assert.equal(state, "TASK_STATE_AUTH_REQUIRED");
          assert.equal(interaction?.kind, "question");
          assert.equal(interaction.wantsAuthorization, true);
          assert.match(interaction.prompt, word === "approve" ? /^Really\?/ : /^Connect it\./);
          const means = word === "approve" ? () => task.approve(true) : () => task.connected();
          await assert.rejects(means, { code: "interaction.wordsOnly" });
          await task.answer("Yes, I approve.");
          await task.refresh();
          assert.equal(task.state, "TASK_STATE_AUTH_REQUIRED");
          assert.equal(task.interaction?.kind, "question");
          if (started.authorize === undefined) {
            await task.cancel();
            return;
          }
          // The agent goes on by itself when the authorization comes another way (A2A 1.0, section 7.6.2).
          const done = task.done(soon());
          started.authorize(task.id!);
          assert.equal((await done).output, word === "approve" ? "Approved." : "Connected.");
        });
      }

      test("gives a question in words, and takes words as answer", async () => {
        const task = await agent.send("ask");
        const { interaction } = await untilAsked(task);
        assert.equal(interaction?.kind, "question");
        assert.equal(interaction.id, undefined);
        assert.equal(interaction.wantsAuthorization, false);
        await task.answer("Mon");
        assert.equal((await task.done(soon())).output, "You said Mon.");
      });
    }

    test("gives file versions where the agent declares them, and else the files alone", async () => {
      const declared = agent.card.capabilities.extensions?.some(({ uri }) => uri === EXTENSIONS.files) === true;
      const task = await agent.send("file");
      const { files } = await task.done(soon());
      const [file] = files;
      assert.ok(file);
      assert.equal(file.name, "report.csv");
      assert.equal(file.mediaType, "text/csv");
      const told = [file.kind, file.path, file.version, file.size];
      assert.deepEqual(
        told,
        declared && kind.tier === "profile"
          ? ["file", "out/report.csv", 2, CSV.length]
          : [undefined, undefined, undefined, undefined],
      );
      assert.equal(await file.text(), CSV);
    });

    test("takes up a task again by its id, as after a restart", async () => {
      const { id } = await agent.send("ask");
      const later = await createA2aClient(started.options);
      const task = await later.task(id!);
      await untilAsked(task);
      await task.answer("Mon");
      assert.equal((await task.done(soon())).output, "You said Mon.");
    });

    // keeps: profile-client-one-task
    test("keeps to the task when it answers, and makes no second one (A16)", async () => {
      const conversation = agent.context();
      const task = await conversation.send("ask");
      await untilAsked(task);
      const answered = await task.answer("Mon");
      assert.equal(answered.id, task.id);
      await task.done(soon());
      const ids: string[] = [];
      for await (const one of conversation.tasks()) ids.push(one.id!);
      assert.deepEqual(ids, [task.id]);
    });

    // Another server may guess.
    if (kind.name.startsWith("our")) {
      test("has a message without the task's id queued behind the question, which it does not answer (A16)", async () => {
        const conversation = agent.context();
        const task = await conversation.send("ask");
        const { interaction } = await untilAsked(task);
        const next = await conversation.send("Mon");
        assert.notEqual(next.id, task.id);
        assert.equal(next.state, "TASK_STATE_SUBMITTED");
        await task.refresh();
        assert.equal(task.interaction?.prompt, interaction?.prompt);
        await task.answer("Tue");
        assert.equal((await task.done(soon())).output, "You said Tue.");
        assert.equal((await next.done(soon())).output, "Mon");
      });
    }

    test("an answer that is a message is the output", async () => {
      const task = await agent.send("reply");
      const { output, message } = await task.done(soon());
      assert.equal(output, "Hello.");
      assert.equal(message?.role, "ROLE_AGENT");
    });

    test("a task that failed is an error with the task in it", async () => {
      const task = await agent.send("fail");
      await assert.rejects(task.done(soon()), (error: A2aClientError) => {
        assert.equal(error.code, "task.failed");
        assert.equal(error.task?.state, "TASK_STATE_FAILED");
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    });

    test("cancels, and cancelling again is no error", async () => {
      const task = await agent.send("slow");
      const done = task.done(soon());
      done.catch(() => undefined);
      await task.cancel();
      assert.equal(task.state, "TASK_STATE_CANCELED");
      await assert.rejects(done, { code: "task.canceled" });
      await task.cancel();
    });

    test("lists tasks page by page", async () => {
      const conversation = agent.context();
      await (await conversation.send("work")).done(soon());
      const sent = await Promise.all(["work", "work"].map((word) => conversation.send(word)));
      for (const task of sent) await task.done(soon());
      const found: A2aTask[] = [];
      for await (const task of conversation.tasks({ pageSize: 1, artifacts: true })) found.push(task);
      assert.equal(found.length, 3);
      assert.deepEqual(new Set(found.map(({ output }) => output)), new Set(["Worked."]));
    });

    test("a task that is not there is said to be so", async () => {
      await assert.rejects(agent.task("AAAAAAAAAAAAAAAAAAAAAA"), { code: "a2a.taskNotFound" });
    });

    // keeps: a2a-client-capabilities
    test("configures webhooks where the agent pushes, and is told where it does not", async () => {
      const task = await agent.send("slow");
      const target = { url: "https://example.com/hook", id: "p1" };
      if (agent.card.capabilities.pushNotifications !== true) {
        await assert.rejects(task.push.create(target), { code: "a2a.pushNotificationNotSupported" });
      } else {
        const { token } = await task.push.create(target);
        assert.match(token, /^[0-9a-f]{32}$/);
        assert.equal((await task.push.get("p1")).url, target.url);
        assert.deepEqual(
          (await task.push.list()).map(({ id }) => id),
          ["p1"],
        );
        await task.push.delete("p1");
        assert.deepEqual(await task.push.list(), []);
      }
      await task.cancel();
    });

    if (kind.streaming) {
      test("reads the stream, and does not ask meanwhile", async () => {
        const made = started.calls!.length;
        const task = await agent.send("pieces");
        const { output } = await task.done(soon());
        assert.equal(output, "One two three.");
        assert.deepEqual(started.calls!.slice(made), ["call", "stream"]);
      });
    }
  });
}
