/**
 * What becomes of a turn when its run has no more to do. Each is one write, which also says what becomes of the context: it is given
 * back, or goes on with its next turn.
 *
 * | the turn is | when                                                                                             |
 * |-------------|--------------------------------------------------------------------------------------------------|
 * | ended       | its function has, and every effect that was begun has an outcome (E10)                           |
 * | parked      | its function only waits, or what it has come to waits for an operator (E11, E9)                  |
 * | held        | its code is not the code that wrote the journal (E5)                                             |
 *
 * Who finds that others have written in the meantime decides anew: {@link Run.pump}.
 */
import { endingOf } from "./ending.ts";
import type { Result } from "./ending.ts";
import type { Entry } from "./journal.ts";
import { recallAll } from "./recall.ts";
import type { Run } from "./run.ts";
import { dueAt, ended, held } from "./view.ts";

/** Why a turn is to be held. */
export interface Holding {
  readonly code: string;
  readonly message: string;
}

export class Conclusion {
  readonly #run: Run;
  readonly #goesOn: () => boolean;
  #ending = false;

  /** @param goesOn Whether the next turn of the context may be run at once. */
  constructor(run: Run, goesOn: () => boolean) {
    this.#run = run;
    this.#goesOn = goesOn;
  }

  /** The end of the turn is being written, and with it perhaps the claim of the next one. */
  get ending(): boolean {
    return this.#ending;
  }

  /** E10: the function has ended; the turn ends when every effect that was begun has an outcome. */
  settle(result: Result): void {
    const { over, replay, timeUp, writer, effects, record } = this.#run;
    if (over || this.#ending || writer.writing) return;
    const unmet = replay.unmet();
    if (unmet !== undefined && !timeUp.aborted)
      return unmet.keyed ? this.#run.patience.stall(unmet.why) : this.#run.diverge(unmet.why);
    if (!writer.idle || effects.running > 0) return;
    if (record.view.lost !== undefined) return void this.park();
    void this.#end(result);
  }

  async #end(result: Result): Promise<void> {
    const run = this.#run;
    this.#ending = true;
    const found = await endingOf(result, run).catch((error: unknown) => {
      if (run.isOurs && !run.dropped) throw error;
    });
    if (found === undefined) {
      // It is not this run's to end any more.
      this.#ending = false;
      return run.pump();
    }
    const { outputs, ...ending } = found;
    run.writer.ignore();
    const now = run.ports.store.now();
    const { waits = [] } = run.record.view;
    const withdrawn = waits.map(({ of }): Entry => ({ kind: "end", of, at: now, how: "withdrawn" }));
    const { leaseMs } = run.ports.limits;
    const leaseUntil = run.ports.timers.now() + leaseMs;
    const written = await run.writer.commit(withdrawn, {
      then: { do: "end", ...(this.#goesOn() && { claim: { leaseMs } }) },
      view: (view) => ended(view, ending),
      state: ending.state,
      ...(outputs && { outputs }),
    });
    this.#ending = false;
    if (written?.kind === "committed") {
      recallAll(run);
      return run.finish({ kind: "ended", next: written.next, leaseUntil });
    }
    if (!run.over) run.pump();
  }

  /** E11: the function only waits. It is dropped, and run again when something of it is over. */
  async park(): Promise<void> {
    const run = this.#run;
    if (run.over || run.dropped || !run.writer.idle) return;
    const { waits, lost } = run.record.view;
    if (waits === undefined && lost === undefined) return;
    if (!run.hasEnded) run.effects.verify(waits ?? []);
    if (run.effects.running > 0) return;
    const now = run.ports.store.now();
    run.waits.endDue(now);
    if (!run.writer.idle) return;
    const written = await run.writer.commit([], {
      then: { do: "park", dueAt: dueAt(waits, now) },
      view: (view) => run.patience.counted(view),
    });
    if (written?.kind === "committed") return run.parked();
    if (!run.over) run.pump();
  }

  /** E5: it is tried again when code is loaded again. */
  async hold(why: Holding): Promise<void> {
    const run = this.#run;
    if (run.effects.running > 0) return;
    const { taskIds, log } = run.ports;
    log.warn({ agent: run.agent.id, task: taskIds.encode(run.record), ...why }, "A turn is held.");
    const written = await run.writer.commit([], {
      then: { do: "park", dueAt: undefined },
      view: (view) => held(view, why),
      state: "held",
    });
    if (written?.kind === "committed") return run.finish({ kind: "parked" });
    if (!run.over) run.pump();
  }
}
