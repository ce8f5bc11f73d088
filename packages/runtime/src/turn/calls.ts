/**
 * What a run's function has called, and what it still waits for. A call is met by the journal, or written to it; what it comes to is
 * settled when it is its turn (E2, E3).
 */
import { AgentError, Cancelled } from "@nylorun/agents";
import type { Effect } from "@nylorun/agents";

import type { Settler } from "./effect.ts";
import { callName } from "./journal.ts";
import type { Completion, EffectStarted, Start } from "./journal.ts";
import type { Run } from "./run.ts";

type WorkStart = Pick<EffectStarted, "name" | "work" | "artifactId" | "key">;
type WorkRun = (at: number, signal: AbortSignal) => Promise<unknown>;

export class Calls {
  readonly #run: Run;
  readonly #settlers = new Map<number, Settler>();
  /** Those, and those of calls that are still to be written. */
  readonly #unsettled = new Set<Settler>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** Asks for something that is journaled, and comes back. */
  call(start: Start, begin?: (at: number, isNew: boolean) => void, signal?: AbortSignal): Promise<unknown> {
    const run = this.#run;
    const promise = new Promise<unknown>((resolve, reject) => {
      if (run.timeUp.aborted) return;
      if (run.dropped) return run.isParked ? run.reportLate(`it called turn.${callName(start)}`) : undefined;
      if (run.cancelled) return reject(new Cancelled("The task was cancelled."));
      const settler: Settler = { resolve, reject, signal };
      this.#unsettled.add(settler);
      this.meet(start, (at, isNew) => {
        this.#settlers.set(at, settler);
        if (isNew || !run.replay.hasEnded(at)) begin?.(at, isNew);
      });
    });
    // The author may look at it later, or never: that is no unhandled rejection (E17).
    promise.catch(() => undefined);
    return promise;
  }

  /** Has the Runtime do something with a file, as an effect that may be repeated (E7). Called back unless it was done before. */
  work(start: WorkStart, run: WorkRun): Promise<unknown> {
    const { ports, effects } = this.#run;
    const { key, ...work } = start;
    const entry: Start = {
      kind: "effect",
      id: ports.entropy.id(),
      idempotent: true,
      ...work,
      ...(key !== undefined && { key }),
    };
    return this.call(entry, (at, isNew) => {
      const asked = { name: start.name, run: ({ signal }: Pick<Effect, "signal">) => run(at, signal), options: {} };
      effects.begin(at, asked, isNew);
    });
  }

  /** A call that needs no answer. False: it is not to have any consequence. */
  mark(start: Start): boolean {
    if (this.#run.cancelled) throw new Cancelled("The task was cancelled.");
    if (this.#run.dropped) return false;
    this.meet(start);
    return true;
  }

  /** Whether this turn goes the patched way: it marked that, or nothing that it did before lies ahead. */
  patched(mark: Start & { kind: "patched" }): boolean {
    const { replay, inStep, cancelled, dropped } = this.#run;
    if (cancelled) throw new Cancelled("The task was cancelled.");
    if (dropped) return false;
    if (inStep && !replay.isNext(mark) && replay.isRecordedBeyond) return false;
    this.meet(mark);
    return true;
  }

  /**
   * Meets a start with the journal, or writes it.
   *
   * @param met Called with its place: at once when the journal has it, else when it is on disk.
   * @throws AgentError `turn.unjournaled`, `turn.tooLarge`.
   */
  meet(start: Start, met?: (at: number, isNew: boolean) => void): void {
    const { timeUp, inStep, replay, hasEnded, budget, writer } = this.#run;
    if (timeUp.aborted) return;
    const call: Start = { ...start, after: replay.delivered, ...(!inStep && { outOfStep: true }) };
    const found = replay.meet(call);
    switch (found.met) {
      case "recorded":
        met?.(found.at, false);
        // Deliveries may have waited for it.
        if (!inStep) this.#run.pump();
        return;
      case "new":
        // Who has ended asks for nothing more: a replay might not come that far before it ends.
        if (hasEnded) return;
        budget.check();
        return writer.write(call, met && ((at) => met(at, true)));
      case "past":
        return;
      case "diverged":
        return this.#run.diverge(found.why);
      case "unjournaled":
        throw unjournaled(call, found.why);
    }
  }

  /** Who waits for this completion: from now on nobody. */
  take({ of }: Completion): Settler | undefined {
    const settler = this.#settlers.get(of);
    if (settler === undefined) return undefined;
    this.#settlers.delete(of);
    this.#unsettled.delete(settler);
    return settler;
  }

  rejectAll(error: Error): void {
    for (const settler of this.#unsettled) settler.reject(error);
    this.forget();
  }

  /** None of them ever settles (E12). */
  forget(): void {
    this.#unsettled.clear();
    this.#settlers.clear();
  }
}

function unjournaled(call: Start, why: "no key" | "key used"): AgentError {
  const name = `turn.${callName(call)}`;
  if (why === "key used") {
    return new AgentError(
      "turn.unjournaled",
      `${name} was called twice with the key ${JSON.stringify(call.key)}; each call needs its own.`,
    );
  }
  const orKey =
    call.kind === "patched" || call.kind === "used" ? "" : ", or give this call a key of its own: { key: … }";
  return new AgentError(
    "turn.unjournaled",
    `${name} was called after awaiting something that is not turn's. After a crash this call could not be matched to its record. ` +
      `Wrap what you awaited in turn.effect(name, fn)${orKey}.`,
  );
}
