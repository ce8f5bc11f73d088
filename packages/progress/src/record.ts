/** What a line of the sink holds: a progress event, and the two labels that the sink adds to it. */
import { normalizeReport, plainText } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";

export interface SinkRecord extends ProgressEvent {
  /** Who reports; `unknown` when nobody said. */
  readonly agent: string;
  /** The session that the task belongs to; the task's own id when nobody said. */
  readonly session_id: string;
}

/** Of years with four digits, which is what an event's time has. */
const FIRST_MOMENT = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MOMENT = Date.parse("9999-12-31T23:59:59.999Z");
/** An agent's name is cut to so many characters. */
const AGENT_LENGTH = 128;

/** The record of an event. `agent` names the reporter; without one it is what the task's id begins with. */
export function sinkRecord(event: ProgressEvent, agent?: string): SinkRecord {
  return {
    ...event,
    agent: plainText(agent ?? "", AGENT_LENGTH) || agentOfTask(event.task_id),
    session_id: event.session_id ?? event.task_id,
  };
}

/** The part of a task's id before its first colon; `unknown` when it has none. */
export function agentOfTask(taskId: string): string {
  const colon = taskId.indexOf(":");
  return colon > 0 ? taskId.slice(0, colon) : "unknown";
}

/**
 * Reads a line of a sink file, whoever wrote it: what a report may not hold does not come through. Undefined when it is no
 * record. A byte order mark, a carriage return at the end and the zero bytes that a crash leaves are taken off first.
 */
export function parseRecord(line: string): SinkRecord | undefined {
  try {
    const value = JSON.parse(bare(line)) as { readonly timestamp?: unknown; readonly agent?: string };
    const at = typeof value.timestamp === "string" ? Date.parse(value.timestamp) : Number.NaN;
    if (!(at >= FIRST_MOMENT && at <= LAST_MOMENT)) return undefined;
    return sinkRecord(normalizeReport(value, at), value.agent);
  } catch {
    return undefined;
  }
}

/** Whether a line holds nothing at all, which is no mistake. */
export function isBlank(line: string): boolean {
  return /^[\uFEFF\s]*$/.test(line);
}

/** By hand, as a pattern that looks for the end of a line goes wrong over megabytes of zeros. */
function bare(line: string): string {
  let [from, to] = [0, line.length];
  while (from < to && (line[from] === "\uFEFF" || line[from] === "\0")) from++;
  while (to > from && (line[to - 1] === "\0" || line[to - 1] === "\r")) to--;
  return line.slice(from, to);
}
