/**
 * One run of an agent's function against its turn's journal, from a claim until the turn ends, is parked, or is lost to this node.
 *
 * Owns the order of things: what the function asks for is met by the journal or written to it; what comes back is written first and
 * handed over one at a time (E2); the function is dropped when it only waits (E11, E12). Every write is a compare-and-set on the
 * journal's length under the claim's epoch (E18): who is behind reads what others appended, and tries again.
 *
 * Leaves to others: what the author's `Turn` looks like (face.ts), what runs inside an effect (effect.ts), when to run (runner.ts).
 */
import { AgentError, Cancelled, isRefusal, isReply } from "@nylorun/agents";
import type { Agent, EarlierTurn, Turn } from "@nylorun/agents";
import type { Artifact, PlanStep } from "@nylorun/protocol";

import type { Commit, Committed, Then } from "../store/store.ts";
import { Budget } from "./budget.ts";
import { EffectRunner } from "./effect.ts";
import type { Settler } from "./effect.ts";
import { createTurn } from "./face.ts";
import { callName, isStart, standing, unfinished } from "./journal.ts";
import type { Completion, EffectEnded, Entry, Start } from "./journal.ts";
import { resultOf } from "./json.ts";
import type { EnginePorts, Running, Span } from "./ports.ts";
import type { Claim, Said, TurnRecord, TurnView } from "./record.ts";
import { Replay } from "./replay.ts";
import { pause } from "./timers.ts";
import { beginRun, endRun, traceWaits } from "./trace.ts";
import { advance, advanceEnded, dueAt, ended, held, said, stateOf } from "./view.ts";
import type { Ending } from "./view.ts";

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
  /** See {@link Run.leaseUntil}. */
  readonly leaseUntil: number;
  readonly ports: EnginePorts;
  /** Whether the next turn of the context, if there is one, may be run at once: nobody else waits. */
  readonly goesOn: () => boolean;
}

/** How long a write that failed waits before it is tried again: doubling, up to the longest. */
const firstStorePauseMs = 20;
const longestStorePauseMs = 2000;
/** What a turn may run for between two waits without its being counted: over all its entries a quarter of an hour. */
const momentMs = 100;
/** The shortest time between two writes that only show plan or progress (E15). */
const snapshotEveryMs = 250;

interface Outgoing {
  readonly entry: Entry;
  /** Called when the entry is on disk, with its place. */
  readonly written?: (at: number) => void;
  /** Of an outcome: which attempt's it is. */
  readonly attempt?: number;
}

/** What is shown and was not written yet; undefined: nothing has changed. */
interface Snapshot {
  readonly plan: readonly PlanStep[] | undefined;
  readonly progress: TurnView["progress"] | undefined;
  readonly words: readonly Said[];
}

type Result = { readonly returned: unknown } | { readonly threw: unknown };

export class Run implements Running {
  readonly effect = false;
  /** Monotonic milliseconds (`timers.now()`) until which this node has the turn for sure. */
  leaseUntil: number;
  readonly agent: Agent;
  readonly ports: EnginePorts;
  readonly span: Span;
  /** Earlier turns of the context. Set before the start. */
  earlier: readonly EarlierTurn[] = [];
  readonly #epoch: number;
  readonly #goesOn: () => boolean;
  readonly budget = new Budget();
  readonly #replay = new Replay();
  readonly #abort = new AbortController();
  readonly #timeUp = new AbortController();
  readonly #effects: EffectRunner;
  readonly #end = Promise.withResolvers<RunEnd>();
  readonly #settlers = new Map<number, Settler>();
  /** Those, and those of calls that are still to be written. */
  readonly #unsettled = new Set<Settler>();
  /** Stop listening to the signals that waits were given. */
  readonly #withdrawals = new Map<number, () => void>();
  #record: TurnRecord;
  #outgoing: Outgoing[] = [];
  #writing = false;
  #reading = false;
  #readAgain = false;
  /** A step is open, or about to be: nothing else may be delivered. */
  #stepping = false;
  /** In the microtasks of the run's start or of a delivery (E3). */
  #inStep = false;
  #invoked = false;
  #result: Result | undefined;
  #holding: { readonly code: string; readonly message: string } | undefined;
  #cancelled = false;
  /** The function is no longer ours: what it calls never settles, what it does is ignored (E12). */
  #dropped = false;
  #lost = false;
  /** The end of the turn is being written, and with it perhaps the claim of the next one. */
  #ending = false;
  #over = false;
  #parked = false;
  #caughtUp = false;
  #now: number;
  #startedAt = 0;
  #plan: readonly PlanStep[] | undefined;
  #progress: TurnView["progress"];
  #words: readonly Said[] = [];
  #snapshotAt = 0;
  #snapshotDueNow = false;
  #stopSnapshotTimer: (() => void) | undefined;
  #stopGraceTimer: (() => void) | undefined;
  #stopStallTimer: (() => void) | undefined;
  #stopWakeTimer: (() => void) | undefined;
  #stopTimeout: (() => void) | undefined;
  #unlisten: (() => void) | undefined;

  constructor({ claim, agent, leaseUntil, ports, goesOn }: RunOptions) {
    this.#goesOn = goesOn;
    this.agent = agent;
    this.ports = ports;
    this.leaseUntil = leaseUntil;
    this.#epoch = claim.epoch;
    this.#now = claim.turn.createdAt;
    this.#record = claim.turn;
    this.span = beginRun(ports, agent, claim);
    this.#load(claim.journal);
    this.#effects = new EffectRunner(this);
  }

  get record(): TurnRecord {
    return this.#record;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborted when the turn has run for as long as it may. */
  get timeUp(): AbortSignal {
    return this.#timeUp.signal;
  }

  get entries(): readonly Entry[] {
    return this.#replay.entries;
  }

  /** How many results the function has been handed: what deterministic time and chance follow from (E15). */
  get delivered(): number {
    return this.#replay.delivered;
  }

  get inStep(): boolean {
    return this.#inStep;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  get dropped(): boolean {
    return this.#dropped;
  }

  get behind(): boolean {
    return this.#replay.behind;
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

  /**
   * Whether this node has the turn for sure: before its lease ends, by its own monotonic clock. After that it asks the store; an
   * effect waits for the answer (E7).
   */
  async mayAct(): Promise<boolean> {
    const { store, limits, timers } = this.ports;
    while (this.isOurs && timers.now() >= this.leaseUntil) {
      const asked = timers.now();
      const lease = { context: this.#record.context, epoch: this.#epoch };
      const lost = await store.renew([lease], limits.leaseMs).catch(() => undefined);
      if (lost === undefined) await pause(timers, firstStorePauseMs);
      else if (lost.length > 0) await this.leaseLost();
      else this.leaseUntil = asked + limits.leaseMs;
    }
    return this.isOurs;
  }

  /** Runs the function until there is no more to do. Never rejects. */
  start(): Promise<RunEnd> {
    const { ports, agent } = this;
    this.#unlisten = ports.signal.onTurn(this.#record, () => void this.#changed());
    this.#startedAt = ports.timers.now();
    const left = ports.limits.turnTimeoutMs - (this.#record.view.ranMs ?? 0);
    this.#stopTimeout = this.#after(Math.max(0, left), () => this.#outOfTime());
    this.#resume();
    const turn = createTurn(this, this.#effects);
    this.#step(() => {
      this.#invoked = true;
      const done = ports.asyncContext.run(this, () => this.span.within(() => invoke(agent, turn)));
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
    while (this.#writing) await new Promise((resolve) => setImmediate(resolve));
    for (let tries = 0; tries < 10 && !this.#over; tries++) {
      // Nothing more begins; what came of what began is kept.
      const known = this.#outgoing.filter(({ entry }) => !isStart(entry) && entry.kind !== "retry");
      const result = await this.#commit(known, { do: "park", dueAt: this.ports.store.now() });
      if (result?.kind !== "behind") break;
    }
    this.#finished({ kind: "lost" });
  }

  /** E17: a promise of the agent's was rejected, and nobody looked. */
  rejected(error: unknown): void {
    if (!this.#dropped) this.#finish({ threw: error });
  }

  /** Asks for something that is journaled. What it comes to is settled when it is its turn. */
  call(start: Start, begin?: (at: number, isNew: boolean) => void, signal?: AbortSignal): Promise<unknown> {
    const promise = new Promise<unknown>((resolve, reject) => {
      if (this.#timeUp.signal.aborted) return;
      if (this.#dropped) return this.#parked ? this.reportLate(`it called turn.${callName(start)}`) : undefined;
      if (this.#cancelled) return reject(new Cancelled("The task was cancelled."));
      const settler: Settler = { resolve, reject, signal };
      this.#unsettled.add(settler);
      this.meet(start, (at, isNew) => {
        this.#settlers.set(at, settler);
        if (isNew || !this.#replay.hasEnded(at)) begin?.(at, isNew);
      });
    });
    // The author may look at it later, or never: that is no unhandled rejection (E17).
    promise.catch(() => undefined);
    return promise;
  }

  /**
   * Meets a start with the journal, or writes it.
   *
   * @param met Called with its place: at once when the journal has it, else when it is on disk.
   * @throws AgentError `turn.unjournaled`, `turn.tooLarge`.
   */
  meet(start: Start, met?: (at: number, isNew: boolean) => void): void {
    if (this.#timeUp.signal.aborted) return;
    const call = this.#inStep ? { ...start, after: this.#replay.delivered } : start;
    const found = this.#replay.meet(call);
    switch (found.met) {
      case "recorded":
        met?.(found.at, false);
        // Deliveries may have waited for it.
        if (!this.#inStep) this.pump();
        return;
      case "new":
        // Who has ended asks for nothing more: a replay might not come that far before it ends.
        if (this.#result !== undefined) return;
        this.budget.check();
        return this.write(call, met && ((at) => met(at, true)));
      case "past":
        return;
      case "diverged":
        return this.#diverge(found.why);
      case "unjournaled":
        throw unjournaled(call, found.why);
    }
  }

  /** Whether this turn goes the patched way: it marked that, or nothing that it did before lies ahead. */
  patched(mark: Start & { kind: "patched" }): boolean {
    if (this.#cancelled) throw new Cancelled("The task was cancelled.");
    if (this.#dropped) return false;
    if (this.#replay.isNext(mark)) {
      this.meet(mark);
      return true;
    }
    // What the old code called after this line: what has merely come back since says nothing of it.
    if (this.#replay.startsAhead) return false;
    this.meet(mark);
    return true;
  }

  /**
   * An outcome that came after its time was up, or after the turn was taken from this run: it resolves the effect, or is evidence
   * (E9, E16). It says nothing of another attempt than its own.
   */
  async recordLate(entry: EffectEnded, attempt: number): Promise<void> {
    const { store, log } = this.ports;
    try {
      for (let tries = 0; tries < 100; tries++) {
        const record = await store.loadTurn(this.#record);
        if (record === undefined) return;
        const journal = (await store.loadJournal(record, 0)).slice(0, record.length);
        const { stage, attempts } = standing(journal, entry.of);
        if (attempts !== attempt || stage === "done" || stage === "allowed") return;
        const view = (isEnded(record) ? advanceEnded : advance)(record.view, entry, record.length, journal);
        const state = isEnded(record) || record.state === "held" ? record.state : stateOf(view);
        const result = await store.commit({
          key: record,
          length: record.length,
          revision: record.revision,
          from: [record.state],
          entries: [entry],
          view,
          state,
          ...(state !== record.state && { statusChanged: true }),
          ...(!isEnded(record) && state !== "held" && { then: { do: "wake" } }),
        });
        if (result.kind === "committed") return;
      }
      log.warn({ task: this.ports.taskIds.encode(this.#record) }, "A late outcome could not be recorded.");
    } catch (error) {
      log.warn({ task: this.ports.taskIds.encode(this.#record), error }, "A late outcome could not be recorded.");
    }
  }

  /** Appends an entry. */
  write(entry: Entry, written?: (at: number) => void): void {
    this.#send(written ? { entry, written } : { entry });
  }

  writeOutcome(entry: EffectEnded, attempt: number): void {
    this.#send({ entry, attempt });
  }

  #send(outgoing: Outgoing): void {
    this.budget.spend(outgoing.entry);
    this.#outgoing.push(outgoing);
    if (!this.#writing) queueMicrotask(() => void this.#flush());
  }

  /** A wait's own end, unless it has ended already. */
  endWait(of: number, end: Omit<Completion & { kind: "end" }, "kind" | "of" | "at">): void {
    if (this.#over || this.#dropped || this.#replay.hasEnded(of)) return;
    if (this.#outgoing.some(({ entry }) => entry.kind === "end" && entry.of === of)) return;
    this.write({ kind: "end", of, at: this.ports.store.now(), ...end });
  }

  /** Takes a wait back when the author's signal is aborted, as long as this run waits for it. */
  withdrawWhen(signal: AbortSignal, of: number): void {
    const withdraw = () => this.endWait(of, { how: "withdrawn" });
    signal.addEventListener("abort", withdraw);
    this.#withdrawals.set(of, () => signal.removeEventListener("abort", withdraw));
    if (signal.aborted) withdraw();
  }

  showPlan(steps: readonly PlanStep[]): void {
    this.#plan = steps;
    this.#snapshot();
  }

  showProgress(progress: NonNullable<TurnView["progress"]>): void {
    this.#progress = progress;
    this.#snapshot();
  }

  /** Said where no replay could match it, in an effect or out of step: shown, but no entry. Muted while it would be said again. */
  showWords(text: string): void {
    if (this.#dropped || (this.#replay.behind && !this.#caughtUp)) return;
    this.#words = [...this.#words, { by: "agent", id: this.ports.entropy.id(), parts: [{ text }] }];
    this.#snapshot();
  }

  /** Something that this run waited for has happened: an effect came back, a write is on disk. */
  pump(): void {
    if (this.#over) return;
    if (this.#cancelled || this.#lost) return this.#drained();
    if (this.#stepping || this.#writing) return;
    if (this.#ready().length > 0) return void this.#flush();
    if (this.#holding !== undefined) return void this.#hold();
    if (this.#dropped) return this.#drained();
    if (this.#result !== undefined) return this.#settle();
    const next = this.#replay.next();
    if (next.kind !== "stalled") this.#clearStall();
    switch (next.kind) {
      case "deliver":
        return this.#step(() => this.#deliver(next.at, next.completion));
      case "diverged":
        return this.#diverge(next.why);
      case "stalled":
        return this.#stall(next.why);
      case "nothing":
        this.#caughtUp = true;
        this.#snapshot();
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
      this.#replay.closeStep();
      this.pump();
    });
  }

  #deliver(at: number, completion: Completion): void {
    this.#replay.deliver(at);
    this.#now = completion.at;
    this.#withdrawals.get(completion.of)?.();
    this.#withdrawals.delete(completion.of);
    const settler = this.#settlers.get(completion.of);
    this.#settlers.delete(completion.of);
    if (settler === undefined) return;
    this.#unsettled.delete(settler);
    this.#effects.handOver(completion, settler);
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
    if (this.#replay.entries.length === 0 && this.#outgoing.length === 0 && !this.#writing) return this.#settle();
    this.pump();
  }

  // How a run resumes, and how it comes to an end.

  /** What the process that ran it before left open. */
  #resume(): void {
    const now = this.ports.store.now();
    for (const of of unfinished(this.entries)) {
      // What an operator allowed is tried again when the function comes to it.
      if (standing(this.entries, of).stage === "begun") this.write({ kind: "lost", of, at: now, why: "died" });
    }
    this.#endDueWaits(now);
    this.#wakeForWaits();
  }

  /** Sleeps whose time has come, and interactions that nobody answered in time. */
  #endDueWaits(now: number): void {
    for (const wait of this.#record.view.waits ?? []) {
      if (wait.kind === "sleep") {
        if (wait.until <= now) this.endWait(wait.of, { how: "elapsed" });
      } else if (wait.expiresAt !== undefined && wait.expiresAt <= now) this.endWait(wait.of, { how: "expired" });
    }
  }

  /** E10: the function has ended; the turn ends when every effect that was begun has an outcome. */
  #settle(): void {
    if (this.#over || this.#writing) return;
    const unmet = this.#replay.unmet();
    if (unmet !== undefined && !this.timeUp.aborted)
      return unmet.keyed ? this.#stall(unmet.why) : this.#diverge(unmet.why);
    if (this.#outgoing.length > 0 || this.#effects.running > 0) return;
    if (this.#record.view.lost !== undefined) return void this.#park();
    void this.#endTurn(this.#endingOf(this.#result!));
  }

  #endingOf(result: Result): Ending {
    if ("threw" in result) {
      const { threw } = result;
      if (isRefusal(threw)) return { state: "rejected", why: this.#why(threw.message) };
      const { taskIds, log } = this.ports;
      log.error({ error: threw, agent: this.agent.id, task: taskIds.encode(this.#record) }, "The agent threw.");
      const why = threw instanceof OutOfTime ? threw.message : "The agent could not finish this.";
      return { state: "failed", why: this.#why(why) };
    }
    const { returned } = result;
    if (returned === undefined) return { state: "completed" };
    if (isReply(returned)) return { state: "completed", reply: returned.parts };
    if (typeof returned === "string") return { state: "completed", artifacts: [output({ text: returned })] };
    const json = resultOf(returned);
    if ("error" in json)
      return this.#endingOf({ threw: new TypeError(`run returned what cannot be an output. ${json.error.message}`) });
    return { state: "completed", artifacts: [output({ data: json.value, mediaType: "application/json" })] };
  }

  #why(text: string): Said {
    return { by: "agent", id: this.ports.entropy.id(), parts: [{ text }] };
  }

  async #endTurn(ending: Ending): Promise<void> {
    this.#unlisten?.();
    const now = this.ports.store.now();
    const withdrawn = (this.#record.view.waits ?? []).map(({ of }): Entry => ({
      kind: "end",
      of,
      at: now,
      how: "withdrawn",
    }));
    const { leaseMs } = this.ports.limits;
    const leaseUntil = this.ports.timers.now() + leaseMs;
    const entries = withdrawn.map((entry) => ({ entry }));
    this.#ending = true;
    const result = await this.#commit(
      entries,
      { do: "end", ...(this.#goesOn() && { claim: { leaseMs } }) },
      (view) => ended(view, ending),
      ending.state,
    );
    this.#ending = false;
    if (result?.kind === "committed") return this.#finished({ kind: "ended", next: result.next, leaseUntil });
    if (!this.#over) this.pump();
  }

  /** E11: the function only waits. It is dropped, and run again when something of it is over. */
  async #park(): Promise<void> {
    if (this.#over || this.#dropped || this.#writing || this.#outgoing.length > 0) return;
    const { waits, lost } = this.#record.view;
    if (waits === undefined && lost === undefined) return;
    if (this.#result === undefined) this.#effects.verify(waits ?? []);
    if (this.#effects.running > 0) return;
    const now = this.ports.store.now();
    this.#endDueWaits(now);
    if (this.#outgoing.length > 0) return;
    const result = await this.#commit([], { do: "park", dueAt: dueAt(waits, now) }, (view) => this.#timed(view));
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
  #diverge(message: string): void {
    if (this.#dropped || this.#over) return;
    this.#drop();
    this.#outgoing = this.#outgoing.filter(({ entry }) => !isStart(entry));
    this.#holding = { code: "journal.diverged", message };
    if (!this.#stepping) this.pump();
  }

  /** The function may be about to make a recorded call; not for ever. */
  #stall(why: string): void {
    this.#stopStallTimer ??= this.#after(this.ports.limits.replayStallMs, () => this.#diverge(why));
  }

  async #hold(): Promise<void> {
    if (this.#effects.running > 0) return;
    const why = this.#holding!;
    const { taskIds, log } = this.ports;
    log.warn({ agent: this.agent.id, task: taskIds.encode(this.#record), ...why }, "A turn is held.");
    const result = await this.#commit([], { do: "park", dueAt: undefined }, (view) => held(view, why), "held");
    if (result?.kind === "committed") return this.#finished({ kind: "parked" });
    if (!this.#over) this.pump();
  }

  /** E16: somebody else has ended the turn. */
  #cancel(): void {
    if (this.#cancelled || this.#over) return;
    this.#cancelled = true;
    const cancelled = new Cancelled("The task was cancelled.");
    this.#abort.abort(cancelled);
    for (const settler of this.#unsettled) settler.reject(cancelled);
    this.#unsettled.clear();
    this.#settlers.clear();
    this.#giveUp(this.#outgoing);
    this.#outgoing = [];
    this.#stopGraceTimer = this.#after(this.ports.limits.cancelGraceMs, () => this.#outOfGrace());
    this.#drained();
  }

  /** The store says that the lease is gone: somebody has ended the turn, or another node has it. */
  async leaseLost(): Promise<void> {
    // Until it is known which, nothing begins.
    this.leaseUntil = -Infinity;
    const record = await this.ports.store.loadTurn(this.#record).catch(() => undefined);
    if (record !== undefined && isEnded(record)) this.#cancel();
    else this.lost();
  }

  /** The lease is gone: another node may run the turn. Nothing that this run does counts any more, but for late outcomes. */
  lost(): void {
    if (this.#over || this.#cancelled) return;
    this.#lost = true;
    this.#drop();
    this.#abort.abort(new Error("This node has lost the turn."));
    this.#giveUp(this.#outgoing);
    this.#outgoing = [];
    this.#stopGraceTimer = this.#after(this.ports.limits.cancelGraceMs, () => this.#outOfGrace());
    this.#drained();
  }

  /** What does not heed its signal does not keep its place for ever. */
  #outOfGrace(): void {
    if (this.#ending) return;
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.#record) };
    log.warn(fields, "The function of a turn that was taken from it still runs; it is waited for no longer.");
    this.#finished({ kind: "lost" });
  }

  #drained(): void {
    if (this.#over || this.#effects.running > 0) return;
    // What comes of the end says what this run was. Its lease is gone when the end is on disk, and what it ends with is the claim of
    // the next turn: a run that was over by then would lose that.
    if (this.#ending) return;
    // Its `finally` still runs.
    if (this.#cancelled && this.#invoked && !this.#dropped && this.#result === undefined) return;
    if (this.#cancelled || this.#lost) this.#finished({ kind: "lost" });
  }

  #drop(): void {
    this.#dropped = true;
    this.#unsettled.clear();
    this.#settlers.clear();
    this.#ignoreSignals();
  }

  #ignoreSignals(): void {
    for (const ignore of this.#withdrawals.values()) ignore();
    this.#withdrawals.clear();
  }

  #finished(end: RunEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#unlisten?.();
    this.#ignoreSignals();
    this.#stopTimeout?.();
    this.#stopSnapshotTimer?.();
    this.#stopWakeTimer?.();
    this.#stopGraceTimer?.();
    this.#clearStall();
    endRun(this.span, this.#record, this.#result);
    this.#end.resolve(end);
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

  /** E11: what a dropped run does is ignored, but not passed over in silence. */
  reportLate(what: string): void {
    const { taskIds, log } = this.ports;
    const fields = { agent: this.agent.id, task: taskIds.encode(this.#record), code: "turn.unjournaled" };
    log.error(fields, `While a wait is open, run may await only what turn gives it: ${what}. It was ignored.`);
  }

  // What others do.

  async #changed(): Promise<void> {
    if (this.#over) return;
    // What is being written or read now may overtake what a read would find: it is read afterwards.
    if (this.#writing || this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    try {
      const before = this.#record;
      const found = await this.#read();
      if (this.#writing || this.#record !== before) this.#readAgain = true;
      else this.#absorb(found);
    } catch (error) {
      this.ports.log.warn({ error }, "A turn could not be read; it is read again at its next change.");
    } finally {
      this.#reading = false;
    }
    if (!this.#writing) this.#readOnce();
    this.pump();
  }

  #readOnce(): void {
    if (!this.#readAgain) return;
    this.#readAgain = false;
    void this.#changed();
  }

  #load(entries: readonly Entry[]): void {
    this.#replay.load(entries);
    for (const entry of entries) this.budget.spend(entry);
  }

  async #read(): Promise<{ readonly record: TurnRecord | undefined; readonly tail: readonly Entry[] }> {
    const { store } = this.ports;
    const [record, tail] = await Promise.all([
      store.loadTurn(this.#record),
      store.loadJournal(this.#record, this.#replay.entries.length),
    ]);
    return { record, tail };
  }

  /** Takes over what others appended; finds out when the turn is no longer this run's. */
  #absorb({ record, tail }: { readonly record: TurnRecord | undefined; readonly tail: readonly Entry[] }): void {
    if (this.#over || record === undefined) return;
    if (isEnded(record)) return this.#cancel();
    // Something was appended between the two reads: it will be signalled, or met by the next write.
    if (record.length !== this.#replay.entries.length + tail.length) return;
    this.#record = record;
    this.#load(tail);
    for (const entry of tail) if (entry.kind === "retry") this.#effects.retry(entry.of);
  }

  // Writing.

  async #flush(): Promise<void> {
    if (this.#over || this.#writing || this.#cancelled) return;
    const batch = this.#ready();
    this.#outgoing = batch === this.#outgoing ? [] : this.#outgoing.filter(({ entry }) => isStart(entry));
    if (batch.length === 0 && !this.#snapshotDue()) return;
    await this.#commit(batch, undefined);
    this.pump();
  }

  /** What may be written now. Nothing new begins before the code has made all calls that are recorded: it may be other code (E5). */
  #ready(): readonly Outgoing[] {
    return this.#replay.startsAhead ? this.#outgoing.filter(({ entry }) => !isStart(entry)) : this.#outgoing;
  }

  /** One write at a time, so that entries stand in the order in which they were asked for. */
  async #commit(
    batch: readonly Outgoing[],
    then: Then | undefined,
    change: (view: TurnView) => TurnView = (view) => view,
    state?: TurnRecord["state"],
  ): Promise<Committed | undefined> {
    this.#writing = true;
    try {
      let waiting = batch;
      for (let failures = 0; ;) {
        // What somebody else has concluded in the meantime is not concluded again.
        waiting = waiting.filter(({ entry }) => !("of" in entry && this.#replay.hasEnded(entry.of)));
        const { length } = this.#record;
        const entries = waiting.map(({ entry }) => entry);
        const known = entries.length === 0 ? entries : [...this.#replay.entries, ...entries];
        const before = this.#record.view;
        const advanced = entries.reduce((view, entry, index) => advance(view, entry, length + index, known), before);
        const shown = this.#snapshotNow();
        const view = change(withSnapshot(advanced, shown));
        const nextState = state ?? stateOf(view);
        const statusChanged = view.status?.id !== before.status?.id;
        const result = await this.#tryCommit({
          key: this.#record,
          length,
          epoch: this.#epoch,
          ...(entries.length > 0 && { entries }),
          ...(view !== before && { view }),
          state: nextState,
          statusChanged,
          ...(then && { then }),
        });
        if (result === undefined) {
          // The store is down, or full: what was asked for waits until it is not.
          await pause(this.ports.timers, Math.min(longestStorePauseMs, firstStorePauseMs * 2 ** failures++));
          if (this.#over || this.#cancelled || this.#dropped) return this.#giveUp(waiting);
          continue;
        }
        if (result.kind === "committed") {
          traceWaits(this.ports, this.#record, { view, entries });
          this.#record = { ...this.#record, length: result.length, view, state: nextState };
          if (shown !== undefined) this.#snapshotWritten(shown);
          for (const { entry, written } of waiting) {
            const at = this.#replay.append(entry);
            written?.(at);
          }
          return result;
        }
        if (result.kind === "fenced") {
          this.#fenced(result.state);
          this.#giveUp(waiting);
          return result;
        }
        const found = await this.#read().catch(() => undefined);
        if (found === undefined) await pause(this.ports.timers, firstStorePauseMs);
        else this.#absorb(found);
        if (this.#over || this.#cancelled) return this.#giveUp(waiting);
        // What ends a turn or parks it was decided without what others appended: it is decided anew.
        if (then !== undefined) return result;
      }
    } finally {
      this.#writing = false;
      this.#wakeForWaits();
      this.#readOnce();
    }
  }

  async #tryCommit(change: Commit): Promise<Committed | undefined> {
    try {
      return await this.ports.store.commit(change);
    } catch (error) {
      const { taskIds, log } = this.ports;
      log.error({ error, task: taskIds.encode(this.#record) }, "A turn could not be written; trying again.");
      return undefined;
    }
  }

  /** What cannot be written any more, under this claim. What is known of an effect is kept all the same (E9, E16). */
  #giveUp(outgoing: readonly Outgoing[]): undefined {
    for (const { entry, attempt } of outgoing) {
      if (entry.kind === "outcome" && attempt !== undefined) void this.recordLate(entry, attempt);
    }
  }

  #fenced(state: TurnRecord["state"]): void {
    if (isEnded({ state })) this.#cancel();
    else this.lost();
  }

  // Plan, progress, and words of effects: shown when they change, at most four times a second, the last one always (E15).

  #snapshot(): void {
    if (!this.#caughtUp && this.#replay.behind) return;
    if (this.#over || this.#stopSnapshotTimer !== undefined || !this.#snapshotDirty()) return;
    const wait = Math.max(0, this.#snapshotAt + snapshotEveryMs - this.ports.timers.now());
    this.#stopSnapshotTimer = this.#after(wait, () => {
      this.#stopSnapshotTimer = undefined;
      this.#snapshotDueNow = true;
      if (!this.#writing) void this.#flush();
    });
  }

  #snapshotDue(): boolean {
    return this.#snapshotDueNow && this.#snapshotDirty();
  }

  #snapshotDirty(): boolean {
    return this.#words.length > 0 || this.#plan !== undefined || this.#progress !== undefined;
  }

  /** What is to be written along. Nothing until replay has caught up: what is recorded is further on. */
  #snapshotNow(): Snapshot | undefined {
    if (!this.#snapshotDirty() || this.#replay.behind) return undefined;
    return { plan: this.#plan, progress: this.#progress, words: this.#words };
  }

  /** What is on disk need not be written again; what has changed since must. */
  #snapshotWritten({ plan, progress, words }: Snapshot): void {
    if (this.#plan === plan) this.#plan = undefined;
    if (this.#progress === progress) this.#progress = undefined;
    this.#words = this.#words.slice(words.length);
    this.#snapshotAt = this.ports.timers.now();
    this.#snapshotDueNow = false;
  }

  // Timers for what is due while the run stays in memory.

  #wakeForWaits(): void {
    this.#stopWakeTimer?.();
    const waits = this.#record.view.waits;
    const now = this.ports.store.now();
    const due = dueAt(waits, now);
    if (due === undefined || this.#over || this.#dropped) return;
    this.#stopWakeTimer = this.#after(Math.max(0, due - now), () => {
      this.#endDueWaits(this.ports.store.now());
      // Else the store's clock goes slower than this one, or it is time to look at a connection.
      if (this.#writing || this.#outgoing.length > 0) return;
      this.#wakeForWaits();
      this.pump();
    });
  }

  #clearStall(): void {
    this.#stopStallTimer?.();
    this.#stopStallTimer = undefined;
  }

  #after(ms: number, code: () => void): () => void {
    return this.ports.timers.after(ms, code);
  }
}

class OutOfTime extends Error {}

function withSnapshot(view: TurnView, snapshot: Snapshot | undefined): TurnView {
  if (snapshot === undefined) return view;
  const { plan, progress, words } = snapshot;
  return { ...words.reduce(said, view), ...(plan && { plan }), ...(progress && { progress }) };
}

function unjournaled(call: Start, why: "no key" | "key used"): AgentError {
  const name = `turn.${callName(call)}`;
  if (why === "key used") {
    return new AgentError(
      "turn.unjournaled",
      `${name} was called twice with the key ${JSON.stringify(call.key)}; each call needs its own.`,
    );
  }
  return new AgentError(
    "turn.unjournaled",
    `${name} was called after awaiting something that is not turn's. After a crash this call could not be matched to its record. ` +
      "Wrap what you awaited in turn.effect(name, fn), or give this call a key of its own: { key: … }.",
  );
}

function output(part: Artifact["parts"][number]): Artifact {
  return { artifactId: "output", name: "output", parts: [part] };
}

/** A `run` that throws before its first `await` is no different from one that throws after it. */
async function invoke(agent: Agent, turn: Turn): Promise<unknown> {
  return agent.run(turn);
}

function isEnded({ state }: Pick<TurnRecord, "state">): boolean {
  return state === "completed" || state === "failed" || state === "rejected" || state === "canceled";
}
