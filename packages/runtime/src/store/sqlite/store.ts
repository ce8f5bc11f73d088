/**
 * The Store on one SQLite file: writes go to the writer thread, which commits them in groups; reads have their own connection
 * on this thread. One process per file: its home's lock sees to that, and ends the leases of whoever died with it (E9).
 *
 * | here          | on the writer thread (operations)                    | does                                                 |
 * |---------------|------------------------------------------------------|------------------------------------------------------|
 * | args          | turns                                                | begins turns, and changes them                       |
 * |               | schedule                                             | what is due, and who has claimed it                  |
 * | reader, lists | tallies                                              | shows turns, with sums that nobody has to count      |
 * |               | eraser                                               | takes out again what is past its time, or unwanted   |
 * | keys          | operations                                           | who may come in                                      |
 * | deliveries    | outbox                                               | what webhooks are to be told                         |
 * |               | holdings                                             | files                                                |
 * | survey        |                                                      | looks through, and copies, the file                  |
 */
import { randomUUID } from "node:crypto";

import type { Claim, TurnKey, TurnRecord } from "../../turn/record.ts";
import { StoreError } from "../errors.ts";
import type { FileStore } from "../files.ts";
import { messageDigest, newContextName } from "../naming.ts";
import type { PushStore } from "../push.ts";
import type { Signal } from "../signal.ts";
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
  SessionStore,
  Store,
  StoreFigures,
  UnfinishedQuery,
  Usage,
  UsageQuery,
} from "../store.ts";
import { acceptArgs, commitArgs } from "./args.ts";
import { openReadOnly } from "./database.ts";
import { createPushStore } from "./deliveries.ts";
import { Keys } from "./keys.ts";
import { Lists } from "./lists.ts";
import { Reader } from "./reader.ts";
import type { ClaimRow } from "./schedule.ts";
import { survey } from "./survey.ts";
import { WriterThread } from "./thread.ts";

export interface SqliteStoreOptions {
  readonly file: string;
  readonly signal: Signal;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly now?: () => number;
  /** Whether the disk has room for what is new; without, only what has begun may write. Default: until it is full. */
  readonly hasRoom?: () => boolean;
  /** Told how long a write took, from when it was asked for until it was on disk, in milliseconds. */
  readonly onWrite?: (ms: number) => void;
  /** The disk, or the database, is broken: what is written from here on cannot be trusted to be there. */
  readonly onBroken?: (error: StoreError) => void;
}

const all = { room: Number.MAX_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER, running: new Map<string, number>() };

/** What is looked through whole at each start. */
const checkedBytes = 1024 ** 3;

/** Turns that are erased in one go, and entries of their journals. */
const erasedAtOnce = 200;

/** Leases that a process which died may have held end at most this much later. */
const longestLeaseMs = 600_000;

/**
 * Opens the store, making the file when there is none.
 *
 * @throws StoreError `store.newer`, `store.broken`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const thread = await WriterThread.open(options.file, {
    ...options,
    onAnnounced: () => options.signal.announced(),
  });
  const reader = new Reader(openReadOnly(options.file));
  const store = new SqliteStore(thread, reader, options);
  await thread.run("endLeases", { now: store.now(), longestLeaseMs });
  return store;
}

class SqliteStore implements Store {
  readonly #thread: WriterThread;
  readonly #reader: Reader;
  readonly #lists: Lists;
  readonly #signal: Signal;
  readonly #node = randomUUID();
  readonly #file: string;
  readonly #hasRoom: () => boolean;
  readonly #closing = new AbortController();
  #check: Promise<unknown> | undefined;
  #closed: Promise<void> | undefined;
  readonly readsAreCurrent = true;
  readonly now: () => number;
  readonly keys: Keys;
  readonly sessions: SessionStore;
  readonly files: FileStore;
  readonly push: PushStore;

  constructor(thread: WriterThread, reader: Reader, options: SqliteStoreOptions) {
    this.#thread = thread;
    this.#reader = reader;
    this.#lists = new Lists(reader);
    this.#signal = options.signal;
    this.#file = options.file;
    this.#hasRoom = options.hasRoom ?? (() => true);
    this.now = options.now ?? Date.now;
    this.push = createPushStore({ thread, reader, node: this.#node, now: this.now });
    this.keys = new Keys(thread, reader, this.now);
    this.sessions = {
      add: (session) => thread.run("addSession", { ...session, now: this.now() }),
      find: async (tokenHash) => reader.session(tokenHash, this.now()),
      remove: (tokenHash) => thread.run("removeSession", { hash: tokenHash }),
    };
    this.files = {
      hold: ({ key: { context, turn }, ...hold }) => thread.run("hold", { context, turn, ...hold, now: this.now() }),
      find: async (key, sha256) => reader.blob(key, sha256),
      lastVersion: async (context, path) => reader.lastVersion(context, path),
      condemn: (limit) => thread.run("condemn", { limit, now: this.now() }),
      gone: (blobs) => thread.run("gone", { blobs }),
    };
  }

  async accept(accept: Accept): Promise<Accepted> {
    const { key, message } = accept;
    const now = this.now();
    // A message that is here already takes no room.
    if (!this.#hasRoom() && (accept.dedupeMs === 0 || (await this.findMessage(key)) === undefined))
      throw new StoreError("store.full", "The disk has less room than is kept for what runs: nothing new is taken.");
    const newName = newContextName(now);
    const result = await this.#thread.run("accept", acceptArgs(accept, { newName, node: this.#node, now }));
    if (result.kind === "duplicate") return { kind: "duplicate", key: { context: result.context, turn: result.turn } };
    if (result.kind !== "accepted") return { kind: result.kind };
    const turn: TurnRecord = {
      context: result.context,
      turn: result.turn,
      subject: key.subject,
      agent: key.agent,
      contextId: key.contextId ?? newName,
      state: result.state,
      statusAt: result.statusAt,
      createdAt: now,
      length: 0,
      revision: 0,
      deaths: 0,
      agentVersion: accept.agentVersion,
      traceparent: accept.traceparent,
      message,
      view: {},
    };
    this.#signal.turnChanged(turn);
    if (result.state === "running" && result.epoch === 0) this.#signal.due();
    return {
      kind: "accepted",
      turn,
      claim: result.epoch > 0 ? { epoch: result.epoch, turn, journal: [], first: result.newContext } : undefined,
    };
  }

  async findMessage(key: MessageKey) {
    return this.#reader.message(messageDigest(key), this.now());
  }

  async claimDue({ limit, leaseMs, share = all }: Parameters<Store["claimDue"]>[0]): Promise<readonly Claim[]> {
    const rows = await this.#thread.run("claimDue", { now: this.now(), limit, leaseMs, node: this.#node, share });
    return rows.map((row) => this.#claim(row));
  }

  async claimSuspect({ leaseMs }: { leaseMs: number }): Promise<Claim | undefined> {
    const row = await this.#thread.run("claimSuspect", { now: this.now(), leaseMs, node: this.#node });
    return row === null ? undefined : this.#claim(row);
  }

  renew(contexts: readonly { context: number; epoch: number }[], leaseMs: number): Promise<readonly number[]> {
    return this.#thread.run("renew", { contexts, until: this.now() + leaseMs, node: this.#node });
  }

  async commit(change: Commit): Promise<Committed> {
    const by = { node: this.#node, now: this.now() };
    const result = await this.#thread.run("commit", commitArgs(change, by));
    if (result.kind !== "committed") return result;
    this.#signal.turnChanged(change.key);
    if (result.due) this.#signal.due();
    if (result.next === null) return { kind: "committed", length: result.length, next: undefined };
    const next = this.#claim(result.next);
    this.#signal.turnChanged(next.turn);
    return { kind: "committed", length: result.length, next };
  }

  async drained(key: TurnKey): Promise<void> {
    if (await this.#thread.run("drained", { context: key.context, turn: key.turn, now: this.now() }))
      this.#signal.due();
  }

  async nextDue(after?: number) {
    return { at: this.#reader.nextDue(this.#node, after), suspect: this.#reader.suspect(this.now()) };
  }

  async loadTurn(key: TurnKey) {
    return this.#reader.turn(key);
  }

  async loadJournal(key: TurnKey, from: number) {
    return this.#reader.journal(key, from);
  }

  async loadEarlier(key: TurnKey, limit: number) {
    return this.#reader.earlier(key, limit);
  }

  async listTurns(query: Parameters<Store["listTurns"]>[0]) {
    return this.#lists.page(query);
  }

  async listTroubled(limit: number, after = 0) {
    return this.#lists.troubled(limit, after);
  }

  async listQueues(limit: number) {
    return this.#lists.queues(limit);
  }

  async listUnfinished(query: UnfinishedQuery) {
    return this.#lists.unfinished(query);
  }

  async forget({ after, ...step }: Forget): Promise<Forgotten> {
    const { count, next } = await this.#thread.run("forgetOld", { ...step, after: after ?? 0 });
    return { count, next: next ?? undefined };
  }

  async erase(what: Erase): Promise<Erased> {
    const args = erasure(what);
    for (let turns = 0; ;) {
      const step = await this.#thread.run("erase", { ...args, limit: erasedAtOnce, now: this.now() });
      turns += step.turns;
      this.keys.forget();
      if (step.kind === "running") return { kind: "running", turns };
      if (step.kind === "unknown" && turns === 0) return { kind: "unknown" };
      if (step.kind === "unknown" || !step.more) return { kind: "erased", turns };
    }
  }

  async usage(query: UsageQuery): Promise<readonly Usage[]> {
    return this.#reader.usage(query);
  }

  async measure(): Promise<StoreFigures> {
    return this.#reader.figures();
  }

  async check(): Promise<readonly string[]> {
    const checked = survey(this.#file, { do: "check", most: checkedBytes }, this.#closing.signal);
    this.#check = checked.catch(() => {});
    return (await checked).problems;
  }

  async backup(file: string): Promise<void> {
    await survey(this.#file, { do: "copy", to: file });
  }

  async secret(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    return this.#reader.secret(name) ?? this.#thread.run("secret", { name, value: make(), now: this.now() });
  }

  async secrets(prefix: string) {
    return this.#reader.secrets(prefix);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#thread.drain();
    this.#closing.abort();
    await this.#check;
    // The writer is the last to close: only then does SQLite put the file's log away.
    this.#reader.close();
    await this.#thread.close();
  }

  #claim(row: ClaimRow): Claim {
    const turn = this.#reader.turn(row)!;
    return { epoch: row.epoch, turn, journal: turn.length === 0 ? [] : this.#reader.journal(row, 0), first: false };
  }
}

function erasure(what: Erase) {
  switch (what.what) {
    case "turn":
      return { what: what.what, context: what.key.context, turn: what.key.turn };
    case "context":
      return { what: what.what, subject: what.subject, agent: what.agent, name: what.contextId };
    case "subject":
      return what;
  }
}
