/**
 * A run's right to its turn (E18). It ends by the store's clock; until when this node has it for sure, its own monotonic clock says:
 * after that it asks the store first (E7).
 */
import type { Run } from "./run.ts";
import { pause } from "./timers.ts";
import { isEnded } from "./view.ts";

/** How long a store that cannot say is given before it is asked again. */
const askAgainMs = 20;

export class Lease {
  readonly #run: Run;
  readonly epoch: number;
  /** Monotonic milliseconds (`timers.now()`). Whoever renews the lease moves it on. */
  until: number;

  constructor(run: Run, { epoch, until }: { readonly epoch: number; readonly until: number }) {
    this.#run = run;
    this.epoch = epoch;
    this.until = until;
  }

  get isSure(): boolean {
    return this.#run.ports.timers.now() < this.until;
  }

  /** Whether what the run is about to do still is its business: waits until that is known. */
  async mayAct(): Promise<boolean> {
    const { store, limits, timers } = this.#run.ports;
    while (this.#run.isOurs && !this.isSure) {
      const asked = timers.now();
      const lease = { context: this.#run.record.context, epoch: this.epoch };
      const gone = await store.renew([lease], limits.leaseMs).catch(() => undefined);
      if (gone === undefined) await pause(timers, askAgainMs);
      else if (gone.length > 0) await this.lost();
      else this.until = asked + limits.leaseMs;
    }
    return this.#run.isOurs;
  }

  /** The store says that it is gone: somebody has ended the turn, or another node has it. */
  async lost(): Promise<void> {
    // Until it is known which, nothing begins.
    this.until = -Infinity;
    const record = await this.#run.ports.store.loadTurn(this.#run.record).catch(() => undefined);
    if (record !== undefined && isEnded(record)) this.#run.cancel();
    else this.#run.lost();
  }
}
