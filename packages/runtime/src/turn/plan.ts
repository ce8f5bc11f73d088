/** The steps that an agent shows, and the rules for them (progress/v1): 1-20, each with its own label. */
import { AgentError } from "@nylorun/agents";
import type { Plan, StepOptions } from "@nylorun/agents";
import type { PlanStep, PlanStepState } from "@nylorun/protocol";

const stepLimit = 20;
const labelLimit = 120;
const noteLimit = 280;

/** @param changed Called after each change, with all steps. */
export function createPlan(labels: readonly string[], changed: (steps: readonly PlanStep[]) => void): Plan {
  check(labels);
  let steps: readonly PlanStep[] = labels.map((label) => ({ label, state: "pending" }));
  const change = (next: readonly PlanStep[]) => {
    steps = next;
    changed(steps);
  };
  const move = (step: string | number, state: PlanStepState, options: StepOptions | undefined) => {
    const index = find(steps, step);
    change(steps.with(index, noted({ ...steps[index]!, state }, options?.note)));
  };
  changed(steps);
  return {
    get steps() {
      return steps;
    },
    start(step, options) {
      const index = find(steps, step);
      steps = steps.map((other) => (other.state === "active" ? { ...other, state: "done" } : other));
      move(index, "active", options);
    },
    done: (step, options) => move(step, "done", options),
    fail: (step, options) => move(step, "failed", options),
    skip: (step, options) => move(step, "skipped", options),
  };
}

function check(labels: readonly string[]): void {
  if (!Array.isArray(labels) || labels.length === 0 || labels.length > stepLimit) {
    const came = Array.isArray(labels) ? `${labels.length}` : typeof labels;
    throw new AgentError(
      "plan.invalid",
      `A plan has 1 to ${stepLimit} steps; it got ${came}. Group what belongs together.`,
    );
  }
  labels.forEach((label, index) => {
    if (typeof label !== "string" || label.trim() === "" || label.length > labelLimit) {
      throw new AgentError(
        "plan.invalid",
        `Step ${index} of the plan must be a text of 1 to ${labelLimit} characters.`,
      );
    }
    if (labels.indexOf(label) !== index) {
      throw new AgentError(
        "plan.invalid",
        `Two steps of the plan are called ${JSON.stringify(label)}; each needs its own label.`,
      );
    }
  });
}

function find(steps: readonly PlanStep[], step: string | number): number {
  const index = typeof step === "number" ? step : steps.findIndex(({ label }) => label === step);
  if (steps[index] !== undefined) return index;
  const labels = steps.map(({ label }) => JSON.stringify(label)).join(", ");
  throw new AgentError("plan.noSuchStep", `The plan has no step ${JSON.stringify(step)}; its steps are ${labels}.`);
}

function noted(step: PlanStep, note: string | undefined): PlanStep {
  if (note === undefined) return step;
  if (typeof note !== "string" || note.length > noteLimit) {
    throw new AgentError(
      "plan.invalid",
      `The note of step ${JSON.stringify(step.label)} must be a text of up to ${noteLimit} characters.`,
    );
  }
  const { note: _, ...rest } = step;
  return note === "" ? rest : { ...rest, note };
}
