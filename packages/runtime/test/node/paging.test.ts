/** What a client that pages through ListTasks sees while others change, add and delete: over HTTP, of a Runtime on a real disk. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { ListTasksResponse, Task } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";
import * as fc from "fast-check";

import type { Operations } from "../../src/http/operations.ts";
import { connectControl } from "../../src/node/control-client.ts";
import { readOwner } from "../../src/node/home.ts";
import { makeAgent } from "../http/served.ts";

const moody = makeAgent("moody", async (turn) => (turn.text === "ask" ? turn.ask({ prompt: "What?" }) : turn.text));

/** Something that happens to the list. Picks are among those that it can happen to, if there are any. */
type Change =
  | { readonly do: "send"; readonly text: "end" | "ask"; readonly shared: boolean }
  | { readonly do: "cancel" | "answer" | "erase"; readonly pick: number }
  /** To the row that the last page ended with: the one that the token was made from. */
  | { readonly do: "change the last row" | "erase the last row" };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ do: fc.constant("send" as const), text: fc.constantFrom("end", "ask"), shared: fc.boolean() }),
  fc.record({ do: fc.constantFrom("cancel", "answer", "erase"), pick: fc.nat() }),
  fc.record({ do: fc.constantFrom("change the last row", "erase the last row") }),
);

const plans = fc.record({
  first: fc.array(fc.record({ text: fc.constantFrom("end" as const, "ask" as const), shared: fc.boolean() }), {
    minLength: 1,
    maxLength: 16,
  }),
  pageSize: fc.integer({ min: 1, max: 5 }),
  filter: fc.constantFrom("none", "context", "ended", "asking", "since"),
  /** What happens before each page is asked for, and while it is. */
  steps: fc.array(
    fc.record({ before: fc.array(change, { maxLength: 2 }), meanwhile: fc.array(change, { maxLength: 3 }) }),
    { maxLength: 10 },
  ),
});

type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never;

interface Row {
  readonly id: string;
  readonly contextId: string;
  readonly since: number;
  state: string;
  touched: boolean;
}

class Subject {
  readonly #url: string;
  readonly #key: string;
  readonly #operations: Operations;
  readonly rows = new Map<string, Row>();
  readonly #shared = `shared-${randomUUID()}`;

  constructor(url: string, key: string, operations: Operations) {
    this.#url = url;
    this.#key = key;
    this.#operations = operations;
  }

  async #call<Result>(method: string, params: object): Promise<Result> {
    const response = await fetch(`${this.#url}/v1/a2a/agents/moody/`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(30_000),
    });
    const { result, error } = (await response.json()) as { result?: Result; error?: unknown };
    if (result === undefined) throw new Error(`${method} was answered ${JSON.stringify(error)}`);
    return result;
  }

  list(params: object): Promise<ListTasksResponse> {
    return this.#call("ListTasks", params);
  }

  /** @param shared In the one context that is filtered by. What asks would keep that context from going on. */
  async send({ text, shared }: { readonly text: "end" | "ask"; readonly shared: boolean }): Promise<void> {
    const place = shared && text === "end" ? { contextId: this.#shared } : {};
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...place };
    const { task } = await this.#call<{ task: Task }>("SendMessage", { message });
    const { state, timestamp } = task.status;
    this.rows.set(task.id, {
      id: task.id,
      contextId: task.contextId!,
      since: Date.parse(timestamp!),
      state,
      touched: false,
    });
  }

  async cancel(row: Row): Promise<void> {
    row.touched = true;
    row.state = (await this.#call<Task>("CancelTask", { id: row.id })).status.state;
  }

  async answer(row: Row): Promise<void> {
    row.touched = true;
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "42" }], taskId: row.id };
    row.state = (await this.#call<{ task: Task }>("SendMessage", { message })).task.status.state;
  }

  async erase(row: Row): Promise<void> {
    row.touched = true;
    for (let tries = 0; ; tries++) {
      try {
        await this.#operations.erase({ what: "task", taskId: row.id });
        break;
      } catch (error) {
        // What it asks is shown a moment before its run is put down.
        if ((error as { code?: string }).code !== "erase.running" || tries === 100) throw error;
        await delay(20);
      }
    }
    this.rows.delete(row.id);
  }

  paramsOf(filter: Plan["filter"]): { readonly params: object; readonly has: (row: Row) => boolean } {
    const rows = [...this.rows.values()];
    const { since } = rows[rows.length >> 1]!;
    switch (filter) {
      case "none":
        return { params: {}, has: () => true };
      case "context":
        return { params: { contextId: this.#shared }, has: ({ contextId }) => contextId === this.#shared };
      case "ended":
        return {
          params: { status: "TASK_STATE_COMPLETED" },
          has: ({ state }) => state === "TASK_STATE_COMPLETED",
        };
      case "asking":
        return {
          params: { status: "TASK_STATE_INPUT_REQUIRED" },
          has: ({ state }) => state === "TASK_STATE_INPUT_REQUIRED",
        };
      case "since":
        // Whatever changes does so later than that.
        return {
          params: { statusTimestampAfter: new Date(since).toISOString() },
          has: (row) => row.since >= since || row.touched,
        };
    }
  }
}

let runtime: Runtime;
let operations: Operations;
const folder = mkdtempSync(join(tmpdir(), "nylorun-paging-"));
before(async () => {
  runtime = await startRuntime({ agents: [moody], home: join(folder, "home"), port: 0, logLevel: "silent" });
  operations = connectControl(readOwner(runtime.home)!.control!);
});
after(async () => {
  await runtime.stop();
  rmSync(folder, { recursive: true });
});

test("a task that does not change while a client pages is neither skipped nor repeated, whatever others do; totals are right; tokens outlive the row they came from (A19, A21)", async () => {
  let subjects = 0;
  const property = fc.asyncProperty(plans, async (plan) => {
    const subject = `ada-${++subjects}`;
    const ada = new Subject(runtime.url, await runtime.addKey({ role: "subject", subject }), operations);
    for (const one of plan.first) await ada.send(one);
    await page(ada, plan);
  });
  await fc.assert(property, { numRuns: 40, plugins: [fc.interruptAfterTimeLimit(60_000)] });
  assert.ok(subjects >= 10, `only ${subjects} plans were carried out in a minute`);
});

async function page(ada: Subject, { filter, pageSize, steps }: Plan): Promise<void> {
  const { params, has } = ada.paramsOf(filter);
  const listed = () => [...ada.rows.values()].filter(has);
  const first = listed();
  const seen: Task[] = [];
  // What comes before the first page, or while it is read, is part of the list; what comes later is not.
  const early = (steps[0]?.before.length ?? 0) + (steps[0]?.meanwhile.length ?? 0);
  const most = Math.ceil((first.length + early) / pageSize) + 1;
  let pageToken: string | undefined;
  for (let at = 0; pageToken !== ""; at++) {
    assert.ok(at < most, `${at} pages of ${pageSize} for ${first.length} tasks: what is new came into them`);
    const step = steps[at];
    const last = seen.at(-1)?.id;
    for (const one of step?.before ?? []) await begin(ada, one, last)?.work();
    const were = listed().length;
    // Begun at the same moment: each may or may not have happened when the page is read.
    const meanwhile = (step?.meanwhile ?? []).flatMap((one) => begin(ada, one, last) ?? []);
    const leaves = meanwhile.filter(({ row }) => row !== undefined && has(row)).length;
    const [answer] = await Promise.all([
      ada.list({ ...params, pageSize, ...(pageToken !== undefined && { pageToken }) }),
      ...meanwhile.map(({ work }) => work()),
    ]);
    const least = were - leaves;
    const total = answer.totalSize;
    assert.ok(
      total >= least && total <= were + meanwhile.length,
      `${total} in all, where ${were} were, ${leaves} may have left and ${meanwhile.length} may have come`,
    );
    if (meanwhile.length === 0) assert.equal(total, were, "nothing happened while the page was read");
    const isLast = answer.nextPageToken === "";
    assert.ok(isLast || answer.tasks.length === pageSize, "a page that is not the last one is full");
    seen.push(...answer.tasks);
    pageToken = answer.nextPageToken;
  }
  const ids = seen.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "no task is there twice");
  const times = seen.map(({ status }) => Date.parse(status.timestamp!));
  assert.ok(
    times.every((time, index) => index === 0 || time <= times[index - 1]!),
    "latest first, over all pages",
  );
  for (const { id, touched } of first) assert.ok(touched || ids.includes(id), "a task that did not change is there");
}

/** Undefined when there is nothing that this could happen to. Picked rows are nobody else's from then on. */
function begin(
  ada: Subject,
  one: Change,
  last: string | undefined,
): { row?: Row; work: () => Promise<void> } | undefined {
  if (one.do === "send") return { work: () => ada.send(one) };
  const asks = (row: Row) => row.state === "TASK_STATE_INPUT_REQUIRED";
  const free = [...ada.rows.values()].filter(({ touched }) => !touched);
  const isLast = ({ id }: Row) => id === last;
  const [rows, pick] =
    "pick" in one ? [one.do === "erase" ? free : free.filter(asks), one.pick] : [free.filter(isLast), 0];
  const row = rows[pick % rows.length];
  if (row === undefined || (one.do === "change the last row" && !asks(row))) return undefined;
  row.touched = true;
  switch (one.do) {
    case "cancel":
    case "answer":
      return { row, work: () => ada[one.do](row) };
    case "change the last row":
      return { row, work: () => ada.cancel(row) };
    case "erase":
    case "erase the last row":
      return { row, work: () => ada.erase(row) };
  }
}
