import { setImmediate } from "node:timers/promises";

/**
 * Keeps long work from holding up everyone else in the process: whoever loops over much data awaits `pause()` now and then, and
 * every 10 ms at most one of those calls lets the event loop turn.
 */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** @throws The signal's reason, once it is aborted. */
  async pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    if (performance.now() - this.#since < 10) return;
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }

  /** All items with their index, with a pause every thousand. */
  async *over<T>(items: readonly T[]): AsyncGenerator<readonly [index: number, items: readonly T[]]> {
    for (let index = 0; index < items.length; index += 1000) {
      yield [index, items.slice(index, index + 1000)];
      await this.pause();
    }
  }
}
