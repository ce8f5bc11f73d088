/** Which deliveries have been handled: a webhook is told everything at least once, and some things twice. */

/**
 * A memory of webhook ids. Bring your own, on a database that all your servers share, when there is more than one of them: `add` is then one
 * statement, such as `INSERT … ON CONFLICT DO NOTHING`.
 */
export interface SeenIds {
  /**
   * Remembers an id.
   *
   * @param keepMs For how long at least, in milliseconds.
   * @returns Whether it is new. Of two calls at once with the same id only one may be told so.
   */
  add(id: string, keepMs: number): boolean | Promise<boolean>;
  /** Forgets it: what it stood for was not handled. */
  delete(id: string): unknown;
}

/** Ids that are kept at once. Beyond that the oldest go: what then comes again is handled again, which it has to bear anyway. */
const MOST_IDS = 10_000;

/** A memory in this process, of bounded size. It is empty after a restart. */
export class SeenInMemory implements SeenIds {
  readonly #until = new Map<string, number>();

  add(id: string, keepMs: number): boolean {
    const now = Date.now();
    const until = this.#until.get(id);
    if (until !== undefined && until > now) return false;
    this.#until.delete(id); // So that it goes to the end.
    this.#until.set(id, now + keepMs);
    for (const [oldest, end] of this.#until) {
      if (end > now && this.#until.size <= MOST_IDS) break;
      this.#until.delete(oldest);
    }
    return true;
  }

  delete(id: string): void {
    this.#until.delete(id);
  }
}
