/**
 * Writes what a run adds to its turn, and reads what others appended. One write at a time, so that entries stand in the order in
 * which they were asked for; each is a compare-and-set on the journal's length under the claim's epoch (E18): who is behind reads
 * what others appended, and tries again.
 */
import type { Output } from "../store/files.ts";
import type { Commit, Committed, Then } from "../store/store.ts";
import { isStart } from "./journal.ts";
import type { Entry } from "./journal.ts";
import { recordLate } from "./late.ts";
import type { Outcome } from "./late.ts";
import { outputsOf } from "./outputs.ts";
import type { TurnRecord, TurnView } from "./record.ts";
import type { Run } from "./run.ts";
import { withSnapshot } from "./snapshots.ts";
import { pause } from "./timers.ts";
import { traceWaits } from "./trace.ts";
import { advance, isEnded, stateOf } from "./view.ts";

/** How long a write that failed waits before it is tried again: doubling, up to the longest. */
const firstPauseMs = 20;
const longestPauseMs = 2000;

interface Outgoing {
  readonly entry: Entry;
  /** Called when the entry is on disk, with its place. */
  readonly written?: (at: number) => void;
  /** Of an outcome: which attempt's it is. */
  readonly attempt?: number;
}

/** What a write does to the turn beside its entries. */
interface Change {
  readonly then?: Then;
  /** Default: what follows from the entries. */
  readonly state?: TurnRecord["state"];
  readonly view?: (view: TurnView) => TurnView;
  /** Versions of outputs beside those of the entries. */
  readonly outputs?: readonly Output[];
}

export class JournalWriter {
  readonly #run: Run;
  #record: TurnRecord;
  #outgoing: Outgoing[] = [];
  #writing = false;
  #reading = false;
  #readAgain = false;
  #unlisten: (() => void) | undefined;

  constructor(run: Run, record: TurnRecord) {
    this.#run = run;
    this.#record = record;
  }

  /** The turn as it was last written or read. */
  get record(): TurnRecord {
    return this.#record;
  }

  get writing(): boolean {
    return this.#writing;
  }

  /** Nothing is being written, or is to be. */
  get idle(): boolean {
    return !this.#writing && this.#outgoing.length === 0;
  }

  /** Whether something is to be written that may be now. */
  get isReady(): boolean {
    return this.#ready().length > 0;
  }

  /** Whether the end of this wait is about to be written. */
  isEnding(of: number): boolean {
    return this.#outgoing.some(({ entry }) => entry.kind === "end" && entry.of === of);
  }

  /** Appends an entry. */
  write(entry: Entry, written?: (at: number) => void): void {
    this.#send(written ? { entry, written } : { entry });
  }

  writeOutcome({ entry, attempt }: Outcome): void {
    this.#send({ entry, attempt });
  }

  /** Writes what may be written, unless a write is under way: that one is followed by the next. */
  flush(): void {
    if (!this.#writing) void this.#flush();
  }

  /** Nothing that is still to be written begins any more. */
  dropStarts(): void {
    this.#outgoing = this.#outgoing.filter(({ entry }) => !isStart(entry));
  }

  /** Nothing can be written any more, under this claim. */
  giveUp(): void {
    this.#giveUp(this.#outgoing);
    this.#outgoing = [];
  }

  /** Gives the turn back as it is. Nothing more begins; what came of what began is kept. */
  async letGo(): Promise<void> {
    while (this.#writing) await new Promise((resolve) => setImmediate(resolve));
    for (let tries = 0; tries < 10 && !this.#run.over; tries++) {
      const known = this.#outgoing.filter(({ entry }) => !isStart(entry) && entry.kind !== "retry");
      const result = await this.#commit(known, { then: { do: "park", dueAt: this.#run.ports.store.now() } });
      if (result?.kind !== "behind") break;
    }
  }

  /** Writes these entries, and what becomes of the turn. Undefined: the run is over, or not this node's any more. */
  commit(entries: readonly Entry[], change: Change): Promise<Committed | undefined> {
    return this.#commit(
      entries.map((entry) => ({ entry })),
      change,
    );
  }

  /** Reads what others append from now on, as soon as it is told of it. */
  listen(): void {
    this.#unlisten = this.#run.ports.signal.onTurn(this.#record, () => void this.#changed());
  }

  /** Is told no more: its next write meets what others append. */
  ignore(): void {
    this.#unlisten?.();
  }

  /** Somebody has changed the turn, perhaps. */
  async #changed(): Promise<void> {
    if (this.#run.over) return;
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
      this.#run.ports.log.warn({ error }, "A turn could not be read; it is read again at its next change.");
    } finally {
      this.#reading = false;
    }
    if (!this.#writing) this.#readOnce();
    this.#run.pump();
  }

  #send(outgoing: Outgoing): void {
    this.#run.budget.spend(outgoing.entry);
    this.#outgoing.push(outgoing);
    if (!this.#writing) queueMicrotask(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const run = this.#run;
    if (run.over || this.#writing || run.cancelled) return;
    const batch = this.#ready();
    this.#outgoing = batch === this.#outgoing ? [] : this.#outgoing.filter(({ entry }) => isStart(entry));
    if (batch.length === 0 && !run.snapshots.due) return;
    await this.#commit(batch, {});
    run.pump();
  }

  /** What may be written now. Nothing new begins before the code has made all calls that are recorded: it may be other code (E5). */
  #ready(): readonly Outgoing[] {
    return this.#run.replay.startsAhead ? this.#outgoing.filter(({ entry }) => !isStart(entry)) : this.#outgoing;
  }

  async #commit(batch: readonly Outgoing[], change: Change): Promise<Committed | undefined> {
    const run = this.#run;
    this.#writing = true;
    try {
      let waiting = batch;
      for (let failures = 0; ;) {
        // What somebody else has concluded in the meantime is not concluded again.
        waiting = waiting.filter(({ entry }) => !("of" in entry && run.replay.hasEnded(entry.of)));
        const result = await this.#write(waiting, change);
        if (result === undefined) {
          // The store is down, or full: what was asked for waits until it is not.
          await pause(run.ports.timers, Math.min(longestPauseMs, firstPauseMs * 2 ** failures++));
          if (run.over || run.cancelled || run.dropped) return this.#giveUp(waiting);
          continue;
        }
        if (result.kind === "committed") return result;
        if (result.kind === "fenced") {
          if (isEnded({ state: result.state })) run.cancel();
          else run.lost();
          this.#giveUp(waiting);
          return result;
        }
        const found = await this.#read().catch(() => undefined);
        if (found === undefined) await pause(run.ports.timers, firstPauseMs);
        else this.#absorb(found);
        if (run.over || run.cancelled) return this.#giveUp(waiting);
        // What ends a turn or parks it was decided without what others appended: it is decided anew.
        if (change.then !== undefined) return result;
      }
    } finally {
      this.#writing = false;
      run.waits.wake();
      this.#readOnce();
    }
  }

  /** One try. Undefined: the store took nothing. */
  async #write(batch: readonly Outgoing[], change: Change): Promise<Committed | undefined> {
    const { ports, replay, snapshots, lease } = this.#run;
    const { length, view: before } = this.#record;
    const entries = batch.map(({ entry }) => entry);
    const known = entries.length === 0 ? entries : [...replay.entries, ...entries];
    const advanced = entries.reduce((view, entry, index) => advance(view, entry, length + index, known), before);
    const shown = snapshots.pending;
    const now = withSnapshot(advanced, shown);
    const view = change.view === undefined ? now : change.view(now);
    const state = change.state ?? stateOf(view);
    const outputs = [...outputsOf(entries, known), ...(change.outputs ?? [])];
    const result = await this.#tryCommit({
      key: this.#record,
      length,
      epoch: lease.epoch,
      ...(entries.length > 0 && { entries }),
      ...(view !== before && { view }),
      ...(outputs.length > 0 && { outputs }),
      state,
      statusChanged: view.status?.id !== before.status?.id,
      ...(change.then && { then: change.then }),
    });
    if (result?.kind !== "committed") return result;
    traceWaits(ports, this.#record, { view, entries });
    this.#record = { ...this.#record, length: result.length, view, state };
    if (shown !== undefined) snapshots.written(shown);
    for (const { entry, written } of batch) {
      const at = replay.append(entry);
      written?.(at);
    }
    return result;
  }

  async #tryCommit(change: Commit): Promise<Committed | undefined> {
    const { store, taskIds, log } = this.#run.ports;
    try {
      return await store.commit(change);
    } catch (error) {
      log.error({ error, task: taskIds.encode(this.#record) }, "A turn could not be written; trying again.");
      return undefined;
    }
  }

  /** What is known of an effect is kept all the same (E9, E16). */
  #giveUp(outgoing: readonly Outgoing[]): undefined {
    for (const { entry, attempt } of outgoing) {
      if (entry.kind === "outcome" && attempt !== undefined) {
        void recordLate(this.#run.ports, this.#record, { entry, attempt });
      }
    }
  }

  #readOnce(): void {
    if (!this.#readAgain) return;
    this.#readAgain = false;
    void this.#changed();
  }

  async #read(): Promise<{ readonly record: TurnRecord | undefined; readonly tail: readonly Entry[] }> {
    const { ports, replay } = this.#run;
    const [record, tail] = await Promise.all([
      ports.store.loadTurn(this.#record),
      ports.store.loadJournal(this.#record, replay.entries.length),
    ]);
    return { record, tail };
  }

  /** Takes over what others appended; finds out when the turn is no longer this run's. */
  #absorb({ record, tail }: { readonly record: TurnRecord | undefined; readonly tail: readonly Entry[] }): void {
    const run = this.#run;
    if (run.over || record === undefined) return;
    if (isEnded(record)) return run.cancel();
    // Something was appended between the two reads: it will be signalled, or met by the next write.
    if (record.length !== run.replay.entries.length + tail.length) return;
    this.#record = record;
    run.load(tail);
    for (const entry of tail) if (entry.kind === "retry") run.effects.retry(entry.of);
  }
}
