import assert from "node:assert/strict";
import { test } from "node:test";

import { isInterrupted, isTerminal, TASK_STATES, taskStateOf } from "../src/index.ts";
import type { TaskState, TurnState, WaitKind } from "../src/index.ts";

const TABLE: readonly [TurnState, WaitKind | undefined, TaskState][] = [
  ["queued", undefined, "TASK_STATE_SUBMITTED"],
  ["running", undefined, "TASK_STATE_WORKING"],
  ["waiting", "question", "TASK_STATE_INPUT_REQUIRED"],
  ["waiting", "approval", "TASK_STATE_AUTH_REQUIRED"],
  ["waiting", "connection", "TASK_STATE_AUTH_REQUIRED"],
  ["waiting", "sleep", "TASK_STATE_WORKING"],
  ["waiting", undefined, "TASK_STATE_WORKING"],
  ["uncertain", undefined, "TASK_STATE_WORKING"],
  ["held", undefined, "TASK_STATE_WORKING"],
  ["completed", undefined, "TASK_STATE_COMPLETED"],
  ["failed", undefined, "TASK_STATE_FAILED"],
  ["rejected", undefined, "TASK_STATE_REJECTED"],
  ["canceled", undefined, "TASK_STATE_CANCELED"],
];

test("each turn state shows the task state of the table", () => {
  for (const [turn, waitsFor, task] of TABLE) assert.equal(taskStateOf(turn, waitsFor), task, `${turn} ${waitsFor}`);
});

test("what a turn that does not wait would wait for changes nothing", () => {
  for (const [turn] of TABLE) {
    if (turn === "waiting") continue;
    for (const kind of ["question", "approval", "connection", "sleep"] as const) {
      assert.equal(taskStateOf(turn, kind), taskStateOf(turn));
    }
  }
});

test("a task state is terminal, interrupted or neither, as A2A 1.0 section 4.1.3 says", () => {
  const kinds = TASK_STATES.map((state) => [state, isTerminal(state), isInterrupted(state)]);
  assert.deepEqual(kinds, [
    ["TASK_STATE_SUBMITTED", false, false],
    ["TASK_STATE_WORKING", false, false],
    ["TASK_STATE_COMPLETED", true, false],
    ["TASK_STATE_FAILED", true, false],
    ["TASK_STATE_CANCELED", true, false],
    ["TASK_STATE_INPUT_REQUIRED", false, true],
    ["TASK_STATE_REJECTED", true, false],
    ["TASK_STATE_AUTH_REQUIRED", false, true],
  ]);
});
