/**
 * The blocking SendMessage calls that wait. A wait ends when the turn has, when its time is up, when the caller hangs up, or
 * when the Runtime stops; it never takes the turn with it.
 */
import { isInterrupted, isTerminal, taskStateOf } from "@nylorun/protocol";

import type { Engine } from "../turn/engine.ts";
import type { TurnRecord } from "../turn/record.ts";

/**
 * Most turns are done within this time, in milliseconds. So long a wait needs no watch over the caller's connection, which
 * would cost more than the wait: one that nobody is left to read the answer of ends soon enough.
 */
const SHORT = 250;

export interface OpenWait {
  /** The turn when it has ended or waits for its caller; as it is, when the wait ended otherwise. */
  readonly turn: Promise<TurnRecord>;
  /** The caller has gone. */
  readonly hangUp: () => void;
}

export interface OpenWaits {
  /**
   * Waits a moment.
   *
   * @returns The turn, if it has ended or waits for its caller by then, or if `ms` were no more than that moment.
   */
  brief(turn: TurnRecord, ms: number): Promise<TurnRecord | undefined>;
  /** Waits on, for the rest of `ms`. */
  long(turn: TurnRecord, ms: number, caller: AbortSignal): OpenWait;
}

/** @param stopping Aborted when the Runtime stops. */
export function createOpenWaits(engine: Engine, stopping: AbortSignal): OpenWaits {
  const open = new Set<AbortController>();
  stopping.addEventListener("abort", () => {
    for (const wait of open) wait.abort();
  });
  return {
    async brief(turn, ms) {
      if (isSettled(turn)) return turn;
      const later = await engine.settled(turn, { timeoutMs: Math.min(ms, SHORT) });
      return isSettled(later) || ms <= SHORT ? later : undefined;
    },

    long(turn, ms, caller) {
      const wait = new AbortController();
      const hangUp = () => wait.abort();
      if (stopping.aborted || caller.aborted) hangUp();
      open.add(wait);
      caller.addEventListener("abort", hangUp);
      const settled = engine.settled(turn, { timeoutMs: ms - SHORT, signal: wait.signal }).finally(() => {
        open.delete(wait);
        caller.removeEventListener("abort", hangUp);
      });
      return { turn: settled, hangUp };
    },
  };
}

/** Whether a blocking SendMessage answers now (A2A 1.0, section 3.2.2). */
function isSettled(turn: TurnRecord): boolean {
  const state = taskStateOf(turn.state, turn.view.waitsFor);
  return isTerminal(state) || isInterrupted(state);
}
