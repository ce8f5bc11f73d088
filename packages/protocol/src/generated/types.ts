export type PlanStepState = "pending" | "active" | "done" | "failed" | "skipped";
