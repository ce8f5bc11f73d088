/** A store under test: the clock that it goes by, what it signals, and short words for what tests do with it. */
import assert from "node:assert/strict";

import type { Signal } from "../../src/store/signal.ts";
import type { Accept, Accepted, Commit, Committed, MessageKey, Store } from "../../src/store/store.ts";
import type { Entry } from "../../src/turn/journal.ts";
import type { Claim, StoredMessage, TurnKey, TurnRecord } from "../../src/turn/record.ts";

/** Opens a store that holds nothing. */
export type Open = (options: { readonly now: () => number; readonly signal: Signal }) => Promise<Opened>;

export interface Opened extends AsyncDisposable {
  readonly store: Store;
  /** Opens another node on the same data, at the same time. Undefined: this kind of store is one process's. */
  readonly join?: () => Promise<Store>;
  /** Ends the process, so to say, and opens what it left in the next one. */
  readonly reopen: () => Promise<Store>;
}

export const leaseMs = 30_000;
/** The first moment of every test. */
export const dawn = Date.UTC(2026, 9, 14);

export interface Begin extends Partial<Omit<Accept, "key" | "message" | "claim">> {
  readonly subject?: string;
  readonly agent?: string;
  /** Undefined: none is given. Default: `talk`. */
  readonly contextId?: string | undefined;
  readonly messageId?: string;
  readonly message?: StoredMessage;
  /** Claim it at once. Default: false. */
  readonly claim?: boolean;
}

export class Place implements AsyncDisposable {
  store: Store;
  now = dawn;
  readonly #opened: Opened;
  readonly #heard: string[] = [];
  #messages = 0;

  static async open(open: Open): Promise<Place> {
    const heard: string[] = [];
    const clock: { place?: Place } = {};
    const signal: Signal = {
      turnChanged: ({ turn }) => void heard.push(`turn ${turn}`),
      onTurn: () => () => undefined,
      onTurns: () => () => undefined,
      due: () => void heard.push("due"),
      onDue: () => () => undefined,
      announced: () => void heard.push("announced"),
      onAnnounced: () => () => undefined,
      erased: ({ what }) => void heard.push(`erased ${what}`),
      onErased: () => () => undefined,
      async [Symbol.asyncDispose]() {},
    };
    const opened = await open({ now: () => clock.place?.now ?? dawn, signal });
    return (clock.place = new Place(opened, heard));
  }

  private constructor(opened: Opened, heard: string[]) {
    this.#opened = opened;
    this.store = opened.store;
    this.#heard = heard;
  }

  /** What was signalled since it was last asked. */
  heard(): string[] {
    return this.#heard.splice(0);
  }

  get canJoin(): boolean {
    return this.#opened.join !== undefined;
  }

  join(): Promise<Store> {
    return this.#opened.join!();
  }

  async reopen(): Promise<void> {
    this.store = await this.#opened.reopen();
  }

  accept(begin: Begin = {}): Promise<Accepted> {
    const { subject, agent, contextId, messageId, claim, message, ...rest } = begin;
    const key: MessageKey = {
      subject: subject ?? "ada",
      agent: agent ?? "echo",
      contextId: "contextId" in begin ? contextId : "talk",
      messageId: messageId ?? message?.messageId ?? `message-${++this.#messages}`,
    };
    return this.store.accept({
      key,
      contentHash: "a hash",
      message: message ?? { messageId: key.messageId, parts: [{ text: "Hello" }] },
      agentVersion: "1.0.0",
      traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
      whenBusy: "queue",
      queueDepth: 100,
      dedupeMs: 86_400_000,
      claim: claim === true ? { leaseMs } : undefined,
      ...rest,
    });
  }

  async begin(begin: Begin = {}): Promise<TurnRecord> {
    const accepted = await this.accept(begin);
    if (accepted.kind !== "accepted") assert.fail(`the message is ${accepted.kind}`);
    return accepted.turn;
  }

  /** Begins a turn, and claims it. */
  async run(begin: Begin = {}): Promise<Claim> {
    const accepted = await this.accept({ ...begin, claim: true });
    if (accepted.kind !== "accepted" || accepted.claim === undefined) assert.fail("it is not claimed");
    return accepted.claim;
  }

  /** Appends to a turn that is claimed, or changes it otherwise; it must be committed. */
  async commit(key: TurnKey, change: Partial<Commit> = {}): Promise<Committed & { kind: "committed" }> {
    const length = change.length ?? (await this.turn(key)).length;
    const committed = await this.store.commit({ ...change, key, length });
    if (committed.kind !== "committed") assert.fail(`the change is ${committed.kind}`);
    return committed;
  }

  /** Begins a turn, claims it, and lets it wait. */
  async park(begin: Begin = {}, dueAt?: number): Promise<Claim> {
    const claim = await this.run(begin);
    const view = { waitsFor: "question" } as const;
    await this.commit(claim.turn, { epoch: claim.epoch, state: "waiting", view, then: { do: "park", dueAt } });
    return claim;
  }

  async turn(key: TurnKey): Promise<TurnRecord> {
    const turn = await this.store.loadTurn(key);
    assert.ok(turn, `there is no turn ${key.turn}`);
    return turn;
  }

  async state(key: TurnKey): Promise<TurnRecord["state"]> {
    return (await this.turn(key)).state;
  }

  /** Claims what is due: the turns, in order. */
  async claim(limit = 1000): Promise<readonly Claim[]> {
    return this.store.claimDue({ limit, leaseMs });
  }

  async due(): Promise<number | undefined> {
    return (await this.store.nextDue()).at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }
}

/** An entry that is told from others by its number. */
export function entry(number: number): Entry {
  return { kind: "used", after: 0, usage: { tokens: number } };
}

export function turnsOf(claims: readonly Claim[]): number[] {
  return claims.map(({ turn }) => turn.turn);
}
