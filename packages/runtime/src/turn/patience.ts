/**
 * How long a run is waited for, by timers of this process: its function, until the turn has run for as long as it may (E17); a call
 * that is recorded, and that the function may be about to make (E5); and, when the turn was taken from the run, what still runs of it
 * (E16).
 */
import { OutOfTime } from "./ending.ts";
import type { TurnView } from "./record.ts";
import type { Run } from "./run.ts";

/** What a turn may run for between two waits without its being counted: over all its entries a quarter of an hour. */
const momentMs = 100;

export class Patience {
  readonly #run: Run;
  #startedAt = 0;
  #stopTurn: (() => void) | undefined;
  #stopStall: (() => void) | undefined;
  #stopGrace: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The function begins to run. */
  start(): void {
    const { timers, limits } = this.#run.ports;
    this.#startedAt = timers.now();
    const left = limits.turnTimeoutMs - (this.#run.record.view.ranMs ?? 0);
    this.#stopTurn = timers.after(Math.max(0, left), () => {
      const seconds = Math.round(limits.turnTimeoutMs / 1000);
      this.#run.outOfTime(new OutOfTime(`The agent did not finish this within ${seconds} seconds.`));
    });
  }

  /** Counts what has run until now. Waiting is not counted; nor is a moment before it, which would be one more write of the whole view. */
  counted(view: TurnView): TurnView {
    const ran = this.#run.ports.timers.now() - this.#startedAt;
    return ran < momentMs ? view : { ...view, ranMs: (view.ranMs ?? 0) + Math.round(ran) };
  }

  /** The function may be about to make a recorded call; not for ever. */
  stall(why: string): void {
    const { timers, limits } = this.#run.ports;
    this.#stopStall ??= timers.after(limits.replayStallMs, () => this.#run.diverge(why));
  }

  /** It has made it. */
  clearStall(): void {
    this.#stopStall?.();
    this.#stopStall = undefined;
  }

  /** The turn is another's. What does not heed its signal does not keep its place for ever. */
  grace(): void {
    const { timers, limits } = this.#run.ports;
    this.#stopGrace = timers.after(limits.cancelGraceMs, () => this.#run.outOfGrace());
  }

  stop(): void {
    this.#stopTurn?.();
    this.#stopGrace?.();
    this.clearStall();
  }
}
