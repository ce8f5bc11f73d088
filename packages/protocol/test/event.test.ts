import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { isComplete, isProgressEvent, normalizeReport, ReportError } from "../src/index.ts";

const AT = Date.UTC(2026, 9, 14, 2);
const report = { task_id: "claude:summarize-report", percent: 42, stage: "Reasoning", status: "running" };

function fieldsOf(value: unknown): readonly string[] {
  try {
    normalizeReport(value, AT);
  } catch (error) {
    assert.ok(error instanceof ReportError, String(error));
    assert.equal(error.code, "report.invalid");
    return error.violations.map(({ field }) => field);
  }
  return [];
}

// keeps: progress-event-timestamp
test("a report becomes an event with the receiver's time, and nothing is invented", () => {
  const event = normalizeReport({ ...report, timestamp: "1999-01-01T00:00:00Z", unknown: 1 }, AT);
  assert.deepEqual(event, {
    proto: 1,
    task_id: "claude:summarize-report",
    percent: 42,
    eta_seconds: null,
    stage: "Reasoning",
    status: "running",
    timestamp: "2026-10-14T02:00:00.000Z",
  });
  assert.deepEqual(
    normalizeReport({ ...report, eta_seconds: 30.5, agent: "claude", message: "3 of 7", session_id: "s" }, AT),
    { ...event, eta_seconds: 30.5, agent: "claude", message: "3 of 7", session_id: "s" },
  );
});

// keeps: progress-event-clamped, progress-event-regression
test("percent is clamped and -0 is 0; going backwards is no matter here (P2)", () => {
  for (const [given, percent] of [
    [107, 100],
    [130, 100],
    [-5, 0],
    [-0, 0],
    [0, 0],
    [99.6, 99.6],
    [Number.MAX_VALUE, 100],
  ] as const) {
    assert.ok(Object.is(normalizeReport({ ...report, percent: given }, AT).percent, percent), String(given));
  }
});

// keeps: progress-event-eta, progress-event-finite
test("an ETA is null or a finite number of 0 or more (P1, P4)", () => {
  for (const eta_seconds of [NaN, Infinity, -Infinity, -1, -0.001, "30", {}, true]) {
    assert.deepEqual(fieldsOf({ ...report, eta_seconds }), ["eta_seconds"], JSON.stringify(eta_seconds));
  }
  for (const eta_seconds of [undefined, null]) {
    assert.equal(normalizeReport({ ...report, eta_seconds }, AT).eta_seconds, null);
  }
  assert.ok(Object.is(normalizeReport({ ...report, eta_seconds: -0 }, AT).eta_seconds, 0));
});

// keeps: progress-event-task-id, progress-event-status, progress-event-proto
test("what is no report is refused, each wrong field by name", () => {
  for (const value of [undefined, null, 7, "text", []]) assert.deepEqual(fieldsOf(value), ["report"]);
  assert.deepEqual(fieldsOf({}), ["task_id", "percent", "stage", "status"]);
  for (const percent of [NaN, Infinity, -Infinity, "42", null]) {
    assert.deepEqual(fieldsOf({ ...report, percent }), ["percent"]);
  }
  for (const task_id of ["", "-a", "a b", "ä", "a/b", "x".repeat(129), 10, "a\n"]) {
    assert.deepEqual(fieldsOf({ ...report, task_id }), ["task_id"], String(task_id));
  }
  for (const status of ["Running", "complete", "constructor", "", null]) {
    assert.deepEqual(fieldsOf({ ...report, status }), ["status"]);
  }
  assert.deepEqual(fieldsOf({ ...report, proto: 2, stage: 1, message: 2, agent: [], session_id: {} }), [
    "proto",
    "stage",
    "agent",
    "message",
    "session_id",
  ]);
  assert.throws(() => normalizeReport({ ...report, percent: NaN }, AT), {
    message: "Invalid report: percent must be a finite number; it is NaN.",
  });
});

// keeps: progress-event-stage, progress-event-cleaned
test("texts are cut to their length in characters and rid of what steers a terminal (P23)", () => {
  const event = normalizeReport(
    { ...report, stage: `\x1b[2J${"字".repeat(200)}`, message: "😀".repeat(300), agent: "a\x1b]0;t\x07b" },
    AT,
  );
  assert.equal(event.stage, "字".repeat(120));
  assert.equal(event.message, "😀".repeat(280));
  assert.equal(event.agent, "ab");
  assert.ok(isProgressEvent(event));
  assert.equal(normalizeReport({ ...report, message: " \n" }, AT).message, undefined);
});

// keeps: progress-event-complete
test("complete is done, or all of it", () => {
  assert.ok(isComplete({ status: "done", percent: 7 }));
  assert.ok(isComplete({ status: "running", percent: 100 }));
  assert.equal(isComplete({ status: "running", percent: 99.9 }), false);
  assert.equal(isComplete({ status: "error", percent: 50 }), false);
});

const text = fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.constant(undefined), fc.constant(null));
const reports = fc.record({
  task_id: fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,127}$/),
  percent: fc.double({ noNaN: true, noDefaultInfinity: true }),
  eta_seconds: fc.option(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
  stage: fc.string({ unit: "binary", maxLength: 400 }),
  status: fc.constantFrom("started", "running", "paused", "done", "error"),
  agent: text,
  message: text,
  session_id: text,
  extra: fc.anything(),
});

// keeps: progress-event-again, progress-event-schema
test("every event fits the schema, and reporting it again changes nothing", () => {
  fc.assert(
    fc.property(reports, (given) => {
      const event = normalizeReport(given, AT);
      assert.ok(isProgressEvent(event), JSON.stringify(isProgressEvent.errors));
      assert.deepEqual(normalizeReport(event, AT), event);
      assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
    }),
  );
});

test("whatever is reported is an event or a ReportError", () => {
  const nearly = fc.record(
    {
      task_id: fc.anything(),
      percent: fc.anything(),
      stage: fc.anything(),
      status: fc.anything(),
      eta_seconds: fc.anything(),
      message: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(fc.anything(), nearly), (value) => {
      try {
        assert.ok(isProgressEvent(normalizeReport(value, AT)));
      } catch (error) {
        assert.ok(error instanceof ReportError, String(error));
      }
    }),
    { numRuns: 1000 },
  );
});
