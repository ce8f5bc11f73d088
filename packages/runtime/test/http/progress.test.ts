/** Progress over HTTP: reports, the latest records, the stream of events, and every task of the Runtime in all of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { refuse } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";
import { nextShown } from "@nylorun/protocol";
import type { ProgressEvent, Task } from "@nylorun/protocol";

import { BASE, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

const REPORT = { task_id: "ci:build", percent: 42, stage: "Compiling", status: "running" };

async function report(served: Served, fields: object = {}, as = "ada"): Promise<any> {
  const response = await post(served, JSON.stringify({ ...REPORT, ...fields }), { authorization: `Bearer ${as}` });
  assert.equal(response.status, 200);
  return response.json();
}

async function post(served: Served, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return served.app.fetch(
    new Request(`${BASE}/v1/progress`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer ada", ...headers },
      body,
    }),
  );
}

async function latest(served: Served, { as = "ada", query = "" } = {}): Promise<any[]> {
  const response = await served.get(`/v1/progress${query}`, { authorization: `Bearer ${as}` });
  assert.equal(response.status, 200);
  return ((await response.json()) as { tasks: any[] }).tasks;
}

interface Heard {
  readonly id: string;
  readonly event: ProgressEvent & { readonly subject?: string };
}

/** A reader of the stream of events. */
class Listener implements AsyncDisposable {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.getReader();
  }

  static async open(
    served: Served,
    { as = "ada", query = "", after }: { as?: string; query?: string; after?: string } = {},
  ): Promise<Listener> {
    const response = await served.get(`/v1/progress/events${query}`, {
      authorization: `Bearer ${as}`,
      ...(after !== undefined && { "last-event-id": after }),
    });
    assert.equal(response.status, 200);
    return new Listener(response);
  }

  /** The next so many events. @throws When the stream ends, or nothing comes for 5 s. */
  async next(count = 1): Promise<Heard[]> {
    const heard: Heard[] = [];
    while (heard.length < count) {
      const end = this.#text.indexOf("\n\n");
      if (end === -1) {
        const { value, done } = await Promise.race([
          this.#reader.read(),
          delay(5_000, undefined, { ref: false }).then(() => assert.fail(`nothing comes after ${heard.length} events`)),
        ]);
        assert.equal(done, false);
        this.#text += this.#decoder.decode(value, { stream: true });
        continue;
      }
      const fields = new Map(
        this.#text
          .slice(0, end)
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()] as const),
      );
      this.#text = this.#text.slice(end + 2);
      if (fields.has("data") && !fields.has("event"))
        heard.push({ id: fields.get("id")!, event: JSON.parse(fields.get("data")!) });
    }
    return heard;
  }

  /** Whether the stream is at its end. */
  async ended(): Promise<boolean> {
    for (let read = await this.#reader.read(); ; read = await this.#reader.read()) if (read.done) return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

const brief = (heard: readonly Heard[]): string[] =>
  heard.map(({ event }) => `${event.task_id} ${event.status} ${event.percent}`);

describe("POST /v1/progress", () => {
  // keeps: progress-http-report
  it("takes a report in by the rules of every way in, and answers with the event", async () => {
    await using served = await serve();
    const before = Date.now();
    const event = await report(served, {
      percent: 107,
      message: "\u001b[31mred\u001b[0m",
      timestamp: "1999-01-01T00:00:00Z",
    });
    const { timestamp, seq, ...rest } = event;
    assert.deepEqual(rest, {
      proto: 1,
      ...REPORT,
      percent: 100,
      eta_seconds: null,
      message: "red",
      complete: true,
    });
    assert.ok(Date.parse(timestamp) >= before);
    assert.ok((await report(served, { percent: 3 })).seq > seq);
  });

  // keeps: progress-http-report
  it("refuses what is no report, and says what was expected and what came", async () => {
    await using served = await serve();
    const refused = async (body: BodyInit, headers?: Record<string, string>) => {
      const response = await post(served, body, headers);
      const { error }: any = await response.json();
      return [response.status, error.code, error.message, error.fields];
    };
    assert.deepEqual(await refused(JSON.stringify({ ...REPORT, percent: "42", status: "finished" })), [
      400,
      "report.invalid",
      'Invalid report: percent must be a finite number; it is "42"; status must be one of started, running, paused, done, error; it is "finished".',
      "percent, status",
    ]);
    assert.equal((await refused("[]"))[1], "report.invalid");
    assert.deepEqual((await refused("{")).slice(0, 2), [400, "request.notJson"]);
    assert.deepEqual((await refused(Uint8Array.of(0x22, 0xff, 0x22))).slice(0, 2), [400, "request.notJson"]);
    assert.deepEqual((await refused("{}", { "content-type": "text/plain" })).slice(0, 2), [415, "request.notJson"]);
    assert.deepEqual((await refused("{}", { authorization: "" })).slice(0, 2), [401, "request.unauthenticated"]);
    assert.deepEqual((await refused("{}", { authorization: "Bearer operator" })).slice(0, 2), [
      403,
      "request.noSubject",
    ]);
    assert.deepEqual(await latest(served), []);
  });

  it("reads no body that is too large", async () => {
    await using served = await serve({ settings: { bodyBytes: 1024 } });
    const response = await post(served, JSON.stringify({ ...REPORT, message: "x".repeat(2_000) }));
    assert.equal(response.status, 413);
  });

  it("names the methods that a path has", async () => {
    await using served = await serve();
    const put = await served.app.fetch(new Request(`${BASE}/v1/progress`, { method: "PUT" }));
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "POST, GET, HEAD");
  });
});

describe("GET /v1/progress", () => {
  // keeps: progress-http-latest, progress-http-scoped, progress-shown-latest
  it("shows a subject the latest record of each of its own tasks, the newest first (I7)", async () => {
    await using served = await serve();
    await report(served, { task_id: "10", percent: 1 });
    await report(served, { task_id: "constructor", percent: 2 });
    await report(served, { task_id: "10", percent: 3, status: "done" });
    await report(served, { task_id: "10", percent: 66 }, "bob");
    const tasks = await latest(served);
    assert.deepEqual(
      tasks.map(({ task_id, percent, complete, subject }) => [task_id, percent, complete, subject]),
      [
        ["10", 3, true, undefined],
        ["constructor", 2, false, undefined],
      ],
    );
    for (const task of tasks) assert.equal(task.updated_at, task.timestamp);
    assert.deepEqual(await latest(served, { as: "eve" }), []);
    assert.deepEqual(await latest(served, { as: "eve", query: "?task=10" }), []);
    assert.equal((await latest(served, { query: "?task=constructor" }))[0].percent, 2);
    assert.equal((await latest(served, { query: "?limit=1" })).length, 1);
  });

  // keeps: progress-http-scoped
  it("shows an operator everybody's, and whose each is", async () => {
    await using served = await serve();
    await report(served, { task_id: "x" }, "ada");
    await report(served, { task_id: "x" }, "bob");
    const tasks = await latest(served, { as: "operator" });
    assert.deepEqual(
      tasks.map(({ task_id, subject }) => [task_id, subject]),
      [
        ["x", "bob"],
        ["x", "ada"],
      ],
    );
  });

  it("refuses strangers, and limits that are none", async () => {
    await using served = await serve();
    for (const path of ["/v1/progress", "/v1/progress/events"]) assert.equal((await served.get(path)).status, 401);
    for (const limit of ["0", "1001", "-1", "x", ""]) {
      const response = await served.get(`/v1/progress?limit=${limit}`, { authorization: "Bearer ada" });
      assert.equal(response.status, 400);
    }
  });
});

describe("GET /v1/progress/events", () => {
  it("sends what is known, then each event as it comes, to whom it is open", async () => {
    await using served = await serve();
    await report(served, { percent: 1 });
    await using listener = await Listener.open(served);
    await using one = await Listener.open(served, { query: "?task=ci:test" });
    await using operator = await Listener.open(served, { as: "operator" });
    assert.equal(listener.response.headers.get("content-type"), "text/event-stream");
    assert.equal(listener.response.headers.get("cache-control"), "no-store");
    assert.deepEqual(brief(await listener.next()), ["ci:build running 1"]);
    await report(served, { percent: 66 }, "bob");
    await report(served, { percent: 2 });
    await report(served, { task_id: "ci:test", percent: 3 });
    assert.deepEqual(brief(await listener.next(2)), ["ci:build running 2", "ci:test running 3"]);
    assert.deepEqual(brief(await one.next()), ["ci:test running 3"]);
    const all = await operator.next(4);
    assert.deepEqual(
      all.map(({ event }) => event.subject),
      ["ada", "bob", "ada", "ada"],
    );
  });

  // keeps: progress-http-stream
  it("goes on where a client left off, and sends everything after an id it does not know", async () => {
    await using served = await serve();
    await using first = await Listener.open(served);
    for (const percent of [1, 2]) await report(served, { percent });
    const [, second] = await first.next(2);
    for (const [task_id, percent] of [
      ["ci:build", 3],
      ["ci:test", 4],
      ["ci:build", 5],
    ] as const) {
      await report(served, { task_id, percent });
    }
    const open = async (after: string) => {
      await using again = await Listener.open(served, { after });
      return brief(await again.next(2));
    };
    const latestOfEach = ["ci:test running 4", "ci:build running 5"];
    assert.deepEqual(await open(second!.id), latestOfEach);
    const { id } = (await first.next(3)).at(-1)!;
    await using upToDate = await Listener.open(served, { after: id });
    await report(served, { percent: 6 });
    assert.deepEqual(brief(await upToDate.next()), ["ci:build running 6"]);
    for (const unknown of [
      "",
      "7",
      "-",
      "0123456789ab-3",
      `${id.split("-")[0]}-99999`,
      `${id.split("-")[0]}-x`,
      id.slice(1),
    ]) {
      assert.deepEqual(await open(unknown), ["ci:test running 4", "ci:build running 6"], unknown);
    }
  });

  it("shows a task that was opened again to a client that was away meanwhile (P8)", async () => {
    await using served = await serve();
    await using listener = await Listener.open(served);
    await report(served, { status: "error", message: "Failed" });
    const [seen] = await listener.next();
    for (const status of ["started", "running"]) await report(served, { status, percent: 7 });
    await using again = await Listener.open(served, { after: seen!.id });
    const missed = await again.next(2);
    assert.deepEqual(brief(missed), ["ci:build started 7", "ci:build running 7"]);
    const shown = missed.reduce((before, { event }) => nextShown(before, event), seen!.event as ProgressEvent);
    assert.equal(shown.status, "running");
  });

  // keeps: progress-http-slow
  it("passes over what is outdated for a client that reads slowly, and never over the latest (P3)", async () => {
    await using served = await serve();
    await using slow = await Listener.open(served);
    const message = "x".repeat(280);
    for (let index = 0; index <= 2_000; index++) {
      await report(served, { task_id: `ci:${index % 3}`, percent: index / 20, message });
    }
    const heard: Heard[] = [];
    const last = new Map<string, number>();
    while (last.size < 3 || [...last.values()].some((percent) => percent < 99.9)) {
      const [one] = await slow.next();
      heard.push(one!);
      last.set(one!.event.task_id, one!.event.percent);
    }
    assert.ok(heard.length < 1_000, `${heard.length} events`);
    assert.deepEqual(
      [...last.values()].toSorted((one, other) => one - other),
      [99.9, 99.95, 100],
    );
  });

  it("ends when the Runtime stops, and holds nothing for a client that is gone or never reads", async () => {
    await using served = await serve();
    const { hub } = served.core.progress;
    await using listener = await Listener.open(served);
    const gone = await Listener.open(served);
    await gone[Symbol.asyncDispose]();
    const head = await served.app.fetch(
      new Request(`${BASE}/v1/progress/events`, { method: "HEAD", headers: { authorization: "Bearer ada" } }),
    );
    assert.equal(head.status, 200);
    assert.equal(head.headers.get("content-type"), "text/event-stream");
    assert.equal(hub.listeners, 1);
    served.stop();
    assert.equal(await listener.ended(), true);
    assert.equal(hub.listeners, 0);
    await using late = await Listener.open(served);
    assert.equal(await late.ended(), true);
  });
});

describe("The tasks of the Runtime", () => {
  const planner: Agent = makeAgent("planner", async (turn) => {
    const plan = turn.plan(["Find", "Ask", "Do"]);
    plan.start(0);
    await turn.effect("find", () => "found");
    plan.start(1);
    if (!(await turn.approve({ prompt: "Do it?" }))) refuse("Not wanted.");
    plan.start(2);
    turn.progress({ percent: 90, stage: "Doing it", etaSeconds: 5 });
    await turn.effect("do", () => delay(400));
    if (turn.text === "fail") throw new Error("secret details");
    return "Done.";
  });

  const answer = (task: Task, approved: boolean) => {
    const uri = "https://docs.nylorun.com/a2a/interactions/v1";
    const metadata = task.status.message!.metadata![uri] as { interactionId: string };
    return {
      taskId: task.id,
      metadata: { [uri]: { interactionId: metadata.interactionId, approved } },
      extensions: [uri],
    };
  };
  const activate = { headers: { "a2a-extensions": "https://docs.nylorun.com/a2a/interactions/v1" } };

  it("are progress of their subject, from their plan to their end, beside what it reports", async () => {
    await using served = await serve({ agents: [planner] });
    await using listener = await Listener.open(served);
    await report(served);
    const task = await served.send({ parts: [{ text: "go" }] }, { agent: "planner", ...activate });
    assert.equal(task.status.state, "TASK_STATE_AUTH_REQUIRED");
    const id = `planner:${task.id}`.slice(0, 128);
    const shown = new Map<string, ProgressEvent>();
    const until = async (status: string, stage: string) => {
      while (shown.get(id)?.status !== status || shown.get(id)?.stage !== stage) {
        for (const { event } of await listener.next())
          shown.set(event.task_id, nextShown(shown.get(event.task_id), event));
      }
      return shown.get(id)!;
    };
    const paused = await until("paused", "Ask");
    assert.equal(paused.stage, "Ask");
    assert.equal(Math.floor(paused.percent), 33);
    assert.equal(paused.agent, "planner");
    assert.equal(paused.eta_seconds, null);
    const done = served.send(answer(task, true), { agent: "planner", ...activate });
    const running = await until("running", "Doing it");
    assert.deepEqual([running.percent, running.stage, running.eta_seconds], [90, "Doing it", 5]);
    const ended = await until("done", "Completed");
    assert.deepEqual([ended.percent, ended.stage, ended.eta_seconds], [100, "Completed", null]);
    await done;
    assert.deepEqual(
      (await latest(served)).map(({ task_id, complete }) => [task_id, complete]),
      [
        [id, true],
        ["ci:build", false],
      ],
    );
    assert.deepEqual(await latest(served, { as: "bob" }), []);
  });

  // keeps: progress-a2a-message
  it("end as errors when they fail, are refused or cancelled, with words that are safe (I10)", async () => {
    await using served = await serve({ agents: [planner] });
    const end = async (act: (task: Task) => Promise<unknown>, text = "go"): Promise<any> => {
      const task = await served.send({ parts: [{ text }] }, { agent: "planner", ...activate });
      await act(task);
      for (const deadline = Date.now() + 20_000; Date.now() < deadline; await delay(10)) {
        const [found] = await latest(served, { query: `?task=planner:${task.id}` });
        if (found?.status === "error") return found;
      }
      return assert.fail("it does not end");
    };
    const refused = await end((task) => served.send(answer(task, false), { agent: "planner", ...activate }));
    assert.equal(refused.message, "Not wanted.");
    const failed = await end((task) => served.send(answer(task, true), { agent: "planner", ...activate }), "fail");
    assert.doesNotMatch(JSON.stringify(failed), /secret/);
    assert.equal(failed.complete, false);
    const canceled = await end((task) => served.result("CancelTask", { id: task.id }, { agent: "planner" }));
    assert.equal(canceled.message, "Canceled");
  });

  it("are known again after a restart, the open ones", async () => {
    await using served = await serve({ agents: [planner] });
    const task = await served.send({ parts: [{ text: "go" }] }, { agent: "planner" });
    await served.result("CancelTask", { id: (await served.send({}, { agent: "planner" })).id }, { agent: "planner" });
    // What another process would have: the same store, and a hub that has heard of nothing.
    const { ProgressFeed } = await import("../../src/node/progress.ts");
    const { store, signal, taskIds } = served.core;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    await using feed = new ProgressFeed({ store, signal, taskIds, agents: [planner], sink: undefined, log });
    const known = () => feed.hub.latest({}, 10).map(({ subject, event }) => [subject, event.task_id, event.status]);
    const open = ["ada", `planner:${task.id}`.slice(0, 128), "paused"];
    await feed.recall("bob");
    assert.deepEqual(known(), []);
    await feed.recall("ada");
    assert.deepEqual(known(), [open]);
    const other = await served.send({ parts: [{ text: "go" }] }, { agent: "planner", as: "bob" });
    await using another = new ProgressFeed({ store, signal, taskIds, agents: [planner], sink: undefined, log });
    await another.recall(undefined);
    assert.deepEqual(
      another.hub.latest({}, 10).map(({ subject, event }) => [subject, event.task_id, event.status]),
      [["bob", `planner:${other.id}`.slice(0, 128), "paused"], open],
    );
  });

  it("are known again, the last thousand of a subject, and what it was told of since is not let go for them", async () => {
    await using served = await serve({ agents: [planner], settings: { subjectRequestsPerSecond: 100_000 } });
    const { store, signal, taskIds } = served.core;
    const accept = (contextId: string) =>
      store.accept({
        key: { subject: "ada", agent: "planner", contextId, messageId: contextId },
        contentHash: "",
        message: { messageId: contextId, parts: [{ text: "go" }] },
        agentVersion: "1.0.0",
        traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-00`,
        whenBusy: "queue",
        queueDepth: 1,
        dedupeMs: 0,
        claim: { leaseMs: 600_000 },
      });
    // Claimed, and never run: all of them are open.
    const ids: string[] = [];
    for (let from = 0; from < 1_100; from += 100) {
      const some = await Promise.all(Array.from({ length: 100 }, (_, index) => accept(`c-${from + index}`)));
      for (const one of some) if (one.kind === "accepted") ids.push(`planner:${taskIds.encode(one.turn)}`);
      await delay(2);
    }
    assert.equal(ids.length, 1_100);
    const { ProgressFeed } = await import("../../src/node/progress.ts");
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const parts = { store, signal, taskIds, agents: [planner], sink: undefined, log };
    await using feed = new ProgressFeed(parts);
    await feed.report("ada", REPORT);
    await feed.recall("ada");
    const known = () => feed.hub.latest({ subject: "ada" }, 2_000).map(({ event }) => event.task_id);
    assert.equal(known().length, 1_000);
    assert.ok(known().includes("ci:build"));
    const oldest = new Set(ids.slice(0, 100));
    assert.deepEqual(
      known().filter((id) => oldest.has(id)),
      [],
      "those that changed last are known",
    );
    await using all = new ProgressFeed(parts);
    await all.report("ada", REPORT);
    await all.recall(undefined);
    assert.equal(all.hub.latest({}, 2_000).length, 1_000);
    assert.ok(all.hub.latest({ taskId: "ci:build" }, 1).length === 1);
  });
});

describe("What is erased", () => {
  const waits: Agent = makeAgent("waits", async (turn) => ((await turn.approve({ prompt: "Do it?" })) ? "Yes" : "No"));
  const known = async (served: Served): Promise<string[]> =>
    (await latest(served, { as: "operator" })).map(({ subject, task_id }) => `${subject} ${task_id}`).toSorted();
  /** What an operator is shown once it is that. */
  const until = async (served: Served, expected: readonly string[]): Promise<void> => {
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; await delay(10))
      if ((await known(served)).join() === expected.toSorted().join()) return;
    assert.deepEqual(await known(served), expected.toSorted());
  };

  // keeps: a2a-13.4-deletion
  it("is no progress any more, neither what was reported nor what a task has shown", async () => {
    await using served = await serve({ agents: [waits] });
    const send = async (contextId: string, as = "ada") => {
      const { id } = await served.send({ parts: [{ text: "go" }], contextId }, { agent: "waits", as });
      return `waits:${id}`;
    };
    const [one, other, third] = [await send("one"), await send("two"), await send("three")];
    const bobs = await send("one", "bob");
    await report(served);
    await report(served, {}, "bob");
    const rest = ["ada ci:build", "bob ci:build", `bob ${bobs}`];
    await until(served, [...rest, `ada ${one}`, `ada ${other}`, `ada ${third}`]);

    const { operations } = served.core;
    await operations.erase({ what: "task", taskId: one.slice("waits:".length) });
    await until(served, [...rest, `ada ${other}`, `ada ${third}`]);
    await operations.erase({ what: "context", subject: "ada", agent: "waits", contextId: "two" });
    await until(served, [...rest, `ada ${third}`]);
    await operations.erase({ what: "subject", subject: "ada" });
    await until(served, ["bob ci:build", `bob ${bobs}`]);
    assert.deepEqual(await latest(served), [], "nor for a new key of hers");
    await report(served, {}, "eve");
    await assert.rejects(operations.erase({ what: "subject", subject: "eve" }), { code: "erase.unknown" });
    assert.deepEqual(await latest(served, { as: "eve" }), []);
  });

  it("does not come back with what was read before, and told after", async () => {
    await using served = await serve({ agents: [waits] });
    const { id } = await served.send({ parts: [{ text: "go" }], contextId: "one" }, { agent: "waits" });
    const { store, signal, taskIds, operations } = served.core;
    const held = Promise.withResolvers<undefined>();
    const reads: unknown[] = [];
    // A database that answers late, as one behind a network may.
    const late = new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          const answer: any = await Reflect.apply(value, target, args);
          if (answer !== undefined && answer.turns?.length !== 0) {
            reads.push(name);
            await held.promise;
          }
          return answer;
        };
      },
    });
    const { ProgressFeed } = await import("../../src/node/progress.ts");
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const parts = { store: late, signal, taskIds, agents: [waits], sink: undefined, log };
    await using feeds = new AsyncDisposableStack();
    const [ofAda, ofAll, ofTurn] = [1, 2, 3].map(() => feeds.use(new ProgressFeed(parts))) as [any, any, any];
    const recalls = [ofAda.recall("ada"), ofAll.recall(undefined)];
    signal.turnChanged(taskIds.decode(id)!);
    for (const deadline = Date.now() + 20_000; reads.length < 5 && Date.now() < deadline;) await delay(5);
    assert.ok(reads.length >= 5, `read: ${reads.join()}`);
    await operations.erase({ what: "subject", subject: "ada" });
    held.resolve(undefined);
    await Promise.all(recalls);
    await feeds.disposeAsync();
    for (const feed of [ofAda, ofAll, ofTurn]) assert.deepEqual(feed.hub.latest({}, 10), []);
  });
});
