import type { ProgressEvent } from "@nylorun/protocol";

/** The attributes of the simple case, and the field of the event that each stands for. */
export const FIELDS: readonly (readonly [attribute: string, field: keyof ProgressEvent])[] = [
  ["task-id", "task_id"],
  ["percent", "percent"],
  ["eta-seconds", "eta_seconds"],
  ["stage", "stage"],
  ["status", "status"],
  ["timestamp", "timestamp"],
  ["agent", "agent"],
  ["message", "message"],
];
