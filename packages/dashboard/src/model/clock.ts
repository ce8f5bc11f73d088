/** The Runtime's time, once a second: ages and countdowns are by the clock that stamped the events. */
import { Changing } from "./change.ts";

class Clock extends Changing {
  #ahead = 0;

  constructor() {
    super();
    setInterval(() => {
      if (!document.hidden) this.changed();
    }, 1_000);
  }

  /** @param at What the Runtime says it is, ISO 8601. */
  set(at: string): void {
    const time = Date.parse(at);
    if (Number.isFinite(time)) this.#ahead = time - Date.now();
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return Date.now() + this.#ahead;
  }
}

export const clock = new Clock();
