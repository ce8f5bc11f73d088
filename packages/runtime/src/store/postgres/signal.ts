/**
 * Signals between nodes: LISTEN and NOTIFY, on a connection each. What happens here is told here at once, and to others in batches,
 * one on its way at a time: a NOTIFY in each write's own transaction would make all of them wait for each other.
 *
 * Hints (I9): what is not told while a connection is away is made up for when it is back, as then everybody is told to look again.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { Client } from "pg";

import type { TurnKey } from "../../turn/record.ts";
import { createLocalSignal } from "../local-signal.ts";
import type { Signal } from "../signal.ts";
import type { Erase } from "../store.ts";
import { unusable } from "./failure.ts";

export interface PostgresSignalOptions {
  readonly url: string;
  /** The store's: nodes on the same one hear each other. */
  readonly schema?: string;
  /** Told when a connection breaks; it is made again by itself. */
  readonly onTrouble?: (error: unknown) => void;
}

/** Turns in one notification, which may have 8000 bytes. */
const mostTurns = 200;
/** Turns that wait to be told. Who tells of more than can be told is slow, and others find out by themselves. */
const mostWaiting = 20_000;
/** Between two attempts to connect, in milliseconds. */
const reconnectMs = 500;
/** After which a connection that says nothing is looked at, and one that does not answer is given up, in milliseconds. */
const probeMs = 10_000;

/** What is told, and by whom. */
interface Note {
  readonly from: string;
  readonly turns: readonly (readonly [context: number, turn: number])[];
  readonly due: boolean;
  readonly announced: boolean;
  readonly erased?: Erase | undefined;
}

/** Resolves when it is listening. @throws StoreError `store.unavailable`. */
export async function openPostgresSignal(options: PostgresSignalOptions): Promise<Signal> {
  const signal = new PostgresSignal(options);
  await signal.connect().catch((error: unknown) => {
    throw unusable("store.unavailable", options.url, error);
  });
  return signal;
}

class PostgresSignal implements Signal {
  readonly #local = createLocalSignal();
  readonly #node = randomUUID();
  readonly #options: PostgresSignalOptions;
  readonly #channel: string;
  readonly #closing = new AbortController();
  /** Everybody who listens for one turn: they are told to look when something may have been missed. */
  readonly #turnListeners = new Set<() => void>();
  readonly #turns = new Map<number, TurnKey>();
  #due = false;
  #announced = false;
  readonly #erased: Erase[] = [];
  #telling: Promise<void> | undefined;
  #client: Client | undefined;
  #connecting: Promise<void> | undefined;
  #probe: NodeJS.Timeout | undefined;

  constructor(options: PostgresSignalOptions) {
    this.#options = options;
    this.#channel = `nylorun ${options.schema ?? "nylorun"}`.slice(0, 63);
  }

  turnChanged(key: TurnKey): void {
    if (this.#closing.signal.aborted) return;
    this.#local.turnChanged(key);
    if (this.#turns.size < mostWaiting) this.#turns.set(key.turn, { context: key.context, turn: key.turn });
    this.#tell();
  }

  due(): void {
    if (this.#closing.signal.aborted) return;
    this.#local.due();
    this.#due = true;
    this.#tell();
  }

  announced(): void {
    if (this.#closing.signal.aborted) return;
    this.#local.announced();
    this.#announced = true;
    this.#tell();
  }

  onAnnounced(listener: () => void): () => void {
    return this.#local.onAnnounced(listener);
  }

  erased(what: Erase): void {
    if (this.#closing.signal.aborted) return;
    this.#local.erased(what);
    this.#erased.push(what);
    this.#tell();
  }

  onErased(listener: (what: Erase | undefined) => void): () => void {
    return this.#local.onErased(listener);
  }

  onTurn(key: TurnKey, listener: () => void): () => void {
    const stop = this.#local.onTurn(key, listener);
    this.#turnListeners.add(listener);
    return () => {
      stop();
      this.#turnListeners.delete(listener);
    };
  }

  onTurns(listener: (key: TurnKey) => void): () => void {
    return this.#local.onTurns(listener);
  }

  onDue(listener: () => void): () => void {
    return this.#local.onDue(listener);
  }

  async connect(): Promise<void> {
    const { url } = this.#options;
    const client = new Client({
      connectionString: url,
      application_name: "nylorun signal",
      connectionTimeoutMillis: 5000,
      query_timeout: probeMs,
      keepAlive: true,
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload }) => this.#hear(payload ?? ""));
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    // A network that lets a connection die says nothing of it.
    this.#probe = setInterval(() => {
      client.query("SELECT 1").catch((error: unknown) => this.#lost(client, error));
    }, probeMs).unref();
    this.#tell();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#local[Symbol.asyncDispose]();
    this.#turnListeners.clear();
    clearInterval(this.#probe);
    // What waits is told: the process that has erased something may be there for that alone.
    while (this.#telling !== undefined && this.#client !== undefined) await this.#telling;
    const client = this.#client;
    this.#client = undefined;
    await this.#telling;
    await client?.end().catch(() => undefined);
    await this.#connecting;
  }

  /** What gathers while one notification is on its way goes with the next. */
  #tell(): void {
    const isQuiet = this.#turns.size === 0 && !this.#due && !this.#announced && this.#erased.length === 0;
    if (this.#telling !== undefined || this.#client === undefined || isQuiet) return;
    this.#telling = this.#send(this.#client).finally(() => {
      this.#telling = undefined;
      this.#tell();
    });
  }

  async #send(client: Client): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    // Alone: its names may be as long as a notification.
    const erased = this.#erased[0];
    const turns = erased === undefined ? [...this.#turns.values()].slice(0, mostTurns) : [];
    for (const { turn } of turns) this.#turns.delete(turn);
    const note: Note = {
      from: this.#node,
      turns: turns.map(({ context, turn }) => [context, turn] as const),
      due: this.#due,
      announced: this.#announced,
      ...(erased && { erased }),
    };
    this.#due = this.#announced = false;
    try {
      await client.query("SELECT pg_notify($1, $2)", [this.#channel, JSON.stringify(note)]);
      // Until it has been told it is told again: no other hint comes for it.
      if (erased !== undefined) this.#erased.shift();
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #hear(payload: string): void {
    const note = parsed(payload);
    if (note === undefined || note.from === this.#node) return;
    for (const [context, turn] of note.turns) this.#local.turnChanged({ context, turn });
    if (note.due) this.#local.due();
    if (note.announced) this.#local.announced();
    if (note.erased !== undefined) this.#local.erased(note.erased);
  }

  #lost(client: Client, error?: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    clearInterval(this.#probe);
    if (error !== undefined) this.#options.onTrouble?.(error);
    void client.end().catch(() => undefined);
    this.#connecting ??= this.#reconnect().finally(() => (this.#connecting = undefined));
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await delay(reconnectMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.connect();
      } catch {
        continue;
      }
      // Nobody knows what was missed.
      for (const listener of [...this.#turnListeners]) listener();
      this.#local.due();
      this.#local.announced();
      this.#local.erased(undefined);
      return;
    }
  }
}

function parsed(payload: string): Note | undefined {
  try {
    const { from, turns, due, announced, erased } = JSON.parse(payload) as Note;
    if (typeof from !== "string" || !Array.isArray(turns)) return undefined;
    return { from, turns, due, announced, erased };
  } catch {
    return undefined;
  }
}
