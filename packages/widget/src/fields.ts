import type { ProgressEvent } from "@nylorun/protocol";

/** The fields of an event that attributes can give: `task-id` for `task_id`, and so on. */
export const FIELDS = [
  "task_id",
  "percent",
  "eta_seconds",
  "stage",
  "status",
  "timestamp",
  "agent",
  "message",
] as const satisfies readonly (keyof ProgressEvent)[];

export function attributeOf(field: string): string {
  return field.replace("_", "-");
}
