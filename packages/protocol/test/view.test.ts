import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { nextShown, normalizeReport, shownPercent } from "../src/index.ts";
import type { ProgressEvent, ProgressStatus } from "../src/index.ts";

function event(status: ProgressStatus, percent = 50, task_id = "t"): ProgressEvent {
  return normalizeReport({ task_id, percent, stage: "Stage", status }, 0);
}

function shown(...statuses: readonly ProgressStatus[]): ProgressStatus | undefined {
  return statuses.map((status) => event(status)).reduce<ProgressEvent | undefined>(nextShown, undefined)?.status;
}

// keeps: progress-shown-first-end
test("the first terminal state wins until the task is started again (P8)", () => {
  assert.equal(shown("started", "running", "error", "done"), "error");
  assert.equal(shown("started", "done", "error"), "done");
  assert.equal(shown("error", "running"), "error");
  assert.equal(shown("error", "running", "paused", "done"), "error");
  assert.equal(shown("error", "started"), "started");
  assert.equal(shown("error", "started", "running", "done"), "done");
  assert.equal(shown("paused", "running"), "running");
  assert.equal(shown("running"), "running");
});

test("until a task ends its last event is what is shown, whatever came before (P3)", () => {
  const statuses = fc.array(fc.constantFrom<ProgressStatus>("started", "running", "paused", "done", "error"), {
    minLength: 1,
  });
  fc.assert(
    fc.property(statuses, (given) => {
      // The table in view.ts, said another way: from the last `started` on, up to the first end.
      const since = given.slice(Math.max(0, given.lastIndexOf("started")));
      const end = since.findIndex((status) => status === "done" || status === "error");
      assert.equal(shown(...given), end === -1 ? since.at(-1) : since[end]);
    }),
  );
});

// keeps: progress-shown-floored
test("the number on the bar is floored below done, and 100 when done (P2)", () => {
  for (const [status, percent, number] of [
    ["running", 99.6, 99],
    ["running", 100, 100],
    ["running", 107, 100],
    ["running", -3, 0],
    ["paused", 33.4, 33],
    ["error", 99.9, 99],
    ["done", 7, 100],
    ["done", NaN, 100],
    ["running", NaN, undefined],
    ["running", Infinity, undefined],
  ] as const) {
    assert.equal(shownPercent({ status, percent }), number, `${status} ${percent}`);
  }
  assert.ok(Object.is(shownPercent({ status: "running", percent: -0 }), 0));
});

// keeps: progress-shown-ids
test("tasks with the ids `constructor`, `__proto__`-like and `10` are tasks like any other (P25)", () => {
  const ids = ["b", "constructor", "10", "2", "toString", "a"];
  const views = new Map<string, ProgressEvent>();
  for (const status of ["started", "error", "done"] as const) {
    for (const id of ids) views.set(id, nextShown(views.get(id), event(status, 50, id)));
  }
  assert.deepEqual([...views.keys()], ids);
  assert.deepEqual(new Set([...views.values()].map(({ status }) => status)), new Set(["error"]));
});
