/** How the engine waits. All of its waiting goes through here, so that whoever drives it need not wait. */
export interface Timers {
  /** Milliseconds on a clock that never jumps back. */
  now(): number;
  /**
   * Calls `code` once, after `ms`.
   *
   * @returns Calls it off.
   */
  after(ms: number, code: () => void): () => void;
}

/** A timer that is set to more goes off at once. */
const longestTimeout = 2 ** 31 - 1;

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, code) {
    let timer = setTimeout(passed, Math.min(ms, longestTimeout), ms);
    return () => clearTimeout(timer);

    function passed(left: number): void {
      if (left <= longestTimeout) return code();
      const rest = left - longestTimeout;
      timer = setTimeout(passed, Math.min(rest, longestTimeout), rest);
    }
  },
};

export function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}
