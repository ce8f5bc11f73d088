/** A2A 1.0, section 3.1.4, over HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Task } from "@nylorun/protocol";

import { actor } from "./agents.ts";
import { AT_ONCE, serve } from "./wire.ts";
import type { Served, Wire } from "./wire.ts";

describe("ListTasks", () => {
  let served: Served;
  let ada: Wire;
  const sent: Task[] = [];

  before(async () => {
    served = await serve({ agents: [actor] });
    ada = await served.as("ada");
    const bob = await served.as("bob");
    await bob.send("actor", "not Ada's", { message: { contextId: "talk" } });
    for (const text of ["one", "two", "three", "four", "five"]) {
      sent.push(
        await ada.send("actor", text, {
          message: { contextId: text === "three" ? "talk" : `of ${text}`.replace(" ", "-") },
        }),
      );
    }
    sent.push(await ada.send("actor", "ask"));
    sent.push(await ada.send("actor", "approve"));
  });
  after(() => served[Symbol.asyncDispose]());

  const pages = async (params: object): Promise<Task[]> => {
    const tasks: Task[] = [];
    let pageToken = "";
    do {
      const page = await ada.list("actor", { ...params, ...(pageToken !== "" && { pageToken }) });
      tasks.push(...page.tasks);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return tasks;
  };
  const ids = (tasks: readonly Task[]): string[] => tasks.map(({ id }) => id);

  // keeps: a2a-3.1.4-scope, a2a-13.1-scoped
  it("has the caller's tasks, and counts them, whatever it filters by", async () => {
    const { tasks, totalSize } = await ada.list("actor");
    assert.deepEqual([new Set(ids(tasks)), totalSize], [new Set(ids(sent)), sent.length]);
    const talk = await ada.list("actor", { contextId: "talk" });
    assert.deepEqual([ids(talk.tasks), talk.totalSize], [[sent[2]!.id], 1], "Bob has a task in a context of that name");
    assert.equal((await (await served.as("carol")).list("actor")).totalSize, 0);
  });

  // keeps: a2a-3.1.4-cursor, a2a-3.1.4-last-page
  it("comes in pages; the last one says so with an empty token, and no other", async () => {
    for (const pageSize of [1, 2, 3, sent.length, 100]) {
      assert.deepEqual(ids(await pages({ pageSize })), ids((await ada.list("actor")).tasks), `pages of ${pageSize}`);
    }
    const exact = await ada.list("actor", { pageSize: sent.length });
    assert.deepEqual([exact.nextPageToken, exact.pageSize], ["", sent.length]);
    const nothing = await ada.list("actor", { contextId: "nothing" });
    assert.deepEqual(nothing, { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  // keeps: a2a-3.1.4-cursor, profile-list-stable
  it("neither leaves out nor repeats a task that stays as it is while others come", async () => {
    const first = await ada.list("actor", { pageSize: 3 });
    await ada.send("actor", "late");
    const rest = await ada.list("actor", { pageSize: 100, pageToken: first.nextPageToken });
    assert.deepEqual(ids([...first.tasks, ...rest.tasks]).toSorted(), ids(sent).toSorted());
  });

  // keeps: a2a-3.1.4-order
  it("is in the order of the status's time, the latest first, from page to page", async () => {
    const times = (await pages({ pageSize: 2 })).map(({ status }) => status.timestamp!);
    assert.deepEqual(times, times.toSorted().toReversed());
    const asking = sent[5]!;
    await ada.send("actor", "a tree", { message: { taskId: asking.id } });
    assert.equal((await ada.list("actor")).tasks[0]!.id, asking.id, "what has changed comes first");
  });

  // keeps: a2a-3.1.4-no-artifacts
  it("has no artifacts field, be it empty, unless it is asked for", async () => {
    for (const params of [{}, { includeArtifacts: false }]) {
      for (const task of (await ada.list("actor", params)).tasks) assert.ok(!("artifacts" in task));
    }
  });

  // keeps: a2a-3.1.4-artifacts
  it("has the artifacts when they are asked for", async () => {
    const { tasks } = await ada.list("actor", { includeArtifacts: true });
    const one = tasks.find(({ id }) => id === sent[0]!.id)!;
    assert.deepEqual(one.artifacts, sent[0]!.artifacts);
  });

  // keeps: a2a-3.1.4-filters
  it("filters by context, state and time, the very moment included", async () => {
    const { id } = await ada.send("actor", "run", { configuration: AT_ONCE });
    await ada.until("actor", id, "TASK_STATE_WORKING");
    assert.deepEqual(ids((await ada.list("actor", { status: "TASK_STATE_WORKING" })).tasks), [id]);
    const [of] = sent.slice(6);
    assert.deepEqual(ids((await ada.list("actor", { status: "TASK_STATE_AUTH_REQUIRED" })).tasks), [of!.id]);
    const { tasks } = await ada.list("actor");
    const middle = tasks[2]!.status.timestamp!;
    const since = await ada.list("actor", { statusTimestampAfter: middle });
    assert.deepEqual(ids(since.tasks), ids(tasks.filter(({ status }) => status.timestamp! >= middle)));
    assert.ok(ids(since.tasks).includes(tasks[2]!.id));
    await ada.result("actor", "CancelTask", { id });
  });

  // keeps: a2a-3.1.4-page-size
  it("takes pages of 1 to 100, and 50 when it is not said", async () => {
    assert.equal((await ada.list("actor")).pageSize, 50);
    for (const pageSize of [1, 100]) assert.equal((await ada.list("actor", { pageSize })).pageSize, pageSize);
    for (const pageSize of [-1, 101, 1.5, "many", 2 ** 40]) {
      assert.equal(await ada.code("actor", "ListTasks", { pageSize }), -32602, String(pageSize));
    }
  });
});
