/**
 * What the memory store keeps, and what its operations do with it: plain data, changed by one synchronous method each. It owns
 * what it is given, and gives copies.
 */
import { taskStateOf } from "@nylorun/protocol";

import type { Entry } from "../../turn/journal.ts";
import type { Claim, TurnKey, TurnRecord } from "../../turn/record.ts";
import type { Held, Hold } from "../files.ts";
import { hasShare, suspectDeaths } from "../store.ts";
import type {
  Accept,
  Accepted,
  Commit,
  Committed,
  Erase,
  Erased,
  Forget,
  Forgotten,
  MessageKey,
  Seen,
  Share,
  Store,
  SubjectLimits,
} from "../store.ts";
import { Holdings } from "./holdings.ts";
import { isEnded, isTroubled } from "./lists.ts";
import { MemoryOutbox } from "./outbox.ts";
import { UsageLedger } from "./usage.ts";

/** Who asks, and when. */
export interface Asker {
  readonly node: string;
  readonly now: number;
}

type ClaimOptions = Omit<Parameters<Store["claimDue"]>[0], "limit">;

interface Context {
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

interface Turn {
  record: TurnRecord;
  readonly journal: Entry[];
}

export class Memory {
  readonly holdings = new Holdings();
  readonly outbox = new MemoryOutbox();
  readonly usage = new UsageLedger();
  readonly #contexts = new Map<number, Context>();
  readonly #named = new Map<string, Context>();
  readonly #turns = new Map<number, Turn>();
  readonly #messages = new Map<string, Seen & { readonly forgetAt: number }>();
  /** When each subject was served last, in claims. */
  readonly #served = new Map<string, number>();
  #turnsServed = 0;
  /** Keys are not used twice. */
  #lastTurn = 0;
  #lastContext = 0;

  accept(accept: Accept, { node, now }: Asker): Accepted {
    const { key, claim } = accept;
    const seen = accept.dedupeMs > 0 ? this.findMessage(key, now) : undefined;
    if (seen !== undefined) {
      if (seen.contentHash !== accept.contentHash) return { kind: "reused" };
      return { kind: "duplicate", key: { context: seen.context, turn: seen.turn } };
    }
    const known = key.contextId === undefined ? undefined : this.#named.get(nameOf(key, key.contextId));
    const busy = known?.active !== undefined;
    if (busy && accept.whenBusy === "reject") return { kind: "busy" };
    if (busy && known.queue.length >= accept.queueDepth) return { kind: "queueFull" };
    const full = accept.limits && this.#full(accept, accept.limits);
    if (full) return { kind: full };

    const context = known ?? this.#addContext(key);
    const turn = ++this.#lastTurn;
    const record: TurnRecord = {
      context: context.context,
      turn,
      subject: key.subject,
      agent: key.agent,
      contextId: context.name,
      state: busy ? "queued" : "running",
      statusAt: now,
      createdAt: now,
      length: 0,
      revision: 0,
      deaths: 0,
      agentVersion: accept.agentVersion,
      traceparent: accept.traceparent,
      message: accept.message,
      view: {},
    };
    this.#turns.set(turn, { record, journal: [] });
    if (accept.push) this.outbox.put(record, accept.push, now);
    if (accept.dedupeMs > 0) this.#remember(accept, record, now);
    if (busy) {
      context.queue = [...context.queue, turn];
      return { kind: "accepted", turn: copy(record), claim: undefined };
    }
    context.active = turn;
    context.dueAt = now;
    const claimed = claim && { ...this.#claim(context, turn, { node, until: now + claim.leaseMs }), first: !known };
    return { kind: "accepted", turn: copy(record), claim: claimed };
  }

  claimDue(limit: number, { leaseMs, share }: ClaimOptions, { node, now }: Asker): Claim[] {
    const due = [...this.#contexts.values()]
      .filter((context) => context.dueAt !== undefined && context.dueAt <= now && this.#isDueTo(node, context))
      .toSorted((a, b) => a.dueAt! - b.dueAt! || a.context - b.context);
    const ready = due.filter((context) => {
      if (context.active !== undefined && this.#hasEnded(context.active)) this.#startNext(context, now);
      else if (context.runner !== undefined) {
        context.runner = undefined;
        if (this.#countDeath(context.active!) >= suspectDeaths) {
          context.dueAt = now;
          return false;
        }
      }
      return context.active !== undefined;
    });
    return this.#inTurn(ready, limit, share).map((context) =>
      this.#claim(context, context.active!, { node, until: now + leaseMs }),
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
    return context && this.#claim(context, context.active!, { node, until: now + leaseMs });
  }

  /** Those who held leases are no more. */
  endLeases(now: number): void {
    for (const context of this.#contexts.values()) if (context.runner !== undefined) context.dueAt = now;
    this.outbox.endLeases(now);
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

  /** @returns Also whether something has become due. */
  commit(change: Commit, { node, now }: Asker): readonly [Committed, due: boolean] {
    const turn = this.#find(change.key);
    if (turn === undefined) return [{ kind: "fenced", state: "canceled" }, false];
    const { record, journal } = turn;
    const context = this.#contexts.get(record.context)!;
    const message = change.message && change.message.dedupeMs > 0 ? change.message : undefined;
    const seen = message && this.findMessage(message.key, now);
    if (seen) return [{ kind: seen.contentHash === message.contentHash ? "duplicate" : "reused" }, false];
    const lost = change.epoch !== undefined && (context.epoch !== change.epoch || context.active !== record.turn);
    const allowed = change.from === undefined ? !isEnded(record.state) : change.from.includes(record.state);
    if (lost || !allowed) return [{ kind: "fenced", state: record.state }, false];
    const { revision = record.revision } = change;
    if (record.length !== change.length || record.revision !== revision) {
      return [{ kind: "behind", length: record.length }, false];
    }
    if (change.push && !this.outbox.hasRoom(record, change.push.id)) return [{ kind: "pushFull" }, false];

    journal.push(...(change.entries ?? []));
    const { state = record.state, view = record.view } = change;
    const sameStatus = taskStateOf(state, view.waitsFor) === taskStateOf(record.state, record.view.waitsFor);
    turn.record = {
      ...record,
      state,
      statusAt: change.statusChanged || !sameStatus ? now : record.statusAt,
      length: journal.length,
      revision: record.revision + 1,
      view,
      deaths: change.forgive ? 0 : record.deaths,
    };
    this.holdings.output(record, change.outputs ?? []);
    if (isEnded(state) && !isEnded(record.state)) {
      this.holdings.ended(record, now);
      this.usage.ended(turn.record, now);
    }
    if (message) this.#remember(message, record, now);
    this.outbox.changed(record, record, turn.record, now);
    if (change.push) this.outbox.put(turn.record, change.push, now);
    const { next, due } = this.#then(context, change, { node, now });
    return [{ kind: "committed", length: journal.length, next }, due];
  }

  /** @returns Whether another turn has become due. */
  drained({ context: key, turn }: TurnKey, now: number): boolean {
    const context = this.#contexts.get(key);
    if (context?.active !== turn || !this.#hasEnded(turn)) return false;
    this.#startNext(context, now);
    return context.active !== undefined;
  }

  nextDue({ node, now }: Asker, after = -1): { readonly at: number | undefined; readonly suspect: boolean } {
    const times = [...this.#contexts.values()].flatMap(({ dueAt, runner }) =>
      dueAt === undefined || dueAt <= after || runner === node ? [] : [dueAt],
    );
    return { at: times.length === 0 ? undefined : Math.min(...times), suspect: this.#suspect(now) !== undefined };
  }

  turn(key: TurnKey): TurnRecord | undefined {
    const turn = this.#find(key);
    return turn && copy(turn.record);
  }

  journal(key: TurnKey, from: number): Entry[] {
    return copy(this.#find(key)?.journal.slice(from) ?? []);
  }

  forget({ what, before, after = 0, limit }: Forget): Forgotten {
    if (what === "messages") {
      const past = [...this.#messages].filter(([, { forgetAt }]) => forgetAt <= before).slice(0, limit);
      for (const [name] of past) this.#messages.delete(name);
      return { count: past.length, next: past.length < limit ? undefined : 0 };
    }
    if (what === "usage") {
      const count = this.usage.forget(before, limit);
      return { count, next: count < limit ? undefined : 0 };
    }
    if (what === "giveUps") {
      const count = this.outbox.forgetGiveUps(before, limit);
      return { count, next: count < limit ? undefined : 0 };
    }
    const rest = [...this.#turns.values()].filter(({ record }) => record.turn > after);
    const looked = rest.slice(0, limit);
    const past = looked.filter(({ record, journal }) => {
      if (!isEnded(record.state) || record.statusAt >= before || isTroubled(record)) return false;
      if (what === "journals") return journal.length > 0;
      return this.#contexts.get(record.context)!.active === undefined && !this.outbox.waits(record);
    });
    for (const turn of past) {
      if (what === "journals") turn.journal.length = 0;
      else this.#drop(turn, before);
    }
    return { count: past.length, next: rest.length > limit ? looked.at(-1)!.record.turn : undefined };
  }

  erase(what: Erase, now: number): Erased {
    const contexts = [...this.#contexts.values()].filter((context) => {
      if (what.what === "turn") return context.context === what.key.context;
      if (context.subject !== what.subject) return false;
      return what.what === "subject" || (context.agent === what.agent && context.name === what.contextId);
    });
    const isMeant = ({ record }: Turn) =>
      contexts.some(({ context }) => context === record.context) &&
      (what.what !== "turn" || record.turn === what.key.turn);
    const turns = [...this.#turns.values()].filter(isMeant);
    if (turns.length === 0) return { kind: "unknown" };
    const runs = ({ context, active, runner }: Context) =>
      active !== undefined &&
      turns.some(({ record }) => record.context === context && record.turn === active) &&
      (runner !== undefined || this.#turns.get(active)!.record.state === "running");
    if (contexts.some(runs)) return { kind: "running", turns: 0 };
    // Those that wait go first, so that none of them begins.
    for (const turn of turns.toSorted((a, b) => b.record.turn - a.record.turn)) this.#drop(turn, now);
    return { kind: "erased", turns: turns.length };
  }

  /** Contexts that wait for a node, and since when the oldest does. */
  ready(): { readonly ready: number; readonly readySince: number | undefined } {
    const since = [...this.#contexts.values()].flatMap(({ active, runner, dueAt }) => {
      const isReady = active !== undefined && runner === undefined && dueAt !== undefined;
      return isReady && this.#turns.get(active)!.record.state === "running" ? [dueAt] : [];
    });
    return { ready: since.length, readySince: since.length === 0 ? undefined : Math.min(...since) };
  }

  hold(hold: Hold, now: number): Held {
    const turn = this.#find(hold.key);
    if (turn === undefined || isEnded(turn.record.state)) return { kind: "ended" };
    return this.holdings.hold(hold, { now, stored: this.#bytesOf(turn.record.subject) });
  }

  #drop({ record }: Turn, now: number): void {
    const context = this.#contexts.get(record.context)!;
    this.outbox.dropTurn(record);
    this.#turns.delete(record.turn);
    this.holdings.dropped(record, now);
    context.queue = context.queue.filter((turn) => turn !== record.turn);
    if (context.active === record.turn) this.#startNext(context, now);
    if (
      context.active !== undefined ||
      [...this.#turns.values()].some((turn) => turn.record.context === context.context)
    )
      return;
    this.#contexts.delete(context.context);
    this.holdings.contextDropped(context.context);
    this.#named.delete(nameOf(context, context.name));
  }

  /** In the order in which the turns began. Not copied. */
  records(): TurnRecord[] {
    return [...this.#turns.values()].map(({ record }) => record);
  }

  findMessage(key: MessageKey, now: number): Seen | undefined {
    const seen = this.#messages.get(messageName(key));
    if (seen === undefined || seen.forgetAt <= now || !this.#turns.has(seen.turn)) return undefined;
    return { context: seen.context, turn: seen.turn, contentHash: seen.contentHash };
  }

  #full({ key, message }: Accept, limits: SubjectLimits): "subjectQueueFull" | "subjectFull" | undefined {
    let queued = 0;
    for (const { active, queue, runner, dueAt, subject } of this.#contexts.values()) {
      if (subject !== key.subject) continue;
      const isReady = active !== undefined && runner === undefined && dueAt !== undefined;
      queued += queue.length + (isReady && this.#turns.get(active)!.record.state === "running" ? 1 : 0);
    }
    if (queued >= limits.queued) return "subjectQueueFull";
    return this.#bytesOf(key.subject) + sizeOf(message) > limits.bytes ? "subjectFull" : undefined;
  }

  /** What is stored of a subject. */
  #bytesOf(subject: string): number {
    let bytes = 0;
    for (const { record, journal } of this.#turns.values()) {
      if (record.subject !== subject) continue;
      bytes += sizeOf(record.message) + sizeOf(record.view) + sizeOf(journal);
      bytes += this.holdings.bytesOf(record) + sizeOf(this.outbox.of(record));
    }
    return bytes;
  }

  #then(
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
          context.queue = context.queue.filter((turn) => turn !== key.turn);
          return idle;
        }
        if (epoch === undefined && context.runner !== undefined) {
          // The function still runs: its writes are fenced off, and the next turn waits for it (E16).
          context.epoch++;
          context.dueAt = now + (then.graceMs ?? 0);
          return { next: undefined, due: true };
        }
        this.#startNext(context, now);
        if (context.active === undefined) return idle;
        if (then.claim === undefined) return { next: undefined, due: true };
        return { next: this.#claim(context, context.active, { node, until: now + then.claim.leaseMs }), due: false };
      }
    }
  }

  /** After the active turn: the next one is due, or the context idle. */
  #startNext(context: Context, now: number): void {
    const [next, ...rest] = context.queue;
    context.active = next;
    context.queue = rest;
    context.runner = undefined;
    context.dueAt = next === undefined ? undefined : now;
    if (next === undefined) return;
    const turn = this.#turns.get(next)!;
    const before = turn.record;
    turn.record = { ...before, state: "running", statusAt: now };
    this.outbox.changed(before, before, turn.record, now);
  }

  #claim(context: Context, key: number, { node, until }: { readonly node: string; readonly until: number }): Claim {
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

  #addContext(key: MessageKey): Context {
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

  #remember(
    { key, contentHash, dedupeMs }: Pick<Accept, "key" | "contentHash" | "dedupeMs">,
    { context, turn }: TurnKey,
    now: number,
  ): void {
    this.#messages.set(messageName(key), { context, turn, contentHash, forgetAt: now + dedupeMs });
  }

  #find({ context, turn }: TurnKey): Turn | undefined {
    const one = this.#turns.get(turn);
    return one?.record.context === context ? one : undefined;
  }

  #hasEnded(key: number): boolean {
    return isEnded(this.#turns.get(key)!.record.state);
  }
}

function nameOf({ subject, agent }: Pick<MessageKey, "subject" | "agent">, contextId: string): string {
  return JSON.stringify([subject, agent, contextId]);
}

function messageName({ subject, agent, contextId, messageId }: MessageKey): string {
  return JSON.stringify([subject, agent, contextId ?? null, messageId]);
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

/** As a database would keep it and give it back: what is no JSON is gone. */
export function copy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
