/**
 * What is asked for one context by this node, one after another, in the order in which it was asked for: so it happens in that order,
 * and those who would only wait for each other's locks hold no connections meanwhile.
 */
import { StoreError } from "../errors.ts";

export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>();
  #closed = false;

  /** @throws StoreError `store.closed`. */
  async run<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new StoreError("store.closed", "The store is closed.");
    const before = this.#last.get(lane);
    const result = before === undefined ? work() : before.then(work, work);
    this.#last.set(lane, result);
    try {
      return await result;
    } finally {
      if (this.#last.get(lane) === result) this.#last.delete(lane);
    }
  }

  /** Takes nothing more, and resolves when all that was asked for is done. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
