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

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, code) {
    const timer = setTimeout(code, ms);
    return () => clearTimeout(timer);
  },
};

export function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}
