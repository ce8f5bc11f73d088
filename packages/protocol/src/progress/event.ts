/**
 * From what a producer reports to a progress event: the same rules for every way in (MCP, HTTP, command line).
 *
 * Clamps what may be clamped, refuses what cannot be drawn, invents nothing (I11). `protocol/schema.json` describes the result.
 */
import type { FieldViolation } from "../a2a/errors.ts";
import type { ProgressEvent } from "../generated/types.ts";
import { plainText } from "./text.ts";

export type ProgressStatus = ProgressEvent["status"];

const STATUSES: readonly ProgressStatus[] = ["started", "running", "paused", "done", "error"];

/** Characters that are kept of each text. */
export const STAGE_LENGTH = 120;
export const MESSAGE_LENGTH = 280;
const LABEL_LENGTH = 128;

/** A report that is no report: each field that is wrong, what was expected and what came. */
export class ReportError extends Error {
  override readonly name = "ReportError";
  readonly code = "report.invalid";
  readonly violations: readonly FieldViolation[];

  constructor(violations: readonly FieldViolation[]) {
    super(`Invalid report: ${violations.map(({ field, description }) => `${field} ${description}`).join("; ")}.`);
    this.violations = violations;
  }
}

/**
 * Reads a report: `task_id`, `percent`, `stage`, `status`, and if wanted `eta_seconds`, `message`, `agent`, `session_id`; `null`
 * is absent, anything else is ignored, a `timestamp` too. An event is a report of itself: normalising it again changes nothing.
 *
 * `percent` is clamped to 0-100; `eta_seconds` is kept as given, `null` without one; texts are cut to their length and rid of what
 * would steer a terminal or a page.
 *
 * @param receivedAt Milliseconds since 1970 by the receiver's clock; never less than at the call before.
 * @throws ReportError for a number that is not finite, a negative ETA, or a field that is missing or of another type.
 */
export function normalizeReport(report: unknown, receivedAt: number): ProgressEvent {
  if (typeof report !== "object" || report === null || Array.isArray(report)) {
    throw new ReportError([{ field: "report", description: `must be an object; it is ${came(report)}` }]);
  }
  const given = report as Readonly<Record<string, unknown>>;
  const violations: FieldViolation[] = [];
  const wrong = (field: string, expected: string): void => {
    violations.push({ field, description: `must be ${expected}; it is ${came(given[field])}` });
  };

  const { proto, task_id, percent, eta_seconds, stage, status } = given;
  if (proto !== undefined && proto !== null && proto !== 1) wrong("proto", "1, the version spoken here");
  if (typeof task_id !== "string" || !/^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,127}$/.test(task_id)) {
    wrong("task_id", "1-128 of a-z, A-Z, 0-9, . _ : -, beginning with a letter or a digit");
  }
  if (typeof percent !== "number" || !Number.isFinite(percent)) wrong("percent", "a finite number");
  const eta = eta_seconds ?? null;
  if (eta !== null && (typeof eta !== "number" || !Number.isFinite(eta) || eta < 0)) {
    wrong("eta_seconds", "a finite number of seconds, 0 or more, or null when it is not known");
  }
  if (typeof stage !== "string") wrong("stage", "a string");
  if (!STATUSES.includes(status as ProgressStatus)) wrong("status", `one of ${STATUSES.join(", ")}`);
  const optional = (field: string, limit: number): string | undefined => {
    const value = given[field] ?? "";
    if (typeof value === "string") return plainText(value, limit) || undefined;
    wrong(field, "a string");
    return undefined;
  };
  const agent = optional("agent", LABEL_LENGTH);
  const message = optional("message", MESSAGE_LENGTH);
  const session = optional("session_id", LABEL_LENGTH);
  if (violations.length > 0) throw new ReportError(violations);

  return {
    proto: 1,
    task_id: task_id as string,
    percent: clampPercent(percent as number),
    eta_seconds: eta === null ? null : (eta as number) + 0,
    stage: plainText(stage as string, STAGE_LENGTH),
    status: status as ProgressStatus,
    timestamp: new Date(receivedAt).toISOString(),
    ...(agent !== undefined && { agent }),
    ...(message !== undefined && { message }),
    ...(session !== undefined && { session_id: session }),
  };
}

/** `done`, or all of it done. */
export function isComplete(event: Pick<ProgressEvent, "status" | "percent">): boolean {
  return event.status === "done" || event.percent === 100;
}

/** To 0-100, and `-0` to 0. */
export function clampPercent(percent: number): number {
  return Math.min(100, Math.max(0, percent));
}

function came(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return JSON.stringify(plainText(value, 60));
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
