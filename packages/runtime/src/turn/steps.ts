/**
 * The steps in which a run's function goes on: its start, and each result that it is handed. Between two a macrotask passes, so that
 * everything that follows from one has happened before the next (E2); what the function calls meanwhile is *in step*: a replay makes
 * the same calls in the same order (E3).
 */
import type { Completion } from "./journal.ts";
import type { Run } from "./run.ts";

export class Steps {
  readonly #run: Run;
  #open = false;
  #inStep = false;
  #now: number;

  /** @param now Of the store's clock, in milliseconds: until the first result is handed over. */
  constructor(run: Run, now: number) {
    this.#run = run;
    this.#now = now;
  }

  /** A step is open, or about to be: nothing else may be handed over. */
  get open(): boolean {
    return this.#open;
  }

  /** In the microtasks of the run's start or of a delivery (E3). */
  get inStep(): boolean {
    return this.#inStep;
  }

  /** Milliseconds: when the last result that the function was handed came about (E15). */
  get now(): number {
    return this.#now;
  }

  /** Runs code of the function's, and what follows from that in microtasks. */
  take(code: () => void): void {
    this.#open = true;
    // Adjacent, so that no callback of anything else slips in between.
    setImmediate(() => {
      if (this.#run.dropped || this.#run.cancelled) return;
      this.#inStep = true;
      code();
    });
    setImmediate(() => {
      this.#inStep = this.#open = false;
      this.#run.replay.closeStep();
      this.#run.pump();
    });
  }

  /** Hands over what came of a call. */
  deliver(at: number, completion: Completion): void {
    this.take(() => this.#handOver(at, completion));
  }

  #handOver(at: number, completion: Completion): void {
    const { replay, waits, calls, effects } = this.#run;
    replay.deliver(at);
    this.#now = completion.at;
    waits.ignoreSignal(completion.of);
    const settler = calls.take(completion);
    if (settler !== undefined) effects.handOver(completion, settler);
  }
}
