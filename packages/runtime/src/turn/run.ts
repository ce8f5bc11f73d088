/**
 * One run of an agent's function against its turn's journal, from a claim until the turn ends, is parked, or is lost to this node.
 *
 * Owns what comes next, each time that something has happened ({@link Run.pump}), and what the run is:
 *
 * | a run is  | when                                                                      | leads to                |
 * |-----------|---------------------------------------------------------------------------|-------------------------|
 * | ours      | from the claim on                                                         | every other one         |
 * | dropped   | the function only waits, does not fit, or is not ours to run any more     | over                    |
 * | cancelled | somebody else has ended the turn: its `finally` still runs (E16)          | over                    |
 * | lost      | another node may have the turn: nothing counts any more but late outcomes | over                    |
 * | over      | {@link RunEnd} says how; nothing of it is left in memory (I12)            |                         |
 *
 * Leaves to others: how its function goes on (steps.ts), what the function calls (calls.ts, and what the author's `Turn` looks like,
 * face.ts), what runs inside an effect (effect.ts), what is written (journal-writer.ts, snapshots.ts), what ends waits (waits.ts), what becomes
 * of the turn (conclusion.ts), how long all of that may take (patience.ts) and the right to it (lease.ts), and when to run (runner.ts).
 */
import { Cancelled } from "@nylorun/agents";
import type { Agent, EarlierTurn } from "@nylorun/agents";

import { Budget } from "./budget.ts";
import { Calls } from "./calls.ts";
import { Conclusion } from "./conclusion.ts";
import type { Holding } from "./conclusion.ts";
import type { Delegation } from "./delegation.ts";
import { EffectRunner } from "./effect.ts";
import type { OutOfTime, Result } from "./ending.ts";
import { createTurn } from "./face.ts";
import { Inputs } from "./inputs.ts";
import { JournalWriter } from "./journal-writer.ts";
import { standing, unfinished } from "./journal.ts";
import type { Entry } from "./journal.ts";
import { Lease } from "./lease.ts";
import { Outputs } from "./outputs.ts";
import { Patience } from "./patience.ts";
import type { EnginePorts, Running, Span } from "./ports.ts";
import { recallAll } from "./recall.ts";
import type { Claim, TurnRecord } from "./record.ts";
import { Replay } from "./replay.ts";
import { Snapshots } from "./snapshots.ts";
import { Steps } from "./steps.ts";
import { beginRun, endRun } from "./trace.ts";
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
  readonly patience = new Patience(this);
  /** Calls of other agents whose tasks go on. */
  readonly delegations = new Set<Delegation>();
  readonly #steps: Steps;
  readonly #conclusion: Conclusion;
  readonly #abort = new AbortController();
  readonly #timeUp = new AbortController();
  readonly #end = Promise.withResolvers<RunEnd>();
  #invoked = false;
  #result: Result | undefined;
  #holding: Holding | undefined;
  #cancelled = false;
  #dropped = false;
  #lost = false;
  #over = false;
  #parked = false;

  constructor({ claim, agent, leaseUntil, ports, goesOn }: RunOptions) {
    this.agent = agent;
    this.ports = ports;
    this.lease = new Lease(this, { epoch: claim.epoch, until: leaseUntil });
    this.writer = new JournalWriter(this, claim.turn);
    this.inputs = new Inputs(this);
    this.isNew = claim.first && claim.journal.length === 0;
    this.span = beginRun(ports, agent, claim);
    this.#steps = new Steps(this, claim.turn.createdAt);
    this.#conclusion = new Conclusion(this, goesOn);
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
    return this.#steps.inStep;
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
  get holding(): Holding | undefined {
    return this.#holding;
  }

  /** Whether what this run writes still counts. */
  get isOurs(): boolean {
    return !this.#over && !this.#cancelled && !this.#lost;
  }

  /** Milliseconds: when the last result that the function was handed came about; before the first, when the turn was made. */
  now(): number {
    return this.#steps.now;
  }

  /** Entries that were there before this run, or that others wrote. */
  load(entries: readonly Entry[]): void {
    this.replay.load(entries);
    for (const entry of entries) this.budget.spend(entry);
  }

  /** Runs the function until there is no more to do. Never rejects. */
  start(): Promise<RunEnd> {
    // It was stopped while what comes before it was still being read.
    if (this.#over) return this.#end.promise;
    const { ports, agent } = this;
    this.writer.listen();
    this.patience.start();
    this.#resume();
    this.#steps.take(() => {
      this.#invoked = true;
      const done = ports.asyncContext.run(this, () => this.span.within(() => invoke(agent, this)));
      void done.then(
        (returned) => this.#ended({ returned }),
        (threw: unknown) => this.#ended({ threw }),
      );
    });
    return this.#end.promise;
  }

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

  /** Something that this run waited for has happened: an effect came back, a write is on disk. */
  pump(): void {
    if (this.#over) return;
    if (this.#cancelled || this.#lost) return this.#drained();
    if (this.#steps.open || this.writer.writing) return;
    if (this.writer.isReady) return this.writer.flush();
    if (this.#holding !== undefined) return void this.#conclusion.hold(this.#holding);
    if (this.#dropped) return this.#drained();
    if (this.#result !== undefined) return this.#conclusion.settle(this.#result);
    const next = this.replay.next();
    if (next.kind !== "stalled") this.patience.clearStall();
    switch (next.kind) {
      case "deliver":
        if (!this.inputs.isLoaded(next.completion.of, this.replay.entries)) return;
        return this.#steps.deliver(next.at, next.completion);
      case "diverged":
        return this.diverge(next.why);
      case "stalled":
        return this.patience.stall(next.why);
      case "nothing":
        this.snapshots.caughtUp();
        void this.#conclusion.park();
    }
  }

  /** E17: a promise of the agent's was rejected, and nobody looked. */
  rejected(error: unknown): void {
    if (!this.#dropped) this.#ended({ threw: error });
  }

  /** The function has returned, or thrown. */
  #ended(result: Result): void {
    if (this.#dropped) {
      const late = "threw" in result ? "threw" : "returned";
      if (this.#parked) this.reportLate(`its function ${late} after awaiting something that is not turn's`);
      return;
    }
    if (this.#result !== undefined) return;
    this.#result = result;
    if (this.#cancelled) return this.#drained();
    // The short way: nothing was asked for, so there is nothing to wait for.
    if (this.replay.entries.length === 0 && this.writer.idle) return this.#conclusion.settle(result);
    this.pump();
  }

  /** E11: what a dropped run does is ignored, but not passed over in silence. */
  reportLate(what: string): void {
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.record), code: "turn.unjournaled" };
    log.error(fields, `While a wait is open, run may await only what turn gives it: ${what}. It was ignored.`);
  }

  // How it comes to an end.

  /** It is given back, and waits: what its function may still do is not heard any more (E12). */
  parked(): void {
    this.#drop();
    this.#parked = true;
    this.finish({ kind: "parked" });
  }

  /** E17: the turn has run for as long as it may. */
  outOfTime(error: OutOfTime): void {
    if (this.#over) return;
    // Whatever the turn waits for, an end that it has come to or a divergence: its effects are waited for no longer.
    this.#abort.abort(error);
    this.#timeUp.abort(error);
    if (!this.#dropped) this.#ended({ threw: error });
  }

  /** E5: the code is not the code that wrote the journal. */
  diverge(message: string): void {
    if (this.#dropped || this.#over) return;
    this.#drop();
    this.writer.dropStarts();
    this.#holding = { code: "journal.diverged", message };
    if (!this.#steps.open) this.pump();
  }

  /** E16: somebody else has ended the turn. */
  cancel(): void {
    if (this.#cancelled || this.#over) return;
    this.#cancelled = true;
    const cancelled = new Cancelled("The task was cancelled.");
    this.#abort.abort(cancelled);
    this.calls.rejectAll(cancelled);
    recallAll(this);
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

  /** Gives the turn up, as it is, for the next process to resume. */
  async stop(): Promise<void> {
    if (this.#over) return;
    this.#drop();
    await this.writer.letGo();
    this.finish({ kind: "lost" });
  }

  /** What it was about to write is given up; its function and its effects are waited for, for a while. */
  #letGo(): void {
    this.writer.giveUp();
    this.patience.grace();
    this.#drained();
  }

  /** What still runs of it is waited for no longer. */
  outOfGrace(): void {
    if (this.#conclusion.ending) return;
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.record) };
    log.warn(fields, "The function of a turn that was taken from it still runs; it is waited for no longer.");
    this.finish({ kind: "lost" });
  }

  #drained(): void {
    if (this.#over || this.effects.running > 0) return;
    // What comes of the end says what this run was. Its lease is gone when the end is on disk, and what it ends with is the claim of
    // the next turn: a run that was over by then would lose that.
    if (this.#conclusion.ending) return;
    // Its `finally` still runs.
    if (this.#cancelled && this.#invoked && !this.#dropped && this.#result === undefined) return;
    if (this.#cancelled || this.#lost) this.finish({ kind: "lost" });
  }

  #drop(): void {
    this.#dropped = true;
    this.calls.forget();
    this.waits.ignoreSignals();
  }

  /** The run is over. */
  finish(end: RunEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.writer.ignore();
    this.waits.ignoreSignals();
    this.waits.stop();
    this.snapshots.stop();
    this.patience.stop();
    endRun(this.span, this.record, this.#result);
    this.#end.resolve(end);
  }
}

/** A `run` that throws before its first `await` is no different from one that throws after it. */
async function invoke(agent: Agent, run: Run): Promise<unknown> {
  if (run.inputs.any) await run.inputs.prepare();
  return agent.run(createTurn(run));
}
