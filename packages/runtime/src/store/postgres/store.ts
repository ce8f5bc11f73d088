/**
 * The Store on PostgreSQL, for any number of nodes: the database's rows, locks and clock are all that they share. What it is put
 * together from:
 *
 * | part                        | does                                                                          |
 * |-----------------------------|-------------------------------------------------------------------------------|
 * | turns                       | begins turns, and changes them; one change of a context after another (lanes) |
 * | schedule                    | claims what is due, and renews the claims                                     |
 * | lists                       | shows turns, a page at a time                                                  |
 * | eraser                      | takes out again what is past its time, or not to be there                     |
 * | keys, sessions              | who may come in                                                               |
 * | holdings, deliveries        | files, and what webhooks are to be told                                       |
 * | tallies                     | sums that nobody has to count                                                 |
 * | reader, writer, connections | how the database is asked, by all of these                                    |
 * | schema, clock               | its tables and functions, and its time                                        |
 */
import { randomUUID } from "node:crypto";

import type { TurnKey } from "../../turn/record.ts";
import { StoreError } from "../errors.ts";
import type { FileStore } from "../files.ts";
import { messageDigest } from "../naming.ts";
import type { PushStore } from "../push.ts";
import type { Signal } from "../signal.ts";
import type {
  Accept,
  Commit,
  Erase,
  Forget,
  MessageKey,
  SessionStore,
  Store,
  UnfinishedQuery,
  UsageQuery,
} from "../store.ts";
import { Clock } from "./clock.ts";
import { Connections } from "./connections.ts";
import type { Ask } from "./connections.ts";
import { createPushStore } from "./deliveries.ts";
import { Eraser } from "./eraser.ts";
import { createFileStore } from "./holdings.ts";
import { Keys } from "./keys.ts";
import { Lists } from "./lists.ts";
import { Reader } from "./reader.ts";
import { Schedule } from "./schedule.ts";
import { migrate } from "./schema.ts";
import { createSessionStore } from "./sessions.ts";
import { Tallies } from "./tallies.ts";
import { Turns } from "./turns.ts";
import { Writer } from "./writer.ts";

export interface PostgresStoreOptions {
  /** `postgres://user@host/database`. */
  readonly url: string;
  readonly signal: Signal;
  /** Where the tables are. Default: `nylorun`. */
  readonly schema?: string;
  /** How many connections at most. Default: 10. */
  readonly connections?: number;
  /** How long callers wait for a database that does not answer, in milliseconds; what runs waits for as long as it takes. Default: 2000. */
  readonly patienceMs?: number;
  /** Milliseconds since 1970. Default: the database's clock. */
  readonly now?: () => number;
  /** Told how long a write took, in milliseconds. */
  readonly onWrite?: (ms: number) => void;
  /** Told what went wrong beside all calls. */
  readonly onTrouble?: (error: unknown) => void;
}

/** How often the changes of sums are folded into them, in milliseconds. */
const foldMs = 1000;
/** How often the database is asked what time it is, in milliseconds. */
const clockMs = 15_000;

/**
 * Opens the store, making its tables when there are none.
 *
 * @throws StoreError `store.newer`, `store.broken`, `store.unavailable`, `store.importing`.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, schema = "nylorun", connections: most = 10, patienceMs = 2000 } = options;
  await migrate({ url, schema });
  const connections = new Connections({ url, schema, most, patienceMs });
  try {
    const store = new PostgresStore(connections, options);
    await store.begin();
    return store;
  } catch (error) {
    await connections[Symbol.asyncDispose]();
    throw error;
  }
}

class PostgresStore implements Store {
  readonly #connections: Connections;
  readonly #reader: Reader;
  readonly #lists: Lists;
  readonly #writer: Writer;
  readonly #turns: Turns;
  readonly #schedule: Schedule;
  readonly #tallies: Tallies;
  readonly #eraser: Eraser;
  readonly #onTrouble: (error: unknown) => void;
  readonly #clock = new Clock();
  readonly #timers: NodeJS.Timeout[] = [];
  #closed: Promise<void> | undefined;
  readonly readsAreCurrent = false;
  readonly backup = undefined;
  readonly now: () => number;
  readonly keys: Keys;
  readonly sessions: SessionStore;
  readonly files: FileStore;
  readonly push: PushStore;

  constructor(connections: Connections, options: PostgresStoreOptions) {
    const { signal, now, onWrite = () => {}, onTrouble = () => {} } = options;
    const node = randomUUID();
    this.now = now ?? (() => this.#clock.now());
    this.#connections = connections;
    this.#onTrouble = (error) => {
      if (this.#closed === undefined) onTrouble(error);
    };
    const tallies = (this.#tallies = new Tallies(connections));
    const reader = (this.#reader = new Reader(connections));
    const writer = (this.#writer = new Writer({
      connections,
      tallies,
      signal,
      node,
      given: () => now?.() ?? null,
      onWrite,
      onTrouble: this.#onTrouble,
    }));
    const read: Ask = (text, values) => connections.read(text, values);
    this.#lists = new Lists(read);
    this.#turns = new Turns({ writer, reader, signal, node, now: this.now });
    this.#schedule = new Schedule({ writer, reader, signal, node });
    this.keys = new Keys(writer, read);
    this.sessions = createSessionStore(writer, read);
    this.files = createFileStore(writer, read);
    this.push = createPushStore({ writer, read, reader, signal, node });
    this.#eraser = new Eraser({ writer, connections, tallies, signal, keys: this.keys });
  }

  /** @throws StoreError `store.importing`. */
  async begin(): Promise<void> {
    const importing = await this.#connections.read("SELECT 1 FROM imports WHERE NOT done");
    if (importing.length > 0) {
      throw new StoreError(
        "store.importing",
        "An import into the database has not come to its end: run it again, and serve then.",
      );
    }
    await this.#setClock();
    const every = (ms: number, work: () => Promise<void>) => {
      this.#timers.push(setInterval(() => void work().catch(this.#onTrouble), ms).unref());
    };
    every(clockMs, () => this.#setClock());
    every(foldMs, () => this.#tallies.fold());
  }

  accept(accept: Accept) {
    return this.#turns.accept(accept);
  }

  async findMessage(key: MessageKey) {
    return this.#reader.message(messageDigest(key), this.#writer.given);
  }

  claimDue(options: Parameters<Store["claimDue"]>[0]) {
    return this.#schedule.claimDue(options);
  }

  claimSuspect({ leaseMs }: { readonly leaseMs: number }) {
    return this.#schedule.claimSuspect(leaseMs);
  }

  renew(leases: readonly { readonly context: number; readonly epoch: number }[], leaseMs: number) {
    return this.#schedule.renew(leases, leaseMs);
  }

  commit(change: Commit) {
    return this.#turns.commit(change);
  }

  drained(key: TurnKey) {
    return this.#schedule.drained(key);
  }

  nextDue(after?: number) {
    return this.#schedule.nextDue(after);
  }

  loadTurn(key: TurnKey) {
    return this.#reader.turn(key);
  }

  loadJournal(key: TurnKey, from: number) {
    return this.#reader.journal(key, from);
  }

  loadEarlier(key: TurnKey, limit: number) {
    return this.#reader.earlier(key, limit);
  }

  listTurns(query: Parameters<Store["listTurns"]>[0]) {
    return this.#lists.page(query);
  }

  listTroubled(limit: number, after = 0) {
    return this.#lists.troubled(limit, after);
  }

  listQueues(limit: number) {
    return this.#lists.queues(limit);
  }

  listUnfinished(query: UnfinishedQuery) {
    return this.#lists.unfinished(query);
  }

  forget(step: Forget) {
    return this.#eraser.forget(step);
  }

  erase(what: Erase) {
    return this.#eraser.erase(what);
  }

  usage(query: UsageQuery) {
    return this.#reader.usage(query);
  }

  measure() {
    return this.#reader.figures();
  }

  async check() {
    // What a page says that its disk has lost is PostgreSQL's own to find (data checksums, amcheck).
    return [];
  }

  async secret(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const found = await this.#reader.secret(name);
    if (found !== undefined) return found;
    await this.#writer.ask(
      "INSERT INTO secrets (name, value, created_at) VALUES ($1, $2, clock($3)) ON CONFLICT DO NOTHING",
      [name, Buffer.from(make()), this.#writer.given],
    );
    return (await this.#reader.secret(name))!;
  }

  secrets(prefix: string) {
    return this.#reader.secrets(prefix);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#connections.drain(this.#turns.close());
    await this.#connections[Symbol.asyncDispose]();
  }

  async #setClock(): Promise<void> {
    await this.#clock.set(async () => (await this.#connections.read("SELECT clock(NULL) AS now"))[0]!["now"] as number);
  }
}
