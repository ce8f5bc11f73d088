import { isTerminal, TASK_STATES, taskStateOf } from "@nylorun/protocol";
import type { TaskState, TurnState, WaitKind } from "@nylorun/protocol";

/** How the database writes the state that callers are shown: its number in A2A's enum. */
export function statusNumber(status: TaskState): number {
  return TASK_STATES.indexOf(status) + 1;
}

/** The state that has the number. */
export function statusNumbered(number: number): TaskState {
  return TASK_STATES[number - 1]!;
}

/** All of them. */
export const STATUS_NUMBERS: readonly number[] = TASK_STATES.map(statusNumber);

/** Those of turns that have ended. */
export const ENDED_STATUS_NUMBERS: readonly number[] = TASK_STATES.filter(isTerminal).map(statusNumber);

/** Those of turns that have begun and not ended. */
export const BEGUN_STATUS_NUMBERS: readonly number[] = TASK_STATES.filter(
  (status) => status !== "TASK_STATE_SUBMITTED" && !isTerminal(status),
).map(statusNumber);

/** @param waitsFor Of a waiting turn: what its view says. */
export function statusOf(state: TurnState, waitsFor: WaitKind | null = null): number {
  return statusNumber(taskStateOf(state, waitsFor ?? undefined));
}
