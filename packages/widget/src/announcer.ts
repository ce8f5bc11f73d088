/**
 * When to speak up: politely at a change of state and at each new quarter, quarters at least five seconds apart. A quarter that
 * came too soon is not made up for: the next one says where things stand. What went wrong is the alert's to tell.
 */
import type { View } from "./view.ts";
import type { Words } from "./words.ts";

const QUIET_MS = 5000;

export class Announcer {
  #last: View | undefined;
  #quarter = 0;
  #spokeAt = -Infinity;

  /** Another task: begin anew. */
  reset(): void {
    this.#last = undefined;
  }

  /**
   * @param at Milliseconds of a clock that never goes back.
   * @returns What to say; empty: take back what was said last; undefined: nothing new.
   */
  next(view: View, words: Words, at: number): string | undefined {
    const last = this.#last;
    const changed = view.status !== last?.status;
    const quarter = Math.floor((view.percent ?? 0) / 25);
    const passed = quarter > this.#quarter;
    this.#last = view;
    if (last === undefined || (changed && view.status === "started")) this.#quarter = quarter;
    else if (passed) this.#quarter = quarter;
    // What was there from the beginning can be read: nobody needs to be interrupted for it.
    if (last === undefined || (changed && view.status === "error")) return "";
    const resumed = last.status === "paused" && view.status === "running";
    const tells = changed && (view.status !== "running" || resumed);
    if (!tells && !(passed && view.status !== "error" && at - this.#spokeAt >= QUIET_MS)) return undefined;
    this.#spokeAt = at;
    return `${view.name}: ${resumed ? `${words.resumed}, ` : ""}${view.spoken}`;
  }
}
