/**
 * The time of a test: it stands still while code runs, and is put forward to the next moment at which something is due. What waits
 * for so long in earnest, because an effect's own code takes that long, finds that the time has passed.
 */
import type { Timers } from "../turn/timers.ts";
import { Foreign } from "./foreign.ts";

interface Timer {
  readonly owner: object;
  readonly at: number;
  readonly code: () => void;
  stop(): void;
}

/** The timers of one process. */
export interface ProcessTimers extends Timers {
  /** The process is no more: none of them goes off. */
  drop(): void;
}

/** The longest that a timer of Node's can be set to. */
const longestMs = 2 ** 31 - 1;

export class SimulatedTime {
  #now: number;
  readonly #timers = new Set<Timer>();

  constructor(start: number) {
    this.#now = start;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** When the next timer goes off. */
  get next(): number | undefined {
    let next: number | undefined;
    for (const { at } of this.#timers) if (next === undefined || at < next) next = at;
    return next;
  }

  /** Puts the time forward; what is due by then happens, in its order, and finds that it is late. */
  pass(until: number): void {
    this.#now = Math.max(this.#now, until);
    for (;;) {
      const [first] = [...this.#timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
      if (first === undefined) return;
      this.#goOff(first);
    }
  }

  timers(): ProcessTimers {
    const owner = {};
    let dropped = false;
    return {
      now: () => this.#now,
      after: (ms, code) => {
        if (dropped) return () => undefined;
        const timer: Timer = { owner, at: this.#now + ms, code, stop: this.#inEarnest(ms, () => this.#goOff(timer)) };
        this.#timers.add(timer);
        return () => this.#remove(timer);
      },
      drop: () => {
        dropped = true;
        for (const timer of [...this.#timers]) if (timer.owner === owner) this.#remove(timer);
      },
    };
  }

  #goOff(timer: Timer): void {
    if (!this.#remove(timer)) return;
    this.#now = Math.max(this.#now, timer.at);
    timer.code();
  }

  #remove(timer: Timer): boolean {
    timer.stop();
    return this.#timers.delete(timer);
  }

  #inEarnest(ms: number, code: () => void): () => void {
    // Whoever asks for it: it is the engine's.
    return Foreign.outside(() => {
      if (ms <= 0) {
        const immediate = setImmediate(code);
        return () => clearImmediate(immediate);
      }
      const timeout = setTimeout(code, Math.min(ms, longestMs)).unref();
      return () => clearTimeout(timeout);
    });
  }
}
