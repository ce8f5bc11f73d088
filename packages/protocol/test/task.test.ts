import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { isProgressEvent, normalizeReport, progressOfTask, TASK_STATES } from "../src/index.ts";
import type { PlanStep, PlanStepState, TaskProgress } from "../src/index.ts";

const AT = Date.UTC(2026, 9, 14, 2);
const task = { agent: "refunds", taskId: "0aB_-9", state: "TASK_STATE_WORKING" } as const satisfies TaskProgress;

function plan(...states: readonly PlanStepState[]): readonly PlanStep[] {
  const labels = ["Find the order", "Ask for approval", "Refund", "Tell"];
  return states.map((state, index) => ({ label: labels[index] ?? "More", state }));
}

function shows(fields: Partial<TaskProgress>): readonly unknown[] {
  const { status, percent, stage, message } = progressOfTask({ ...task, ...fields }, AT);
  return [status, Math.floor(percent), stage, message];
}

test("a task is an event of its agent", () => {
  assert.deepEqual(progressOfTask({ ...task, percent: 12.5, stage: "Reading", etaSeconds: 30 }, AT), {
    proto: 1,
    task_id: "refunds:0aB_-9",
    percent: 12.5,
    eta_seconds: 30,
    stage: "Reading",
    status: "running",
    timestamp: "2026-10-14T02:00:00.000Z",
    agent: "refunds",
  });
});

// keeps: progress-a2a-status
test("each state has its status, and its own words when the agent says nothing", () => {
  for (const [state, waitsFor, expected] of [
    ["TASK_STATE_SUBMITTED", undefined, ["started", 0, "Queued", undefined]],
    ["TASK_STATE_WORKING", undefined, ["running", 0, "Working", undefined]],
    ["TASK_STATE_INPUT_REQUIRED", "question", ["paused", 0, "Waiting for an answer", undefined]],
    ["TASK_STATE_AUTH_REQUIRED", "approval", ["paused", 0, "Waiting for approval", undefined]],
    ["TASK_STATE_AUTH_REQUIRED", "connection", ["paused", 0, "Waiting for a connection", undefined]],
    ["TASK_STATE_AUTH_REQUIRED", undefined, ["paused", 0, "Waiting for authorization", undefined]],
    ["TASK_STATE_COMPLETED", undefined, ["done", 100, "Completed", undefined]],
    ["TASK_STATE_FAILED", undefined, ["error", 0, "Failed", "Failed"]],
    ["TASK_STATE_REJECTED", undefined, ["error", 0, "Rejected", "Rejected"]],
    ["TASK_STATE_CANCELED", undefined, ["error", 0, "Canceled", "Canceled"]],
  ] as const) {
    assert.deepEqual(shows({ state, ...(waitsFor && { waitsFor }) }), expected);
  }
});

// keeps: progress-a2a-percent
test("percent is the agent's own, else the finished steps of all", () => {
  assert.deepEqual(shows({ steps: plan("done", "active", "pending") }), ["running", 33, "Ask for approval", undefined]);
  assert.equal(shows({ steps: plan("done", "skipped", "failed", "active") })[1], 75);
  assert.equal(shows({ steps: plan("done", "active"), percent: 7 })[1], 7);
  assert.equal(shows({ percent: 130 })[1], 100);
  assert.ok(Object.is(progressOfTask({ ...task, percent: -0 }, AT).percent, 0));
  assert.equal(shows({ percent: NaN, steps: plan("done", "active") })[1], 50);
  // 29 of 100 is 29, not 28.999….
  assert.equal(shows({ steps: [...plan(...Array(29).fill("done")), ...plan(...Array(71).fill("pending"))] })[1], 29);
});

test("a queued task is at 0 and a completed one at 100, whatever the agent said before", () => {
  const said = { percent: 55, stage: "Reading", stepText: "Page 3", etaSeconds: 9 };
  assert.deepEqual(shows({ ...said, state: "TASK_STATE_SUBMITTED" })[1], 0);
  assert.deepEqual(shows({ ...said, state: "TASK_STATE_COMPLETED" }), ["done", 100, "Completed", undefined]);
  assert.equal(progressOfTask({ ...task, ...said, state: "TASK_STATE_COMPLETED" }, AT).eta_seconds, null);
});

test("a failed task names the step that failed and why; what was skipped is not work done", () => {
  assert.deepEqual(
    shows({ state: "TASK_STATE_FAILED", steps: plan("done", "failed", "skipped"), failure: "The card was declined." }),
    ["error", 33, "Ask for approval", "The card was declined."],
  );
  assert.deepEqual(shows({ state: "TASK_STATE_REJECTED", failure: "There is no such order." }), [
    "error",
    0,
    "Rejected",
    "There is no such order.",
  ]);
  assert.deepEqual(shows({ state: "TASK_STATE_CANCELED", steps: plan("done", "skipped") }), [
    "error",
    50,
    "Canceled",
    "Canceled",
  ]);
});

// keeps: progress-a2a-stage
test("the stage is the agent's own, else the active step, else the step text; the step text is never lost", () => {
  const steps = plan("active", "pending");
  assert.deepEqual(shows({ steps, stage: "Own", stepText: "Page 3" }).slice(2), ["Own", "Page 3"]);
  assert.deepEqual(shows({ steps, stepText: "Page 3" }).slice(2), ["Find the order", "Page 3"]);
  assert.deepEqual(shows({ stepText: "Page 3" }).slice(2), ["Page 3", undefined]);
  assert.deepEqual(shows({ steps: plan("pending"), stepText: "" }).slice(2), ["Working", undefined]);
});

// keeps: progress-a2a-eta
test("an ETA is shown only if the agent gave one that can be true (P1, P4, I11)", () => {
  for (const etaSeconds of [undefined, null, NaN, Infinity, -1]) {
    const given = etaSeconds === undefined ? {} : { etaSeconds };
    assert.equal(progressOfTask({ ...task, ...given }, AT).eta_seconds, null);
  }
  assert.equal(progressOfTask({ ...task, etaSeconds: 0 }, AT).eta_seconds, 0);
});

// keeps: progress-a2a-task-id
test("another server's ids are made to fit, and cut to 128", () => {
  assert.equal(progressOfTask({ ...task, agent: "Recipe Agent", taskId: "a/b#1" }, AT).task_id, "Recipe-Agent:a-b-1");
  assert.equal(progressOfTask({ ...task, agent: "" }, AT).task_id, "a:0aB_-9");
  assert.equal(progressOfTask({ ...task, taskId: "x".repeat(500) }, AT).task_id.length, 128);
});

test("whatever a task shows, its event fits the schema and is a report of itself", () => {
  const text = fc.string({ unit: "binary", maxLength: 500 });
  const step = fc.record({
    label: text,
    state: fc.constantFrom<PlanStepState>("pending", "active", "done", "failed", "skipped"),
  });
  const tasks = fc.record(
    {
      agent: text,
      taskId: text,
      state: fc.constantFrom(...TASK_STATES),
      waitsFor: fc.constantFrom("approval", "question", "connection"),
      steps: fc.array(step, { maxLength: 25 }),
      percent: fc.double(),
      stage: text,
      etaSeconds: fc.option(fc.double()),
      stepText: text,
      failure: text,
    },
    { requiredKeys: ["agent", "taskId", "state"] },
  );
  fc.assert(
    fc.property(tasks, (given) => {
      const event = progressOfTask(given, AT);
      assert.ok(isProgressEvent(event), JSON.stringify(isProgressEvent.errors));
      assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
      const { agent, ...rest } = event;
      assert.deepEqual(normalizeReport(event, AT), agent === "" ? rest : event);
    }),
  );
});
