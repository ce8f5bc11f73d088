import assert from "node:assert/strict";
import { test } from "node:test";

import type { PlanStep, PlanStepState } from "@nylorun/protocol";

import { ended } from "../../src/turn/view.ts";
import type { Ending } from "../../src/turn/view.ts";

const steps = (...states: readonly PlanStepState[]): PlanStep[] =>
  states.map((state, index) => ({ label: `Step ${index}`, state }));

for (const [state, active] of [
  ["completed", "done"],
  ["failed", "failed"],
  ["rejected", "skipped"],
  ["canceled", "skipped"],
] as const satisfies readonly (readonly [Ending["state"], PlanStepState])[]) {
  test(`nothing of a plan is in progress once its turn is ${state} (P9): what was active is ${active}, what was to come is skipped`, () => {
    const plan = steps("done", "failed", "skipped", "active", "pending", "pending");
    const { plan: left } = ended({ plan }, { state });
    assert.deepEqual(left, steps("done", "failed", "skipped", active, "skipped", "skipped"));
  });
}
