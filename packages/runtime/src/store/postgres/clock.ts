/**
 * The database's clock, as this process knows it: what it read there, and what has passed since by a clock that never jumps. The
 * system's own time plays no part, however wrong it is (E18).
 */

export class Clock {
  /** Of the database's clock over `performance.now()`. */
  #offset: number;

  /** Until it is read for the first time, it is the system's. */
  constructor() {
    this.#offset = Date.now() - performance.now();
  }

  now(): number {
    return Math.floor(performance.now() + this.#offset);
  }

  /** @param read Asks the database what time it is. */
  async set(read: () => Promise<number>): Promise<void> {
    const asked = performance.now();
    const time = await read();
    // It was that time between the two.
    this.#offset = time - (asked + performance.now()) / 2;
  }
}
