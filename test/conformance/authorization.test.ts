/** A2A 1.0, sections 7 and 13, over HTTP. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { EXTENSIONS } from "@nylorun/protocol";
import type { Message, OpenInteraction, Task } from "@nylorun/protocol";

import { actor, makeAgent } from "./agents.ts";
import { messageOf, serve, Wire } from "./wire.ts";
import type { Served } from "./wire.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const URI = EXTENSIONS.interactions;
const ACTIVE = { headers: { "a2a-extensions": URI } };

describe("who may do what", () => {
  let served: Served;
  let ada: Wire;

  before(async () => {
    served = await serve({ agents: [actor], a2aWaitMs: 5_000 });
    ada = await served.as("ada");
  });
  after(() => served[Symbol.asyncDispose]());

  // keeps: a2a-7.4-every, a2a-7.4-codes, a2a-3.3.2-credentials, a2a-3.3.2-challenge, a2a-13.1-every-operation
  // keeps: profile-checks-unauthenticated
  it("every operation wants credentials, and says which", async () => {
    const { id } = await ada.send("actor", "Hello");
    const key = await served.runtime.addKey({ role: "subject", subject: "ada" });
    for (const authorization of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      "Bearer nonsense",
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}x`,
      `bearer${key}`,
      `Basic ${btoa(`ada:${key}`)}`,
      key,
    ]) {
      for (const [method, params] of [
        ["SendMessage", { message: messageOf("Hello") }],
        ["GetTask", { id }],
        ["CancelTask", { id }],
        ["ListTasks", {}],
        ["NoSuchMethod", {}],
      ] as const) {
        const { status, headers, text } = await ada.call("actor", method, params, { headers: { authorization } });
        assert.equal(status, 401, `${method} with ${authorization}`);
        assert.match(headers.get("www-authenticate")!, /^Bearer\b/);
        assert.ok(!text.includes(id));
      }
    }
    assert.equal((await ada.list("actor")).totalSize, 1, "and nothing ran");
  });

  // keeps: a2a-3.3.2-permission, a2a-3.3.2-what-is-missing
  it("a key without a subject is told that it needs one", async () => {
    const operator = await served.runtime.addKey({ role: "operator" });
    const { status, body } = await ada.call(
      "actor",
      "ListTasks",
      {},
      { headers: { authorization: `Bearer ${operator}` } },
    );
    assert.equal(status, 403);
    assert.match(body.error!.message, /subject/);
  });

  // keeps: a2a-13.4-secrets, a2a-13.4-revocation
  it("a key that was revoked is nobody's from the next request on", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nylorun-conformance-"));
    try {
      await using other = await serve({ agents: [actor], home: join(folder, "home") });
      const wire = await other.as("ada");
      assert.equal((await wire.call("actor", "ListTasks", {})).status, 200);
      const id = (await nylorun(["keys", "list", "--json", "--home", other.runtime.home])).match(
        /"id":\s*"([^"]+)"/,
      )?.[1];
      assert.ok(id !== undefined);
      await nylorun(["keys", "revoke", id, "--home", other.runtime.home]);
      assert.equal((await wire.call("actor", "ListTasks", {})).status, 401);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // keeps: a2a-13.4-limits
  it("what is too large is refused, and says how large it may be", async () => {
    const text = "a".repeat(8 * 1024 * 1024);
    const { status, body } = await ada.call("actor", "SendMessage", { message: messageOf(text) });
    assert.deepEqual([status, body.error?.code], [413, "request.tooLarge"]);
    assert.match(body.error!.message, /\d+ bytes/);
  });

  // keeps: a2a-13.4-rate-limits, a2a-3.3.2-temporary
  it("who sends too much is told to wait, and others are not", async () => {
    await using slow = await serve({ agents: [actor], subjectRequestsPerSecond: 5 });
    const [one, other] = [await slow.as("one"), await slow.as("other")];
    const answers = await Promise.all(Array.from({ length: 40 }, () => one.call("actor", "ListTasks", {})));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0, "40 requests at once are too many for 5 a second");
    for (const { headers } of refused) assert.ok(Number(headers.get("retry-after")) >= 1);
    assert.equal((await other.call("actor", "ListTasks", {})).status, 200);
  });

  describe("in the log", () => {
    // deviates: a2a-13.4-log-failures
    // keeps: a2a-13.4-monitoring
    it("who has no key is counted, and not logged", async () => {
      await using logging = await Logging.start();
      const stranger = new Wire(logging.url, "the-wrong-key");
      for (let again = 0; again < 3; again++) await stranger.call("actor", "ListTasks", {});
      const metrics = await stranger.get("/metrics", { authorization: `Bearer ${logging.operator}` });
      assert.match(metrics.text, /nylorun_calls_total\{[^}]*request\.unauthenticated[^}]*\} 3/);
      assert.match(metrics.text, /^nylorun_authentication_failures_total 3$/m);
      assert.doesNotMatch(await logging.stop(), /unauthenticated|the-wrong-key/);
    });

    // keeps: a2a-13.4-audit
    it("what an operator does stands there, with ids and verdicts, and without the key that did it", async () => {
      await using logging = await Logging.start();
      const caller = new Wire(logging.url, logging.subject);
      const { id } = (
        await caller.result<{ task: Task }>("actor", "SendMessage", {
          message: messageOf("lose"),
          configuration: { returnImmediately: true },
        })
      ).task;
      const ask = async (path: string, body?: object): Promise<Response> =>
        fetch(`${logging.url}/v1/operator/${path}`, {
          headers: { authorization: `Bearer ${logging.operator}`, "content-type": "application/json" },
          ...(body && { method: "POST", body: JSON.stringify(body) }),
        });
      const lost = async (): Promise<string | undefined> => {
        const { effects } = (await (await ask("effects")).json()) as {
          effects: { taskId: string; effectId: string }[];
        };
        return effects.find(({ taskId }) => taskId === id)?.effectId;
      };
      let effect = await lost();
      const deadline = performance.now() + 20_000;
      while (effect === undefined && performance.now() < deadline) {
        await delay(20);
        effect = await lost();
      }
      const value = "a-value-that-is-nobody's-business";
      const resolved = await ask(`effects/${effect}/resolve`, { outcome: "completed", value });
      assert.equal(resolved.status, 204);
      assert.equal(
        (await ask(`effects/${effect}/resolve`, { outcome: "retry" })).status,
        404,
        "what is refused was not done",
      );
      const log = await logging.stop();
      const trail = log
        .split("\n")
        .filter((line) => line.includes('"operation"'))
        .map((line) => JSON.parse(line) as object);
      assert.equal(trail.length, 1);
      assert.partialDeepStrictEqual(trail[0], { operation: "resolveEffect", effect, outcome: "completed" });
      assert.ok(!log.includes(logging.operator) && !log.includes(value));
    });

    // keeps: a2a-13.4-no-secrets-in-logs, a2a-3.3.2-logged
    it("what failed stands with the author's own error, and neither keys nor what callers said", async () => {
      await using logging = await Logging.start();
      const caller = new Wire(logging.url, logging.subject);
      const task = await caller.send("actor", "the caller's own words");
      await caller.send("actor", "throw");
      await caller.code("actor", "GetTask", { id: "the caller's own words" });
      const log = await logging.stop();
      assert.match(log, /the treasure is under the oak/);
      for (const secret of [logging.subject, logging.operator, "the caller's own words", task.contextId!]) {
        assert.ok(!log.includes(secret), secret);
      }
    });
  });
});

describe("an authorization in a task", () => {
  let served: Served;
  let ada: Wire;

  before(async () => {
    served = await serve({
      agents: [
        actor,
        makeAgent("twice", async (turn) => {
          const first = await turn.approve({ prompt: "The first?" });
          const second = await turn.approve({ prompt: "The second?" });
          return `${first} ${second}`;
        }),
        makeAgent("later", async (turn) => {
          const began = turn.now().getTime();
          const verify = (): boolean => Date.now() > began + 1_000;
          return (await turn.connect({ prompt: "Connect it.", provider: "it", verify, pollMs: 1_000 }))
            ? "Done."
            : "No.";
        }),
      ],
      a2aWaitMs: 10_000,
    });
    ada = await served.as("ada");
  });
  after(() => served[Symbol.asyncDispose]());

  const opened = (task: Task): OpenInteraction => task.status.message!.metadata![URI] as OpenInteraction;
  const answer = (taskId: string, data: object): { message: object } => ({
    message: messageOf("See the data.", { taskId, extensions: [URI], metadata: { [URI]: data } }),
  });
  const ask = async (agent: string, text = "approve"): Promise<Task> => {
    const params = { message: messageOf(text) };
    return (await ada.result<{ task: Task }>(agent, "SendMessage", params, ACTIVE)).task;
  };

  // keeps: a2a-7.6.1-task, a2a-7.6.1-state, a2a-7.6.1-explained, profile-rules-approval-state
  it("is a task in AUTH_REQUIRED that says what for; a question is INPUT_REQUIRED", async () => {
    for (const [text, state, prompt] of [
      ["approve", "TASK_STATE_AUTH_REQUIRED", "Do it?"],
      ["connect", "TASK_STATE_AUTH_REQUIRED", "Connect it."],
      ["ask", "TASK_STATE_INPUT_REQUIRED", "What is it?"],
    ] as const) {
      const { status } = await ada.send("actor", text);
      assert.equal(status.state, state);
      assert.ok(status.message?.parts[0]?.text?.includes(prompt), text);
    }
  });

  // keeps: a2a-7.6.1-out-of-band
  it("is given out of band, when no extension is: the text says by whom", async () => {
    const { id, status } = await ada.send("actor", "approve");
    const words = status.message!.parts.map((part) => part.text).join(" ");
    assert.match(words, /Do it\?.*reply in words/s);
    const key = await served.runtime.addKey({ role: "subject", subject: "ada" });
    await nylorun(["answer", id, "--approve", "--home", served.runtime.home], { NYLORUN_KEY: key });
    const done = await ada.until("actor", id, "TASK_STATE_COMPLETED");
    assert.deepEqual(done.artifacts?.[0]?.parts, [{ text: "Done." }]);
  });

  // deviates: a2a-7.6.1-streams
  it("keeps no stream open, as there is none", async () => {
    const { id } = await ada.send("actor", "approve");
    assert.equal(await ada.code("actor", "SubscribeToTask", { id }), -32004);
  });

  // keeps: a2a-7.6.1-continues
  it("that is received elsewhere lets the task go on without a message", async () => {
    const { id, status } = await ada.send("later", "Hello");
    assert.equal(status.state, "TASK_STATE_AUTH_REQUIRED");
    const done = await ada.until("later", id, "TASK_STATE_COMPLETED");
    assert.deepEqual(done.artifacts?.[0]?.parts, [{ text: "Done." }]);
    assert.equal(done.history?.filter(({ role }) => role === "ROLE_USER").length, 1);
  });

  // keeps: a2a-7.6.1-messages, a2a-7.6.4-state-alone, profile-rules-text-never-approves
  it("leaves messages to the task be messages: whatever they say, it waits as before", async () => {
    const { id } = await ada.send("actor", "approve");
    const parts = [
      { text: "yes" },
      { text: "APPROVED" },
      { text: '{"approved": true}' },
      { data: { approved: true } },
      { data: { [URI]: { approved: true } } },
    ];
    for (const part of parts) {
      const task = await ada
        .send("actor", "", { message: { taskId: id, parts: [part] } })
        .catch(async () => ada.task("actor", id));
      assert.equal(task.status.state, "TASK_STATE_AUTH_REQUIRED", JSON.stringify(part));
    }
    const said = (await ada.task("actor", id)).history!.filter(({ role }: Message) => role === "ROLE_USER");
    assert.ok(said.length >= 4, "they are in the history");
  });

  // keeps: a2a-7.6.4-one-only
  it("is for one thing only: the next one is asked for anew, and the old answer does not fit", async () => {
    const task = await ask("twice", "Hello");
    const first = opened(task);
    const answered = await ada.result<{ task: Task }>(
      "twice",
      "SendMessage",
      answer(task.id, { interactionId: first.interactionId, approved: true }),
      ACTIVE,
    );
    const second = opened(answered.task);
    assert.notEqual(second.interactionId, first.interactionId);
    const again = answer(task.id, { interactionId: first.interactionId, approved: true });
    assert.equal(await ada.code("twice", "SendMessage", again, ACTIVE), -32602);
    const task2 = await ada.task("twice", task.id);
    assert.equal(task2.status.state, "TASK_STATE_AUTH_REQUIRED");
  });
});

/** Runs a command of the sources to its end. @throws When it does not end well. */
async function nylorun(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const bin = join(ROOT, "packages/runtime/bin/nylorun.js");
  return (await node([bin, ...args], environment)).stdout;
}

async function node(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ stdout: string; stderr: string }> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  const [stdout, stderr, [code]] = await Promise.all([
    readText(child.stdout),
    readText(child.stderr),
    once(child, "close"),
  ]);
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}${stdout}`);
  return { stdout, stderr };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A Runtime in a process of its own, whose log is read when it has ended. */
class Logging implements AsyncDisposable {
  readonly url: string;
  readonly subject: string;
  readonly operator: string;
  readonly #child: Child;
  readonly #log: Promise<string>;

  constructor(child: Child, log: Promise<string>, said: { url: string; subject: string; operator: string }) {
    this.#child = child;
    this.#log = log;
    ({ url: this.url, subject: this.subject, operator: this.operator } = said);
  }

  static async start(): Promise<Logging> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "logging-runtime.ts")], {
      stdio: ["pipe", "pipe", "pipe"],
      timeout: 60_000,
    });
    const log = readText(child.stderr);
    for await (const line of createInterface({ input: child.stdout })) return new Logging(child, log, JSON.parse(line));
    throw new Error(`It did not start: ${await log}`);
  }

  /** All that it logged. */
  async stop(): Promise<string> {
    this.#child.stdin.end();
    return this.#log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
