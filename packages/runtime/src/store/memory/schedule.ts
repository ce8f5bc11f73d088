/**
 * The contexts, and what is due when: the one place that moves contexts between these.
 *
 * | a context is | runner | due                                 | leads to                                 |
 * |--------------|--------|-------------------------------------|------------------------------------------|
 * | idle         | none   | never                               | ready, claimed                           |
 * | ready        | none   | now                                 | claimed, idle                            |
 * | claimed      | a node | when its lease ends                 | ready (let go, lease over), parked, idle |
 * | parked       | none   | later, or never: until it is woken  | ready, idle                              |
 */
import type { Entry } from "../../turn/journal.ts";
import type { Claim, TurnKey, TurnRecord } from "../../turn/record.ts";
import { hasShare, suspectDeaths } from "../store.ts";
import type { Commit, MessageKey, Share, Store } from "../store.ts";
import { copy } from "./copy.ts";
import { isEnded } from "./lists.ts";
import type { MemoryOutbox } from "./outbox.ts";

/** Who asks, and when. */
export interface Asker {
  readonly node: string;
  readonly now: number;
}

export interface Context {
  readonly context: number;
  readonly subject: string;
  readonly agent: string;
  readonly name: string;
  /** The turn that holds the context (I2). */
  active: number | undefined;
  /** The turns that wait, oldest first. */
  queue: readonly number[];
  epoch: number;
  runner: string | undefined;
  /** When it wants to be claimed; while a node runs it: when its lease ends. */
  dueAt: number | undefined;
}

export interface Turn {
  record: TurnRecord;
  readonly journal: Entry[];
}

type ClaimOptions = Omit<Parameters<Store["claimDue"]>[0], "limit">;

export class Schedule {
  readonly #turns: ReadonlyMap<number, Turn>;
  readonly #outbox: MemoryOutbox;
  readonly #contexts = new Map<number, Context>();
  readonly #named = new Map<string, Context>();
  /** When each subject was served last, in claims. */
  readonly #served = new Map<string, number>();
  #turnsServed = 0;
  /** Keys are not used twice. */
  #lastContext = 0;

  constructor(turns: ReadonlyMap<number, Turn>, outbox: MemoryOutbox) {
    this.#turns = turns;
    this.#outbox = outbox;
  }

  get contexts(): readonly Context[] {
    return [...this.#contexts.values()];
  }

  context(key: number): Context {
    return this.#contexts.get(key)!;
  }

  /** The context that a caller named; undefined: there is none yet, or none was named. */
  named(key: MessageKey): Context | undefined {
    return key.contextId === undefined ? undefined : this.#named.get(nameOf(key, key.contextId));
  }

  add(key: MessageKey): Context {
    const name = key.contextId ?? crypto.randomUUID();
    const { subject, agent } = key;
    const context: Context = {
      context: ++this.#lastContext,
      subject,
      agent,
      name,
      active: undefined,
      queue: [],
      epoch: 0,
      runner: undefined,
      dueAt: undefined,
    };
    this.#contexts.set(context.context, context);
    this.#named.set(nameOf(key, name), context);
    return context;
  }

  remove(context: Context): void {
    this.#contexts.delete(context.context);
    this.#named.delete(nameOf(context, context.name));
  }

  /** A turn waits for those before it. */
  queue(context: Context, turn: number): void {
    context.queue = [...context.queue, turn];
  }

  unqueue(context: Context, turn: number): void {
    context.queue = context.queue.filter((queued) => queued !== turn);
  }

  /** A turn is the first of an idle context. */
  begin(context: Context, turn: number, now: number): void {
    context.active = turn;
    context.dueAt = now;
  }

  claimDue(limit: number, { leaseMs, share }: ClaimOptions, { node, now }: Asker): Claim[] {
    const due = [...this.#contexts.values()]
      .filter((context) => context.dueAt !== undefined && context.dueAt <= now && this.#isDueTo(node, context))
      .toSorted((a, b) => a.dueAt! - b.dueAt! || a.context - b.context);
    const ready = due.filter((context) => {
      if (context.active !== undefined && this.#hasEnded(context.active)) this.startNext(context, now);
      else if (context.runner !== undefined) {
        context.runner = undefined;
        if (this.#countDeath(context.active!) >= suspectDeaths) return false;
      }
      return context.active !== undefined;
    });
    return this.#inTurn(ready, limit, share).map((context) =>
      this.claim(context, context.active!, { node, until: now + leaseMs }),
    );
  }

  /** Of each subject in its turn: who was served longest ago comes first. */
  #inTurn(ready: readonly Context[], limit: number, share: Share | undefined): Context[] {
    const bySubject = Map.groupBy(ready, ({ subject }) => subject);
    const running = new Map(share?.running);
    const served: Context[] = [];
    for (let more = true; more;) {
      more = false;
      const line = [...bySubject.keys()].toSorted((a, b) => (this.#served.get(a) ?? 0) - (this.#served.get(b) ?? 0));
      for (const subject of line) {
        if (served.length === limit) return served;
        const has = running.get(subject) ?? 0;
        if (share && !hasShare(has, share.room - served.length, share.most)) continue;
        const context = bySubject.get(subject)!.shift();
        if (context === undefined) continue;
        served.push(context);
        running.set(subject, has + 1);
        this.#served.set(subject, ++this.#turnsServed);
        more = true;
      }
    }
    return served;
  }

  claimSuspect(leaseMs: number, { node, now }: Asker): Claim | undefined {
    const context = this.#suspect(now);
    return context && this.claim(context, context.active!, { node, until: now + leaseMs });
  }

  /** Those who held leases are no more. */
  endLeases(now: number): void {
    for (const context of this.#contexts.values()) if (context.runner !== undefined) context.dueAt = now;
    this.#outbox.endLeases(now);
  }

  renew(leases: readonly { readonly context: number; readonly epoch: number }[], until: number, node: string) {
    const lost: number[] = [];
    for (const { context: key, epoch } of leases) {
      const context = this.#contexts.get(key);
      if (context?.epoch === epoch && context.runner === node) context.dueAt = until;
      else lost.push(key);
    }
    return lost;
  }

  /** @returns Whether another turn has become due. */
  drained({ context: key, turn }: TurnKey, now: number): boolean {
    const context = this.#contexts.get(key);
    if (context?.active !== turn || !this.#hasEnded(turn)) return false;
    this.startNext(context, now);
    return context.active !== undefined;
  }

  nextDue({ node, now }: Asker, after = -1): { readonly at: number | undefined; readonly suspect: boolean } {
    const times = [...this.#contexts.values()].flatMap(({ dueAt, runner }) =>
      dueAt === undefined || dueAt <= after || runner === node ? [] : [dueAt],
    );
    return { at: times.length === 0 ? undefined : Math.min(...times), suspect: this.#suspect(now) !== undefined };
  }

  /** Contexts that wait for a node, and since when the oldest does. */
  ready(): { readonly ready: number; readonly readySince: number | undefined } {
    const since = [...this.#contexts.values()].flatMap(({ active, runner, dueAt }) => {
      const isReady = active !== undefined && runner === undefined && dueAt !== undefined;
      return isReady && this.#turns.get(active)!.record.state === "running" ? [dueAt] : [];
    });
    return { ready: since.length, readySince: since.length === 0 ? undefined : Math.min(...since) };
  }

  /** What becomes of the context with a change of a turn, and whether something has become due. */
  move(
    context: Context,
    { key, epoch, then }: Commit,
    { node, now }: Asker,
  ): { readonly next: Claim | undefined; readonly due: boolean } {
    const idle = { next: undefined, due: false };
    switch (then?.do) {
      case undefined:
        return idle;
      case "wake":
        if (context.runner !== undefined || context.active !== key.turn) return idle;
        context.dueAt = Math.min(context.dueAt ?? now, now);
        return { next: undefined, due: true };
      case "park":
        context.runner = undefined;
        context.dueAt = then.dueAt;
        return { next: undefined, due: then.dueAt !== undefined };
      case "end": {
        if (context.active !== key.turn) {
          this.unqueue(context, key.turn);
          return idle;
        }
        if (epoch === undefined && context.runner !== undefined) {
          // The function still runs: its writes are fenced off, and the next turn waits for it (E16).
          context.epoch++;
          context.dueAt = now + (then.graceMs ?? 0);
          return { next: undefined, due: true };
        }
        this.startNext(context, now);
        if (context.active === undefined) return idle;
        if (then.claim === undefined) return { next: undefined, due: true };
        return { next: this.claim(context, context.active, { node, until: now + then.claim.leaseMs }), due: false };
      }
    }
  }

  /** After the active turn: the next one is due, or the context idle. */
  startNext(context: Context, now: number): void {
    const [next, ...rest] = context.queue;
    context.active = next;
    context.queue = rest;
    context.runner = undefined;
    context.dueAt = next === undefined ? undefined : now;
    if (next === undefined) return;
    const turn = this.#turns.get(next)!;
    const before = turn.record;
    turn.record = { ...before, state: "running", statusAt: now };
    this.#outbox.changed(before, before, turn.record, now);
  }

  claim(context: Context, key: number, { node, until }: { readonly node: string; readonly until: number }): Claim {
    const { record, journal } = this.#turns.get(key)!;
    context.epoch++;
    context.runner = node;
    context.dueAt = until;
    return { epoch: context.epoch, turn: copy(record), journal: copy(journal), first: false };
  }

  /** A node's own contexts are in its hands, unless somebody else has ended the turn; suspects are nobody's but the lonely's. */
  #isDueTo(node: string, { active, runner }: Context): boolean {
    if (active === undefined || this.#hasEnded(active)) return true;
    return runner === undefined ? this.#turns.get(active)!.record.deaths < suspectDeaths : runner !== node;
  }

  #suspect(now: number): Context | undefined {
    return [...this.#contexts.values()]
      .filter(
        ({ active, runner, dueAt }) =>
          active !== undefined &&
          runner === undefined &&
          dueAt !== undefined &&
          dueAt <= now &&
          this.#turns.get(active)!.record.deaths >= suspectDeaths,
      )
      .toSorted((a, b) => a.active! - b.active!)[0];
  }

  #countDeath(key: number): number {
    const turn = this.#turns.get(key)!;
    turn.record = { ...turn.record, deaths: turn.record.deaths + 1 };
    return turn.record.deaths;
  }

  #hasEnded(key: number): boolean {
    return isEnded(this.#turns.get(key)!.record.state);
  }
}

function nameOf({ subject, agent }: Pick<MessageKey, "subject" | "agent">, contextId: string): string {
  return JSON.stringify([subject, agent, contextId]);
}
