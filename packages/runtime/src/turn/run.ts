/**
 * One run of an agent's function against its turn's journal, from a claim until the turn ends, is parked, or is lost to this node.
 *
 * Owns the order of things: what comes back is handed over one at a time (E2), the function is dropped when it only waits (E11,
 * E12), and how it all ends.
 *
 * | a run is  | when                                                                      | leads to                |
 * |-----------|---------------------------------------------------------------------------|-------------------------|
 * | ours      | from the claim on                                                         | every other one         |
 * | dropped   | the function only waits, does not fit, or is not ours to run any more     | over                    |
 * | cancelled | somebody else has ended the turn: its `finally` still runs (E16)          | over                    |
 * | lost      | another node may have the turn: nothing counts any more but late outcomes | over                    |
 * | over      | {@link RunEnd} says how; nothing of it is left in memory (I12)            |                         |
 *
 * Leaves to others: what the function calls (calls.ts, and what the author's `Turn` looks like, face.ts), what runs inside an effect
 * (effect.ts), what is written (journal-writer.ts, snapshots.ts), what ends waits (waits.ts), the right to all of that (lease.ts), and when to run
 * (runner.ts).
 */
import { Cancelled } from "@nylorun/agents";
import type { Agent, EarlierTurn } from "@nylorun/agents";

import { Budget } from "./budget.ts";
import { Calls } from "./calls.ts";
import type { Delegation } from "./delegation.ts";
import { EffectRunner } from "./effect.ts";
import { endingOf, OutOfTime } from "./ending.ts";
import type { Result } from "./ending.ts";
import { createTurn } from "./face.ts";
import { Inputs } from "./inputs.ts";
import { JournalWriter } from "./journal-writer.ts";
import { standing, unfinished } from "./journal.ts";
import type { Completion, Entry } from "./journal.ts";
import { Lease } from "./lease.ts";
import { Outputs } from "./outputs.ts";
import type { EnginePorts, Running, Span } from "./ports.ts";
import { recall } from "./recall.ts";
import type { Claim, TurnRecord, TurnView } from "./record.ts";
import { Replay } from "./replay.ts";
import { Snapshots } from "./snapshots.ts";
import { beginRun, endRun } from "./trace.ts";
import { dueAt, ended, held } from "./view.ts";
import { Waits } from "./waits.ts";

/** How a run is over, for the node that ran it. */
export type RunEnd =
  /** The turn has ended; the next one of its context, if any, is claimed already. */
  | { readonly kind: "ended"; readonly next: Claim | undefined; readonly leaseUntil: number }
  /** It waits, or is held; nothing of it is left in memory (I12). */
  | { readonly kind: "parked" }
  /** Somebody else ended the turn, or took the lease; the function has settled. */
  | { readonly kind: "lost" };

export interface RunOptions {
  readonly claim: Claim;
  readonly agent: Agent;
  /** See {@link Lease.until}. */
  readonly leaseUntil: number;
  readonly ports: EnginePorts;
  /** Whether the next turn of the context, if there is one, may be run at once: nobody else waits. */
  readonly goesOn: () => boolean;
}

/** What a turn may run for between two waits without its being counted: over all its entries a quarter of an hour. */
const momentMs = 100;

export class Run implements Running {
  readonly effect = false;
  readonly agent: Agent;
  readonly ports: EnginePorts;
  readonly span: Span;
  /** No earlier run of it, and no earlier turn of its context, is stored. */
  readonly isNew: boolean;
  /** Earlier turns of the context. Set before the start. */
  earlier: readonly EarlierTurn[] = [];
  readonly budget = new Budget();
  readonly replay = new Replay();
  readonly lease: Lease;
  readonly writer: JournalWriter;
  readonly calls = new Calls(this);
  readonly waits = new Waits(this);
  readonly snapshots = new Snapshots(this);
  readonly effects = new EffectRunner(this);
  readonly inputs: Inputs;
  readonly outputs = new Outputs(this);
  /** Calls of other agents whose tasks go on. */
  readonly delegations = new Set<Delegation>();
  readonly #goesOn: () => boolean;
  readonly #abort = new AbortController();
  readonly #timeUp = new AbortController();
  readonly #end = Promise.withResolvers<RunEnd>();
  /** A step is open, or about to be: nothing else may be delivered. */
  #stepping = false;
  #inStep = false;
  #invoked = false;
  #result: Result | undefined;
  #holding: { readonly code: string; readonly message: string } | undefined;
  #cancelled = false;
  #dropped = false;
  #lost = false;
  /** The end of the turn is being written, and with it perhaps the claim of the next one. */
  #ending = false;
  #over = false;
  #parked = false;
  #now: number;
  #startedAt = 0;
  #stopGraceTimer: (() => void) | undefined;
  #stopStallTimer: (() => void) | undefined;
  #stopTimeout: (() => void) | undefined;
  #unlisten: (() => void) | undefined;

  constructor({ claim, agent, leaseUntil, ports, goesOn }: RunOptions) {
    this.#goesOn = goesOn;
    this.agent = agent;
    this.ports = ports;
    this.lease = new Lease(this, { epoch: claim.epoch, until: leaseUntil });
    this.writer = new JournalWriter(this, claim.turn);
    this.inputs = new Inputs(this);
    this.isNew = claim.first && claim.journal.length === 0;
    this.span = beginRun(ports, agent, claim);
    this.#now = claim.turn.createdAt;
    this.load(claim.journal);
  }

  get record(): TurnRecord {
    return this.writer.record;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborted when the turn has run for as long as it may. */
  get timeUp(): AbortSignal {
    return this.#timeUp.signal;
  }

  /** In the microtasks of the run's start or of a delivery (E3). */
  get inStep(): boolean {
    return this.#inStep;
  }

  /** The function has returned, or thrown. */
  get hasEnded(): boolean {
    return this.#result !== undefined;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** The function is no longer ours: what it calls never settles, what it does is ignored (E12). */
  get dropped(): boolean {
    return this.#dropped;
  }

  get isParked(): boolean {
    return this.#parked;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether anything that was recorded is still to come. */
  get behind(): boolean {
    return this.replay.behind;
  }

  /** Why the turn is to be held, once that is so. */
  get holding(): { readonly code: string; readonly message: string } | undefined {
    return this.#holding;
  }

  /** Whether what this run writes still counts. */
  get isOurs(): boolean {
    return !this.#over && !this.#cancelled && !this.#lost;
  }

  /** Milliseconds: when the last result that the function was handed came about; before the first, when the turn was made. */
  now(): number {
    return this.#now;
  }

  /** Entries that were there before this run, or that others wrote. */
  load(entries: readonly Entry[]): void {
    this.replay.load(entries);
    for (const entry of entries) this.budget.spend(entry);
  }

  /** Runs the function until there is no more to do. Never rejects. */
  start(): Promise<RunEnd> {
    const { ports, agent } = this;
    this.#unlisten = ports.signal.onTurn(this.record, () => void this.writer.changed());
    this.#startedAt = ports.timers.now();
    const left = ports.limits.turnTimeoutMs - (this.record.view.ranMs ?? 0);
    this.#stopTimeout = this.#after(Math.max(0, left), () => this.#outOfTime());
    this.#resume();
    this.#step(() => {
      this.#invoked = true;
      const done = ports.asyncContext.run(this, () => this.span.within(() => invoke(agent, this)));
      void done.then(
        (returned) => this.#finish({ returned }),
        (threw: unknown) => this.#finish({ threw }),
      );
    });
    return this.#end.promise;
  }

  /** Gives the turn up, as it is, for the next process to resume. */
  async stop(): Promise<void> {
    if (this.#over) return;
    this.#drop();
    await this.writer.letGo();
    this.#finished({ kind: "lost" });
  }

  /** E17: a promise of the agent's was rejected, and nobody looked. */
  rejected(error: unknown): void {
    if (!this.#dropped) this.#finish({ threw: error });
  }

  /** Something that this run waited for has happened: an effect came back, a write is on disk. */
  pump(): void {
    if (this.#over) return;
    if (this.#cancelled || this.#lost) return this.#drained();
    if (this.#stepping || this.writer.writing) return;
    if (this.writer.isReady) return this.writer.flush();
    if (this.#holding !== undefined) return void this.#hold();
    if (this.#dropped) return this.#drained();
    if (this.#result !== undefined) return this.#settle();
    const next = this.replay.next();
    if (next.kind !== "stalled") this.#clearStall();
    switch (next.kind) {
      case "deliver":
        if (!this.inputs.isLoaded(next.completion.of, this.replay.entries)) return;
        return this.#step(() => this.#deliver(next.at, next.completion));
      case "diverged":
        return this.diverge(next.why);
      case "stalled":
        return this.#stall(next.why);
      case "nothing":
        this.snapshots.caughtUp();
        void this.#park();
    }
  }

  // What happens in a step.

  /** Runs code of the function's, and what follows from that in microtasks (E3). */
  #step(code: () => void): void {
    this.#stepping = true;
    // Adjacent, so that no callback of anything else slips in between.
    setImmediate(() => {
      if (this.#dropped || this.#cancelled) return;
      this.#inStep = true;
      code();
    });
    setImmediate(() => {
      this.#inStep = this.#stepping = false;
      this.replay.closeStep();
      this.pump();
    });
  }

  #deliver(at: number, completion: Completion): void {
    this.replay.deliver(at);
    this.#now = completion.at;
    this.waits.ignoreSignal(completion.of);
    const settler = this.calls.take(completion);
    if (settler !== undefined) this.effects.handOver(completion, settler);
  }

  #finish(result: Result): void {
    if (this.#dropped) {
      const late = "threw" in result ? "threw" : "returned";
      if (this.#parked) this.reportLate(`its function ${late} after awaiting something that is not turn's`);
      return;
    }
    if (this.#result !== undefined) return;
    this.#result = result;
    if (this.#cancelled) return this.#drained();
    // The short way: nothing was asked for, so there is nothing to wait for.
    if (this.replay.entries.length === 0 && this.writer.idle) return this.#settle();
    this.pump();
  }

  /** E11: what a dropped run does is ignored, but not passed over in silence. */
  reportLate(what: string): void {
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.record), code: "turn.unjournaled" };
    log.error(fields, `While a wait is open, run may await only what turn gives it: ${what}. It was ignored.`);
  }

  // How a run resumes, and how it comes to an end.

  /** What the process that ran it before left open. */
  #resume(): void {
    const now = this.ports.store.now();
    const { entries } = this.replay;
    for (const of of unfinished(entries)) {
      // What an operator allowed is tried again when the function comes to it.
      if (standing(entries, of).stage === "begun") this.writer.write({ kind: "lost", of, at: now, why: "died" });
    }
    this.waits.endDue(now);
    this.waits.wake();
  }

  /** E10: the function has ended; the turn ends when every effect that was begun has an outcome. */
  #settle(): void {
    if (this.#over || this.#ending || this.writer.writing) return;
    const unmet = this.replay.unmet();
    if (unmet !== undefined && !this.timeUp.aborted)
      return unmet.keyed ? this.#stall(unmet.why) : this.diverge(unmet.why);
    if (!this.writer.idle || this.effects.running > 0) return;
    if (this.record.view.lost !== undefined) return void this.#park();
    void this.#endTurn(this.#result!);
  }

  async #endTurn(end: Result): Promise<void> {
    this.#ending = true;
    const found = await endingOf(end, this).catch((error: unknown) => {
      if (this.isOurs && !this.#dropped) throw error;
    });
    if (found === undefined) {
      // It is not this run's to end any more.
      this.#ending = false;
      return this.pump();
    }
    const { outputs, ...ending } = found;
    this.#unlisten?.();
    const now = this.ports.store.now();
    const { waits = [] } = this.record.view;
    const withdrawn = waits.map(({ of }): Entry => ({ kind: "end", of, at: now, how: "withdrawn" }));
    const { leaseMs } = this.ports.limits;
    const leaseUntil = this.ports.timers.now() + leaseMs;
    const result = await this.writer.commit(withdrawn, {
      then: { do: "end", ...(this.#goesOn() && { claim: { leaseMs } }) },
      view: (view) => ended(view, ending),
      state: ending.state,
      ...(outputs && { outputs }),
    });
    this.#ending = false;
    if (result?.kind === "committed") {
      this.#recall();
      return this.#finished({ kind: "ended", next: result.next, leaseUntil });
    }
    if (!this.#over) this.pump();
  }

  /** Nobody waits any more for what other agents still do for this turn. */
  #recall(): void {
    for (const { open } of this.delegations) if (open !== undefined) void recall(this.ports, this.record, open);
    this.delegations.clear();
  }

  /** E11: the function only waits. It is dropped, and run again when something of it is over. */
  async #park(): Promise<void> {
    if (this.#over || this.#dropped || !this.writer.idle) return;
    const { waits, lost } = this.record.view;
    if (waits === undefined && lost === undefined) return;
    if (this.#result === undefined) this.effects.verify(waits ?? []);
    if (this.effects.running > 0) return;
    const now = this.ports.store.now();
    this.waits.endDue(now);
    if (!this.writer.idle) return;
    const result = await this.writer.commit([], {
      then: { do: "park", dueAt: dueAt(waits, now) },
      view: (view) => this.#timed(view),
    });
    if (result?.kind === "committed") {
      this.#drop();
      this.#parked = true;
      return this.#finished({ kind: "parked" });
    }
    if (!this.#over) this.pump();
  }

  /** Waiting is not counted; nor is a moment before it, which would be one more write of the whole view. */
  #timed(view: TurnView): TurnView {
    const ran = this.ports.timers.now() - this.#startedAt;
    return ran < momentMs ? view : { ...view, ranMs: (view.ranMs ?? 0) + Math.round(ran) };
  }

  /** E5: the code is not the code that wrote the journal. */
  diverge(message: string): void {
    if (this.#dropped || this.#over) return;
    this.#drop();
    this.writer.dropStarts();
    this.#holding = { code: "journal.diverged", message };
    if (!this.#stepping) this.pump();
  }

  /** The function may be about to make a recorded call; not for ever. */
  #stall(why: string): void {
    this.#stopStallTimer ??= this.#after(this.ports.limits.replayStallMs, () => this.diverge(why));
  }

  #clearStall(): void {
    this.#stopStallTimer?.();
    this.#stopStallTimer = undefined;
  }

  async #hold(): Promise<void> {
    if (this.effects.running > 0) return;
    const why = this.#holding!;
    const { taskIds, log } = this.ports;
    log.warn({ agent: this.agent.id, task: taskIds.encode(this.record), ...why }, "A turn is held.");
    const result = await this.writer.commit([], {
      then: { do: "park", dueAt: undefined },
      view: (view) => held(view, why),
      state: "held",
    });
    if (result?.kind === "committed") return this.#finished({ kind: "parked" });
    if (!this.#over) this.pump();
  }

  /** E16: somebody else has ended the turn. */
  cancel(): void {
    if (this.#cancelled || this.#over) return;
    this.#cancelled = true;
    const cancelled = new Cancelled("The task was cancelled.");
    this.#abort.abort(cancelled);
    this.calls.rejectAll(cancelled);
    this.#recall();
    this.#letGo();
  }

  /** The lease is gone: another node may run the turn. Nothing that this run does counts any more, but for late outcomes. */
  lost(): void {
    if (this.#over || this.#cancelled) return;
    this.#lost = true;
    this.#drop();
    this.#abort.abort(new Error("This node has lost the turn."));
    this.#letGo();
  }

  /** What it was about to write is given up; its function and its effects are waited for, for a while. */
  #letGo(): void {
    this.writer.giveUp();
    this.#stopGraceTimer = this.#after(this.ports.limits.cancelGraceMs, () => this.#outOfGrace());
    this.#drained();
  }

  /** What does not heed its signal does not keep its place for ever. */
  #outOfGrace(): void {
    if (this.#ending) return;
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.record) };
    log.warn(fields, "The function of a turn that was taken from it still runs; it is waited for no longer.");
    this.#finished({ kind: "lost" });
  }

  #drained(): void {
    if (this.#over || this.effects.running > 0) return;
    // What comes of the end says what this run was. Its lease is gone when the end is on disk, and what it ends with is the claim of
    // the next turn: a run that was over by then would lose that.
    if (this.#ending) return;
    // Its `finally` still runs.
    if (this.#cancelled && this.#invoked && !this.#dropped && this.#result === undefined) return;
    if (this.#cancelled || this.#lost) this.#finished({ kind: "lost" });
  }

  #outOfTime(): void {
    if (this.#over) return;
    const seconds = Math.round(this.ports.limits.turnTimeoutMs / 1000);
    const error = new OutOfTime(`The agent did not finish this within ${seconds} seconds.`);
    // Whatever the turn waits for, an end that it has come to or a divergence: its effects are waited for no longer.
    this.#abort.abort(error);
    this.#timeUp.abort(error);
    if (!this.#dropped) this.#finish({ threw: error });
  }

  #drop(): void {
    this.#dropped = true;
    this.calls.forget();
    this.waits.ignoreSignals();
  }

  #finished(end: RunEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#unlisten?.();
    this.waits.ignoreSignals();
    this.waits.stop();
    this.snapshots.stop();
    this.#stopTimeout?.();
    this.#stopGraceTimer?.();
    this.#clearStall();
    endRun(this.span, this.record, this.#result);
    this.#end.resolve(end);
  }

  #after(ms: number, code: () => void): () => void {
    return this.ports.timers.after(ms, code);
  }
}

/** A `run` that throws before its first `await` is no different from one that throws after it. */
async function invoke(agent: Agent, run: Run): Promise<unknown> {
  if (run.inputs.any) await run.inputs.prepare();
  return agent.run(createTurn(run));
}
