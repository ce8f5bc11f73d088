/**
 * What the memory store keeps, and what its operations do with it: plain data, changed by one synchronous method each. It owns
 * what it is given, and gives copies.
 */
import { taskStateOf } from "@nylorun/protocol";

import type { Entry } from "../../turn/journal.ts";
import type { TurnKey, TurnRecord } from "../../turn/record.ts";
import type { Held, Hold } from "../files.ts";
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
  SubjectLimits,
} from "../store.ts";
import { copy } from "./copy.ts";
import { Holdings } from "./holdings.ts";
import { isEnded, isTroubled } from "./lists.ts";
import { MemoryOutbox } from "./outbox.ts";
import { Schedule } from "./schedule.ts";
import type { Asker, Context, Turn } from "./schedule.ts";
import { UsageLedger } from "./usage.ts";

export class Memory {
  readonly holdings = new Holdings();
  readonly outbox = new MemoryOutbox();
  readonly usage = new UsageLedger();
  readonly #turns = new Map<number, Turn>();
  readonly schedule = new Schedule(this.#turns, this.outbox);
  readonly #messages = new Map<string, Seen & { readonly forgetAt: number }>();
  /** Keys are not used twice. */
  #lastTurn = 0;

  accept(accept: Accept, { node, now }: Asker): Accepted {
    const { key, claim } = accept;
    const seen = accept.dedupeMs > 0 ? this.findMessage(key, now) : undefined;
    if (seen !== undefined) {
      if (seen.contentHash !== accept.contentHash) return { kind: "reused" };
      return { kind: "duplicate", key: { context: seen.context, turn: seen.turn } };
    }
    const known = this.schedule.named(key);
    const busy = known?.active !== undefined;
    if (busy && accept.whenBusy === "reject") return { kind: "busy" };
    if (busy && known.queue.length >= accept.queueDepth) return { kind: "queueFull" };
    const full = accept.limits && this.#full(accept, accept.limits);
    if (full) return { kind: full };

    const context = known ?? this.schedule.add(key);
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
      this.schedule.queue(context, turn);
      return { kind: "accepted", turn: copy(record), claim: undefined };
    }
    this.schedule.begin(context, turn, now);
    const claimed = claim && {
      ...this.schedule.claim(context, turn, { node, until: now + claim.leaseMs }),
      first: !known,
    };
    return { kind: "accepted", turn: copy(record), claim: claimed };
  }

  /** @returns Also whether something has become due. */
  commit(change: Commit, { node, now }: Asker): readonly [Committed, due: boolean] {
    const turn = this.#find(change.key);
    if (turn === undefined) return [{ kind: "fenced", state: "canceled" }, false];
    const { record, journal } = turn;
    const context = this.schedule.context(record.context);
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
    const { next, due } = this.schedule.move(context, change, { node, now });
    return [{ kind: "committed", length: journal.length, next }, due];
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
      return this.schedule.context(record.context).active === undefined && !this.outbox.waits(record);
    });
    for (const turn of past) {
      if (what === "journals") turn.journal.length = 0;
      else this.#drop(turn, before);
    }
    return { count: past.length, next: rest.length > limit ? looked.at(-1)!.record.turn : undefined };
  }

  erase(what: Erase, now: number): Erased {
    const contexts = this.schedule.contexts.filter((context) => {
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

  hold(hold: Hold, now: number): Held {
    const turn = this.#find(hold.key);
    if (turn === undefined || isEnded(turn.record.state)) return { kind: "ended" };
    return this.holdings.hold(hold, { now, stored: this.#bytesOf(turn.record.subject) });
  }

  #drop({ record }: Turn, now: number): void {
    const context = this.schedule.context(record.context);
    this.outbox.dropTurn(record);
    this.#turns.delete(record.turn);
    this.holdings.dropped(record, now);
    this.schedule.unqueue(context, record.turn);
    if (context.active === record.turn) this.schedule.startNext(context, now);
    if (
      context.active !== undefined ||
      [...this.#turns.values()].some((turn) => turn.record.context === context.context)
    )
      return;
    this.holdings.contextDropped(context.context);
    this.schedule.remove(context);
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
    for (const { active, queue, runner, dueAt, subject } of this.schedule.contexts) {
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
}

function messageName({ subject, agent, contextId, messageId }: MessageKey): string {
  return JSON.stringify([subject, agent, contextId ?? null, messageId]);
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}
