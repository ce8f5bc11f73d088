import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { receiptClock } from "../src/receipt.ts";
import { agentOfTask } from "../src/record.ts";
import { Runs } from "../src/runs.ts";
import { record } from "./events.ts";

const MINUTE = 60_000;

/** Records of one task at so many minutes. */
function runs(...events: [minutes: number, status: "started" | "running" | "done" | "error"][]): Runs {
  const found = new Runs();
  for (const [minutes, status] of events) {
    found.add(record({ task_id: "ci:build", status, timestamp: new Date(minutes * MINUTE).toISOString() }));
  }
  return found;
}

describe("What a task usually takes", () => {
  it("is said from the middle half of its runs, and not from fewer than three", () => {
    const two = runs([0, "started"], [6, "done"], [10, "started"], [17, "done"]);
    assert.equal(two.usual("ci:build"), undefined);
    const found = runs(
      [0, "started"],
      [6, "done"],
      [10, "started"],
      [17, "done"],
      [20, "started"],
      [29, "done"],
      [30, "started"],
      [90, "done"],
      [100, "started"],
      [101, "done"],
    );
    assert.deepEqual(found.usual("ci:build"), { low: 6 * MINUTE, high: 9 * MINUTE, runs: 5 });
    assert.equal(found.usual("ci:test"), undefined);
  });

  it("counts no run that failed, that began unheard, or that goes on", () => {
    const found = runs(
      [0, "done"],
      [1, "running"],
      [2, "done"],
      [10, "started"],
      [12, "error"],
      [13, "done"],
      [20, "started"],
      [22, "running"],
      [23, "done"],
      [30, "started"],
      [33, "done"],
      [34, "done"],
      [40, "started"],
    );
    assert.equal(found.usual("ci:build"), undefined);
    found.add(record({ task_id: "ci:build", status: "done", timestamp: new Date(43 * MINUTE).toISOString() }));
    assert.deepEqual(found.usual("ci:build"), { low: 3 * MINUTE, high: 3 * MINUTE, runs: 3 });
  });

  it("is never negative, whatever the clocks were (P4)", () => {
    const found = runs([10, "started"], [5, "done"], [20, "started"], [1, "done"], [30, "started"], [2, "done"]);
    assert.deepEqual(found.usual("ci:build"), { low: 0, high: 0, runs: 3 });
  });
});

describe("The clock of receipts", () => {
  const read = (...times: number[]): number[] => {
    const left = [...times];
    const clock = receiptClock(() => left.shift()!);
    return times.map(() => clock());
  };

  it("stands still while the machine's clock is behind where it was (P4)", () => {
    assert.deepEqual(read(100, 200, 150, 199, 201), [100, 200, 200, 200, 201]);
  });

  it("does not stay in a future that the machine's clock was in by mistake", () => {
    const future = Date.parse("2099-01-01");
    assert.deepEqual(read(100, future, 101, 99), [100, future, 101, 101]);
  });
});

describe("The agent of a task", () => {
  it("is what its id begins with, up to the first colon", () => {
    assert.equal(agentOfTask("claude:refactor:auth"), "claude");
    assert.equal(agentOfTask("constructor:x"), "constructor");
    assert.equal(agentOfTask("refactor"), "unknown");
    assert.equal(agentOfTask("claude:"), "claude");
  });
});
