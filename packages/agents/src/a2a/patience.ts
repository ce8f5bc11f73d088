/** How long to wait between two tries, and how long to go on trying. */

/** Resolves after `ms`, or rejects with the signal's reason as soon as that is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject }: PromiseWithResolvers<void> = Promise.withResolvers();
  const end = (): void => {
    clearTimeout(timer);
    reject(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", end);
    resolve();
  }, ms);
  signal?.addEventListener("abort", end, { once: true });
  return promise;
}

/** Pauses that double from `first` to `longest`, in milliseconds; each is off by up to a quarter, so that callers do not keep step. */
export class BackOff {
  readonly #first: number;
  readonly #longest: number;
  #next: number;

  constructor(first: number, longest: number) {
    this.#first = Math.min(first, longest);
    this.#longest = longest;
    this.#next = this.#first;
  }

  /** How long to wait now, in milliseconds. */
  next(): number {
    const now = this.#next;
    this.#next = Math.min(now * 2, this.#longest);
    return now * (0.75 + Math.random() / 2);
  }

  /** Something happened: what comes next may come soon. */
  reset(): void {
    this.#next = this.#first;
  }
}

/**
 * `Retry-After`, in milliseconds from now (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * @returns undefined when there is none that can be read.
 */
export function retryAfterOf(header: string | null): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = /[a-z]/i.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
