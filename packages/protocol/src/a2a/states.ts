/**
 * Which A2A state a turn shows. Decided here and nowhere else.
 *
 * | turn      | waits for                        | task           | kind        |
 * |-----------|----------------------------------|----------------|-------------|
 * | queued    |                                  | SUBMITTED      |             |
 * | running   |                                  | WORKING        |             |
 * | waiting   | question                         | INPUT_REQUIRED | interrupted |
 * | waiting   | approval, connection             | AUTH_REQUIRED  | interrupted |
 * | waiting   | sleep, or nothing that is shown  | WORKING        |             |
 * | uncertain |                                  | WORKING        |             |
 * | held      |                                  | WORKING        |             |
 * | completed |                                  | COMPLETED      | terminal    |
 * | failed    |                                  | FAILED         | terminal    |
 * | rejected  |                                  | REJECTED       | terminal    |
 * | canceled  |                                  | CANCELED       | terminal    |
 */
import type { TaskState } from "./types.ts";

export type TurnState =
  | "queued"
  | "running"
  | "waiting"
  | "uncertain"
  | "held"
  | "completed"
  | "failed"
  | "rejected"
  | "canceled";

/** What a waiting turn waits for: the interaction that is shown to the caller, or a sleep. */
export type WaitKind = "approval" | "question" | "connection" | "sleep";

/** Every state that a task can be in, in the order of the protocol's enum (A2A 1.0, section 4.1.3). */
export const TASK_STATES = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
] as const satisfies readonly TaskState[];

/** @param waitsFor Of a waiting turn alone: what it shows. A turn that only sleeps is working. */
export function taskStateOf(turn: TurnState, waitsFor: WaitKind = "sleep"): TaskState {
  switch (turn) {
    case "queued":
      return "TASK_STATE_SUBMITTED";
    case "running":
    case "uncertain":
    case "held":
      return "TASK_STATE_WORKING";
    case "waiting":
      return waitsFor === "sleep"
        ? "TASK_STATE_WORKING"
        : waitsFor === "question"
          ? "TASK_STATE_INPUT_REQUIRED"
          : "TASK_STATE_AUTH_REQUIRED";
    case "completed":
      return "TASK_STATE_COMPLETED";
    case "failed":
      return "TASK_STATE_FAILED";
    case "rejected":
      return "TASK_STATE_REJECTED";
    case "canceled":
      return "TASK_STATE_CANCELED";
  }
}

/** A terminal state is final (I5). */
export function isTerminal(state: TaskState): boolean {
  return (
    state === "TASK_STATE_COMPLETED" ||
    state === "TASK_STATE_FAILED" ||
    state === "TASK_STATE_CANCELED" ||
    state === "TASK_STATE_REJECTED"
  );
}

/** The task waits for its caller. A blocking SendMessage ends here too (A2A 1.0, section 3.2.2). */
export function isInterrupted(state: TaskState): boolean {
  return state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED";
}
