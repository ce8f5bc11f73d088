import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { refuse } from "@nylorun/agents";
import { TASK_STATES } from "@nylorun/protocol";
import type { ListTasksResponse, Task, TaskState } from "@nylorun/protocol";

import { echo, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

/** Ends, or stops, as its text says. */
const moody = makeAgent("moody", async (turn) => {
  switch (turn.text) {
    case "fail":
      throw new Error("As told.");
    case "refuse":
      return refuse("As told.");
    case "ask":
      return turn.ask({ prompt: "What?" });
    case "approve":
      return turn.approve({ prompt: "May I?" });
    case "sleep":
      return turn.sleep(3_600_000);
    case "run":
      return new Promise<string>((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
    default:
      return turn.text;
  }
});

const moods = ["end", "fail", "refuse", "ask", "approve", "sleep", "run"] as const;
const now = { configuration: { returnImmediately: true } };
const idsOf = ({ tasks }: ListTasksResponse) => tasks.map(({ id }) => id);

/** All pages, one after another; `between` runs after each. */
async function pages(served: Served, params: object, between?: () => Promise<unknown>): Promise<Task[]> {
  const tasks: Task[] = [];
  let pageToken: string | undefined;
  for (let page = 0; page < 100; page++) {
    const answer = await served.list({ ...params, ...(pageToken !== undefined && { pageToken }) });
    tasks.push(...answer.tasks);
    if (answer.nextPageToken === "") return tasks;
    pageToken = answer.nextPageToken;
    await between?.();
  }
  return assert.fail("the pages do not end");
}

describe("ListTasks", async () => {
  const served = await serve({ agents: [echo, moody] });
  after(() => served[Symbol.asyncDispose]());
  const list = (params: object = {}) => served.list(params, { agent: "moody" });
  const tasks = new Map<string, Task>();

  before(async () => {
    for (const mood of moods) {
      const state = mood === "ask" || mood === "approve" || mood === "end" || mood === "fail" || mood === "refuse";
      tasks.set(mood, await served.send({ parts: [{ text: mood }] }, { agent: "moody", ...(!state && now) }));
    }
    const { contextId } = tasks.get("run")!;
    const queue = { contextId: contextId!, parts: [{ text: "end" }] };
    tasks.set("queued", await served.send(queue, { agent: "moody", ...now }));
    const canceled = await served.send(queue, { agent: "moody", ...now });
    tasks.set("canceled", await served.result("CancelTask", { id: canceled.id }, { agent: "moody" }));
  });

  it("has every task of the caller with this agent, latest status change first, then by id", async () => {
    const answer = await list();
    assert.equal(answer.totalSize, tasks.size);
    assert.equal(answer.pageSize, 50);
    assert.equal(answer.nextPageToken, "");
    assert.deepEqual(new Set(idsOf(answer)), new Set([...tasks.values()].map(({ id }) => id)));
    const times = answer.tasks.map(({ status }) => Date.parse(status.timestamp!));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
    assert.deepEqual(await list(), answer, "in the same order each time");
  });

  it("has four fields, whatever there is to tell (A2A 3.1.4)", async () => {
    assert.deepEqual(await served.list({}, { as: "nobody" }), {
      tasks: [],
      nextPageToken: "",
      pageSize: 50,
      totalSize: 0,
    });
  });

  it("filters by the state that the task shows: each state has its own, and all of them together are all", async () => {
    const expected: Record<TaskState, readonly string[]> = {
      TASK_STATE_SUBMITTED: ["queued"],
      TASK_STATE_WORKING: ["run", "sleep"],
      TASK_STATE_COMPLETED: ["end"],
      TASK_STATE_FAILED: ["fail"],
      TASK_STATE_CANCELED: ["canceled"],
      TASK_STATE_INPUT_REQUIRED: ["ask"],
      TASK_STATE_REJECTED: ["refuse"],
      TASK_STATE_AUTH_REQUIRED: ["approve"],
    };
    for (const status of TASK_STATES) {
      const answer = await list({ status });
      assert.deepEqual(
        idsOf(answer),
        expected[status].map((mood) => tasks.get(mood)!.id),
        status,
      );
      assert.equal(answer.totalSize, expected[status].length, status);
      for (const task of answer.tasks) assert.equal(task.status.state, status);
    }
    const unspecified = await list({ status: "TASK_STATE_UNSPECIFIED" });
    assert.equal(unspecified.totalSize, tasks.size);
  });

  // keeps: profile-serves-list
  it("filters by context, and by both", async () => {
    const { contextId } = tasks.get("run")!;
    assert.equal((await list({ contextId })).totalSize, 3);
    assert.deepEqual(idsOf(await list({ contextId, status: "TASK_STATE_SUBMITTED" })), [tasks.get("queued")!.id]);
    assert.equal((await list({ contextId: "elsewhere" })).totalSize, 0);
  });

  it("takes a task whose status changed at statusTimestampAfter exactly, and none from before (A20)", async () => {
    const all = (await list()).tasks;
    for (const [index, { status }] of all.entries()) {
      const from = Date.parse(status.timestamp!);
      const expected = all.filter((task) => Date.parse(task.status.timestamp!) >= from);
      const answer = await list({ statusTimestampAfter: status.timestamp });
      assert.deepEqual(
        idsOf(answer),
        expected.map(({ id }) => id),
        String(index),
      );
      assert.equal(answer.totalSize, expected.length);
    }
    assert.equal((await list({ statusTimestampAfter: "2999-01-01T00:00:00Z" })).totalSize, 0);
  });

  // keeps: profile-list-total
  it("counts and shows the tasks of one subject with one agent alone (A21, I7)", async () => {
    const bobs = await served.send({}, { as: "bob", agent: "moody" });
    const answer = await served.list({}, { as: "bob", agent: "moody" });
    assert.deepEqual([idsOf(answer), answer.totalSize], [[bobs.id], 1]);
    assert.equal((await list()).totalSize, tasks.size);
    assert.equal((await served.list({}, { as: "ada", agent: "echo" })).totalSize, 0);
    const { contextId } = tasks.get("run")!;
    assert.equal((await served.list({ contextId }, { as: "bob", agent: "moody" })).totalSize, 0);
  });

  it("leaves artifacts out unless they are asked for, and history as asked for", async () => {
    const [bare] = (await list({ status: "TASK_STATE_COMPLETED" })).tasks;
    assert.equal(bare?.artifacts, undefined);
    assert.equal(bare?.history?.length, 1);
    const [whole] = (await list({ status: "TASK_STATE_COMPLETED", includeArtifacts: true, historyLength: 0 })).tasks;
    assert.deepEqual(whole?.artifacts?.[0]?.parts, [{ text: "end" }]);
    assert.equal(whole.history, undefined);
  });

  it("takes pages of 1 to 100, and says how large they are", async () => {
    for (const pageSize of [1, 3, 100]) assert.equal((await list({ pageSize })).pageSize, pageSize);
    for (const pageSize of [0, -1, 101, 1.5]) {
      const { body } = await served.call("ListTasks", { pageSize });
      assert.equal(body.error?.code, -32602, String(pageSize));
    }
  });
});

describe("the pages of ListTasks", async () => {
  const served = await serve({ agents: [echo, moody] });
  after(() => served[Symbol.asyncDispose]());
  const count = 23;

  before(async () => {
    // At once, so that many change in the same millisecond: then the id decides.
    await Promise.all(Array.from({ length: count }, () => served.send({})));
  });

  it("are the list, in pieces of any size; the last one says so, and no other", async () => {
    const whole = idsOf(await served.list({ pageSize: 100 }));
    for (const pageSize of [1, 2, 7, count - 1, count, count + 1]) {
      assert.deepEqual(
        (await pages(served, { pageSize })).map(({ id }) => id),
        whole,
        String(pageSize),
      );
    }
  });

  // keeps: profile-list-stable
  it("neither skip nor repeat a task that does not change while others do and are added (A19)", async () => {
    const waiting = await Promise.all(
      Array.from({ length: 20 }, () => served.send({ parts: [{ text: "ask" }] }, { agent: "moody" })),
    );
    const still = waiting.filter((_, index) => index % 2 === 0);
    const moving = waiting.filter((_, index) => index % 2 === 1);
    const other = { agent: "moody" };
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const answer: ListTasksResponse = await served.list({ pageSize: 3, ...(pageToken && { pageToken }) }, other);
      seen.push(...idsOf(answer));
      pageToken = answer.nextPageToken;
      const next = moving.pop();
      if (next) await served.result("CancelTask", { id: next.id }, other);
      await served.send({}, other);
    } while (pageToken !== "");
    for (const { id } of still) assert.equal(seen.filter((each) => each === id).length, 1);
  });

  it("go on after the task that a page ended with has changed", async () => {
    const other = { agent: "moody", as: "carol" };
    const all = [];
    for (let index = 0; index < 4; index++) all.push(await served.send({ parts: [{ text: "ask" }] }, other));
    const first = await served.list({ pageSize: 2 }, other);
    await served.result("CancelTask", { id: first.tasks[1]!.id }, other);
    const second = await served.list({ pageSize: 2, pageToken: first.nextPageToken }, other);
    assert.deepEqual(new Set([...idsOf(first), ...idsOf(second)]), new Set(all.map(({ id }) => id)));
  });

  // keeps: profile-list-token
  it("have tokens that hold for this list alone: any other query or caller is -32602 on pageToken", async () => {
    const { nextPageToken: pageToken } = await served.list({ pageSize: 2 });
    const refused = async (params: object, options: object = {}) => {
      const { body } = await served.call("ListTasks", params, options);
      const bad = body.error?.data?.[1] as { fieldViolations: { field: string }[] } | undefined;
      return [body.error?.code, bad?.fieldViolations[0]?.field];
    };
    const no = [-32602, "pageToken"];
    assert.deepEqual(await refused({ pageToken, contextId: "talk" }), no);
    assert.deepEqual(await refused({ pageToken, status: "TASK_STATE_COMPLETED" }), no);
    assert.deepEqual(await refused({ pageToken, statusTimestampAfter: "2020-01-01T00:00:00Z" }), no);
    assert.deepEqual(await refused({ pageToken }, { as: "bob" }), no);
    assert.deepEqual(await refused({ pageToken }, { agent: "moody" }), no);
    const { body } = await served.call("ListTasks", {
      pageToken,
      pageSize: 5,
      includeArtifacts: true,
      historyLength: 0,
    });
    assert.equal(body.error, undefined, "what is no filter may change between pages");
  });

  it("have tokens that nobody can read or make up", async () => {
    const { nextPageToken } = await served.list({ pageSize: 2 });
    assert.match(nextPageToken, /^[A-Za-z0-9_-]{59}$/);
    assert.notEqual((await served.list({ pageSize: 2 })).nextPageToken, nextPageToken);
    const forged = [
      "x",
      nextPageToken.slice(1),
      `${nextPageToken}A`,
      "A".repeat(59),
      (await served.list()).tasks[0]!.id,
    ];
    for (let index = 0; index < nextPageToken.length - 1; index++) {
      const other = nextPageToken[index] === "A" ? "B" : "A";
      forged.push(nextPageToken.slice(0, index) + other + nextPageToken.slice(index + 1));
    }
    for (const pageToken of forged) {
      const { body } = await served.call("ListTasks", { pageToken });
      assert.equal(body.error?.code, -32602, pageToken);
    }
  });

  it("have tokens that outlive the process", async () => {
    // The routes anew, on the same store.
    const { nextPageToken: pageToken } = await served.list({ pageSize: 20 });
    await using again = await serve({ instead: () => ({ engine: served.core.engine, store: served.core.store }) });
    assert.equal((await again.list({ pageSize: 20, pageToken })).tasks.length, count - 20);
  });
});
