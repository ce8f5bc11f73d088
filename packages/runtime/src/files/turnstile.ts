/**
 * Lets a few through at a time, in order: whoever names a thousand addresses in one message must not have this Runtime call a thousand
 * times at once, be it all in one place or everywhere. What has to wait holds up nobody who would have room.
 */

/** What counts together, and how many of it may be inside. */
export interface Count {
  readonly of: string;
  readonly most: number;
}

interface Waiting {
  readonly counts: readonly Count[];
  readonly enter: () => void;
}

export class Turnstile {
  readonly #inside = new Map<string, number>();
  readonly #line: Waiting[] = [];

  /**
   * Resolves when there is room by every count. Disposing of what it resolves with makes that room again.
   *
   * @throws The signal's reason, when it is aborted before.
   */
  async enter(counts: readonly Count[], signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#fits(counts)) this.#take(counts, 1);
    else await this.#wait(counts, signal);
    let left = false;
    return {
      [Symbol.dispose]: () => {
        if (left) return;
        left = true;
        this.#take(counts, -1);
        this.#admit();
      },
    };
  }

  async #wait(counts: readonly Count[], signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<null>();
    const waiting: Waiting = { counts, enter: () => resolve(null) };
    this.#line.push(waiting);
    const gone = (): void => {
      const at = this.#line.indexOf(waiting);
      if (at !== -1) this.#line.splice(at, 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", gone, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", gone);
    }
  }

  #admit(): void {
    for (let at = 0; at < this.#line.length;) {
      const { counts, enter } = this.#line[at]!;
      if (!this.#fits(counts)) {
        at++;
        continue;
      }
      this.#line.splice(at, 1);
      this.#take(counts, 1);
      enter();
    }
  }

  #fits(counts: readonly Count[]): boolean {
    return counts.every(({ of, most }) => (this.#inside.get(of) ?? 0) < most);
  }

  #take(counts: readonly Count[], by: 1 | -1): void {
    for (const { of } of counts) {
      const now = (this.#inside.get(of) ?? 0) + by;
      if (now === 0) this.#inside.delete(of);
      else this.#inside.set(of, now);
    }
  }
}
