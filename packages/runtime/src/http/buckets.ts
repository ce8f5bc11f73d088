/**
 * Counts what somebody does, and says when it is too much: each has a bucket that fills at a steady rate, and takes from it. In memory, and
 * for who is there now: full buckets are forgotten.
 */

/** Buckets that are kept; of so many, the full ones go. */
const REMEMBERED = 10_000;

interface Bucket {
  left: number;
  /** When that was so: monotonic milliseconds. */
  at: number;
}

export class Buckets {
  readonly #size: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param size How much at once. @param now Monotonic milliseconds. */
  constructor(size: number, perSecond: number, now: () => number = () => performance.now()) {
    this.#size = size;
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** Takes one from a bucket; or returns after how many seconds there is one, more than 0. */
  take(key: string): number {
    const moment = this.#now();
    const bucket = this.#buckets.get(key) ?? { left: this.#size, at: moment };
    bucket.left = this.#filled(bucket, moment);
    bucket.at = moment;
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / this.#perSecond));
    bucket.left--;
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > REMEMBERED) this.#forget(moment);
    return 0;
  }

  #filled({ left, at }: Bucket, moment: number): number {
    return Math.min(this.#size, left + ((moment - at) * this.#perSecond) / 1000);
  }

  #forget(moment: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#filled(bucket, moment) === this.#size) this.#buckets.delete(key);
    }
  }
}
