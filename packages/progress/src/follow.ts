/** Goes on reading the sink as it grows. */
import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";

import type { Batch, SinkReader } from "./reader.ts";

/** Bytes that are read before others get their turn. */
const BUDGET = 4 * 1024 * 1024;

export interface FollowOptions {
  /** Ends it; what is being waited for then does not come. */
  readonly signal: AbortSignal;
  /** How often it looks, in milliseconds; 250 if not given. Where the system tells of changes it looks at once. */
  readonly pollMs?: number;
}

/** Batches with something in them, as they come. The first one comes at once, be it empty: the sink has been read so far. */
export async function* follow(reader: SinkReader, { signal, pollMs = 250 }: FollowOptions): AsyncGenerator<Batch> {
  using alarm = new Alarm(reader.folder, signal);
  for (let first = true; !signal.aborted; first = false) {
    const batch = reader.read(BUDGET);
    if (first || batch.records.length > 0 || batch.bad > 0) yield batch;
    if (batch.more) await new Promise((resolve) => setImmediate(resolve));
    else await alarm.wait(pollMs);
  }
}

/** Goes off when something happens in the folder, and after a while anyway: what the system tells is a hint (I9). */
class Alarm implements Disposable {
  readonly #folder: string;
  readonly #signal: AbortSignal;
  #watcher: FSWatcher | undefined;
  #rang = false;
  #wake: (() => void) | undefined;

  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
    signal.addEventListener("abort", this.#ring, { once: true });
  }

  async wait(ms: number): Promise<void> {
    this.#watch();
    if (this.#rang || this.#signal.aborted) {
      this.#rang = false;
      return;
    }
    await new Promise<unknown>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.#wake = undefined;
    this.#rang = false;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#signal.removeEventListener("abort", this.#ring);
  }

  readonly #ring = (): void => {
    this.#rang = true;
    this.#wake?.();
  };

  #watch(): void {
    if (this.#watcher !== undefined) return;
    const forget = (): void => {
      this.#watcher?.close();
      this.#watcher = undefined;
    };
    try {
      this.#watcher = watch(this.#folder, this.#ring);
      // The folder was removed, or the system has no more watches to give: looking now and then is enough.
      this.#watcher.on("error", forget);
    } catch {
      // There is no folder yet.
    }
  }
}
