/**
 * What is asked for one context by this node, one after another, in the order in which it was asked for: so it happens in that order,
 * and those who would only wait for each other's locks hold no connections meanwhile.
 */
export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(lane);
    const result = before === undefined ? work() : before.then(work, work);
    this.#last.set(lane, result);
    try {
      return await result;
    } finally {
      if (this.#last.get(lane) === result) this.#last.delete(lane);
    }
  }

  /** Resolves when nothing is asked for any more. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
