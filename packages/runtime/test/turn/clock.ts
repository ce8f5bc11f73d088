/** Time that passes when it is told to: one for all processes of a test, their timers and their store. */
import type { Timers } from "../../src/turn/timers.ts";

interface Timer {
  readonly at: number;
  readonly code: () => void;
}

export class Clock {
  readonly timers: Timers;
  #ms = 0;
  readonly #timers = new Set<Timer>();

  constructor() {
    this.timers = {
      now: () => this.#ms,
      after: (ms, code) => {
        const timer: Timer = { at: this.#ms + ms, code };
        this.#timers.add(timer);
        return () => this.#timers.delete(timer);
      },
    };
  }

  /** The store's time: whole seconds, so that fractions can mark a moment that somebody asked for. */
  readonly seconds = (): number => 1_800_000_000_000 + Math.floor(this.#ms / 1000) * 1000;

  pass(ms: number): void {
    const end = this.#ms + ms;
    for (let fired = 0; ; fired++) {
      if (fired > 100_000) throw new Error("Timers go off without end.");
      let next: Timer | undefined;
      for (const timer of this.#timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#ms = Math.max(this.#ms, next.at);
      next.code();
    }
    this.#ms = end;
  }
}
