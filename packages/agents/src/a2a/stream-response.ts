/** Reads an update of a task, as a stream or a webhook carries it (A2A 1.0, section 3.2.3), from JSON that may be anything. */
import { TASK_STATES } from "@nylorun/protocol";
import type { StreamResponse } from "@nylorun/protocol";

type Json = Readonly<Record<string, unknown>>;

/** The update; undefined when it is none: then something that every reader relies on is missing or of another type. */
export function checkStreamResponse(value: unknown): StreamResponse | undefined {
  if (!isObject(value)) return undefined;
  const { task, message, statusUpdate, artifactUpdate } = value;
  const given = [task, message, statusUpdate, artifactUpdate].filter((one) => one !== undefined && one !== null);
  if (given.length !== 1) return undefined;
  const fits = isTask(task) || isMessage(message) || isStatusUpdate(statusUpdate) || isArtifactUpdate(artifactUpdate);
  return fits ? (value as unknown as StreamResponse) : undefined;
}

function isTask(value: unknown): boolean {
  return (
    isObject(value) && isText(value["id"]) && isStatus(value["status"]) && isListOf(value["artifacts"], isArtifact)
  );
}

function isStatusUpdate(value: unknown): boolean {
  return isObject(value) && isText(value["taskId"]) && isStatus(value["status"]);
}

function isArtifactUpdate(value: unknown): boolean {
  return isObject(value) && isText(value["taskId"]) && isArtifact(value["artifact"]);
}

function isStatus(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { state, message } = value;
  return (TASK_STATES as readonly unknown[]).includes(state) && (message === undefined || isMessage(message));
}

function isMessage(value: unknown): boolean {
  return (
    isObject(value) && isText(value["messageId"]) && Array.isArray(value["parts"]) && value["parts"].every(isObject)
  );
}

function isArtifact(value: unknown): boolean {
  return (
    isObject(value) && isText(value["artifactId"]) && Array.isArray(value["parts"]) && value["parts"].every(isObject)
  );
}

/** Absent is an empty list. */
function isListOf(value: unknown, fits: (one: unknown) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every(fits));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
