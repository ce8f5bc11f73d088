/**
 * The Store on PostgreSQL, for any number of nodes: the database's rows, locks and clock are all that they share.
 *
 * Each write is one call of a function of the database (migrations/), and so one transaction. It carries a token: when its answer
 * is lost, it is asked for again until it is known what came of it. What was claimed for a caller who has given up is let go: a turn
 * that nobody runs would be held by this node for ever.
 */
import { randomUUID } from "node:crypto";

import type { Change, TurnKey, TurnRecord, TurnView } from "../../turn/record.ts";
import { changesOf } from "../changes.ts";
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
  KeyRecord,
  KeyStore,
  MessageKey,
  SessionStore,
  Store,
  UnfinishedQuery,
  UsageQuery,
} from "../store.ts";
import { dayMs } from "../store.ts";
import { Clock } from "./clock.ts";
import { Connections } from "./connections.ts";
import type { Ask, Row } from "./connections.ts";
import { createFileStore } from "./files.ts";
import { Lanes } from "./lanes.ts";
import { changeValues, createPushStore, targetValues } from "./push.ts";
import { Reader } from "./reader.ts";
import type { ClaimRow } from "./reader.ts";
import { keyOf } from "./rows.ts";
import { migrate } from "./schema.ts";

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

const noLimit = Number.MAX_SAFE_INTEGER;
const all = { room: noLimit, most: noLimit, running: new Map<string, number>() };

/** How long a key is taken to be what it was: another node may have revoked it. */
const keyFreshMs = 1000;
const keysKept = 1000;
/** Turns that are erased in one go. */
const erasedAtOnce = 100;
/** Leases are no longer than this, in milliseconds. */
const longestLeaseMs = 600_000;
/** How often the changes of sums are folded into them, and so many at once. */
const foldMs = 1000;
const foldedAtOnce = 5000;
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
  readonly #options: PostgresStoreOptions;
  readonly #signal: Signal;
  readonly #node = randomUUID();
  readonly #clock = new Clock();
  readonly #lanes = new Lanes();
  readonly #foundKeys = new Map<string, { readonly at: number; readonly key: Promise<KeyRecord | undefined> }>();
  readonly #timers: NodeJS.Timeout[] = [];
  /** There may be changes to be folded: those of a node that died, to begin with. */
  #unfolded = true;
  #closed: Promise<void> | undefined;
  readonly readsAreCurrent = false;
  readonly backup = undefined;
  readonly now: () => number;
  readonly keys: KeyStore;
  readonly sessions: SessionStore;
  readonly files: FileStore;
  readonly push: PushStore;

  constructor(connections: Connections, options: PostgresStoreOptions) {
    this.#connections = connections;
    this.#reader = new Reader(connections);
    this.#options = options;
    this.#signal = options.signal;
    this.now = options.now ?? (() => this.#clock.now());
    this.keys = {
      add: async ({ hash, holder }) => {
        const subject = holder.role === "subject" ? holder.subject : null;
        const [row] = await this.#ask(
          "INSERT INTO api_keys (hash, role, subject, created_at) VALUES ($1, $2, $3, clock($4)) RETURNING *",
          [hash, holder.role, subject, this.#given],
        );
        this.#foundKeys.clear();
        return keyOf(row!);
      },
      list: async () => (await connections.read("SELECT * FROM api_keys ORDER BY key")).map(keyOf),
      revoke: async (id) => {
        if (!/^\d{1,15}$/.test(id)) return false;
        const rows = await this.#ask(
          "UPDATE api_keys SET revoked_at = clock($2) WHERE key = $1 AND revoked_at IS NULL RETURNING key",
          [Number(id), this.#given],
        );
        this.#foundKeys.clear();
        return rows.length > 0;
      },
      find: (hash) => this.#findKey(hash),
    };
    this.sessions = {
      add: async ({ hash, sealed, expiresAt }) => {
        await this.#ask(
          `WITH over AS (
             DELETE FROM sessions WHERE hash IN (
               SELECT hash FROM sessions WHERE expires_at <= clock($4) ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)
           ) INSERT INTO sessions (hash, sealed, expires_at) VALUES ($1, $2, $3)`,
          [hash, Buffer.from(sealed), expiresAt, this.#given],
        );
      },
      find: async (hash) => {
        const [row] = await connections.read(
          "SELECT sealed, expires_at FROM sessions WHERE hash = $1 AND expires_at > clock($2)",
          [hash, this.#given],
        );
        if (row === undefined) return undefined;
        return { hash, sealed: new Uint8Array(row["sealed"] as Buffer), expiresAt: row["expires_at"] as number };
      },
      remove: async (hash) =>
        (await this.#ask("DELETE FROM sessions WHERE hash = $1 RETURNING hash", [hash])).length > 0,
    };
    const ask: Ask = (text, values) => this.#ask(text, values);
    const given = () => this.#given;
    const read: Ask = (text, values) => connections.read(text, values);
    this.files = createFileStore({ ask, read, given });
    this.push = createPushStore({
      ask,
      read,
      reader: this.#reader,
      node: this.#node,
      given,
      onAnnounced: () => this.#signal.announced(),
    });
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
      const timer = setInterval(() => void work().catch((error: unknown) => this.#trouble(error)), ms);
      this.#timers.push(timer.unref());
    };
    every(clockMs, () => this.#setClock());
    every(foldMs, () => this.#fold(false));
  }

  async accept(accept: Accept): Promise<Accepted> {
    const { key, message } = accept;
    const { extensionData, ...plain } = message;
    const newName = newContextName(this.now());
    const token = randomUUID();
    const values = [
      key.subject,
      key.agent,
      key.contextId ?? null,
      newName,
      accept.dedupeMs > 0 ? messageDigest(key) : null,
      accept.contentHash,
      accept.dedupeMs,
      JSON.stringify(plain),
      extensionData === undefined ? null : JSON.stringify(extensionData),
      accept.agentVersion,
      accept.traceparent,
      accept.whenBusy === "reject",
      accept.queueDepth,
      accept.limits?.queued ?? noLimit,
      accept.limits?.bytes ?? noLimit,
      ...targetValues(accept.push),
      this.#node,
      accept.claim?.leaseMs ?? 0,
      token,
    ];
    const lane = `${key.subject} ${key.agent} ${key.contextId ?? newName}`;
    const claims = accept.claim !== undefined;
    const { row, again } = await this.#inLane(lane, () => this.#write("accept", values, { token, claims }));
    const place = { context: row["at_context"] as number, turn: row["at_turn"] as number };
    const kind = row["kind"] as Accepted["kind"];
    if (kind !== "accepted") {
      // It may be this very message that came before, and was claimed, and has changed since.
      if (again && accept.claim !== undefined) void this.#disown(token);
      return kind === "duplicate" ? { kind, key: place } : { kind };
    }
    const at = row["at"] as number;
    const epoch = row["claimed"] as number | null;
    const state = row["is_queued"] === true ? "queued" : "running";
    const turn: TurnRecord = {
      ...place,
      subject: key.subject,
      agent: key.agent,
      contextId: key.contextId ?? newName,
      state,
      statusAt: at,
      createdAt: at,
      length: 0,
      revision: 0,
      deaths: 0,
      agentVersion: accept.agentVersion,
      traceparent: accept.traceparent,
      message: JSON.parse(JSON.stringify(message)) as TurnRecord["message"],
      view: {},
    };
    this.#signal.turnChanged(turn);
    if (state === "running" && epoch === null) this.#signal.due();
    const claim = epoch === null ? undefined : { epoch, turn, journal: [], first: row["is_first"] as boolean };
    return { kind, turn, claim };
  }

  async findMessage(key: MessageKey) {
    return this.#reader.message(messageDigest(key), this.#given);
  }

  async claimDue({ limit, leaseMs, share = all }: Parameters<Store["claimDue"]>[0]) {
    const running = JSON.stringify(Object.fromEntries(share.running));
    const values = [Math.min(limit, 10_000), share.room, share.most, running];
    return this.#claim("claim_due", values, leaseMs);
  }

  async claimSuspect({ leaseMs }: { readonly leaseMs: number }) {
    return (await this.#claim("claim_suspect", [], leaseMs))[0];
  }

  async renew(leases: readonly { readonly context: number; readonly epoch: number }[], leaseMs: number) {
    const contexts = leases.map(({ context }) => context);
    const epochs = leases.map(({ epoch }) => epoch);
    const [row] = await this.#ask("SELECT renew($1::bigint[], $2::bigint[], $3, $4, $5) AS lost", [
      contexts,
      epochs,
      this.#node,
      leaseMs,
      this.#given,
    ]);
    return (row!["lost"] as string[]).map(Number);
  }

  async commit(change: Commit): Promise<Committed> {
    const { key, view, message, then } = change;
    const { entries = [], outputs = [] } = change;
    const leaseMs = then?.do === "end" ? (then.claim?.leaseMs ?? 0) : 0;
    const token = randomUUID();
    const values = [
      key.context,
      key.turn,
      change.length,
      change.revision ?? null,
      change.epoch ?? null,
      change.from ?? null,
      entries.map(({ kind }) => kind),
      entries.map((entry) => JSON.stringify(entry)),
      view === undefined ? null : JSON.stringify(view),
      view?.waitsFor ?? null,
      view?.totals?.tokens ?? null,
      view?.totals?.costUsd ?? null,
      view === undefined ? null : view.held !== undefined || view.lost !== undefined,
      change.state ?? null,
      change.statusChanged ?? false,
      change.forgive ?? false,
      message !== undefined && message.dedupeMs > 0 ? messageDigest(message.key) : null,
      message?.contentHash ?? null,
      message?.dedupeMs ?? 0,
      outputs.map(({ path }) => path),
      outputs.map(({ version }) => version),
      outputs.flatMap(({ of }) => (of === undefined ? [] : [of])),
      ...targetValues(change.push),
      then?.do ?? "go on",
      then?.do === "park" ? (then.dueAt ?? null) : null,
      then?.do === "end" ? (then.graceMs ?? 0) : 0,
    ];
    const end = [this.#node, leaseMs, token];
    // What runs waits for the database: its turn is as it was, until it is known what came of this.
    const patient = change.epoch !== undefined;
    const { row, next } = await this.#inLane(`${key.context} ${patient}`, async () => {
      let seen: Seen = { revision: null, changes: [] };
      for (;;) {
        const given = [...values, seen.revision, ...changeValues(seen.changes), ...end];
        const written = await this.#write("commit_turn", given, { token, claims: leaseMs > 0, patient });
        if (written.row["kind"] !== "look") return written;
        // Others listen to this turn: what they are told follows from what it is, and that may be another by the time it is written.
        seen = seenBy(change, written.row);
      }
    });
    const kind = row["kind"] as Committed["kind"];
    switch (kind) {
      case "fenced":
        return { kind, state: row["at_state"] as TurnRecord["state"] };
      case "behind":
        return { kind, length: row["at_length"] as number };
      case "duplicate":
      case "reused":
      case "pushFull":
        return { kind };
      case "committed": {
        this.#signal.turnChanged(key);
        if (row["due"] === true) this.#signal.due();
        if (next !== undefined) this.#signal.turnChanged(next.turn);
        return { kind, length: row["at_length"] as number, next };
      }
    }
  }

  async drained({ context, turn }: TurnKey): Promise<void> {
    const [row] = await this.#ask("SELECT due, announced() AS announced FROM drained($1, $2, $3) AS due", [
      context,
      turn,
      this.#given,
    ]);
    if (row!["due"] === true) this.#signal.due();
    if (row!["announced"] === true) this.#signal.announced();
  }

  nextDue(after?: number) {
    return this.#reader.nextDue(this.#node, after, this.#given);
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
    return this.#reader.page(query);
  }

  listTroubled(limit: number, after = 0) {
    return this.#reader.troubled(limit, after);
  }

  listUnfinished(query: UnfinishedQuery) {
    return this.#reader.unfinished(query);
  }

  async forget({ what, before, after = 0, limit }: Forget): Promise<Forgotten> {
    if (what === "messages") {
      const rows = await this.#ask(
        `DELETE FROM messages WHERE digest IN
           (SELECT digest FROM messages WHERE forget_at <= $1 ORDER BY forget_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING turn`,
        [before, limit],
      );
      return { count: rows.length, next: rows.length < limit ? undefined : 0 };
    }
    if (what === "usage") {
      await this.#fold(true);
      const rows = await this.#ask(
        `DELETE FROM usage WHERE (subject, day, agent) IN
           (SELECT subject, day, agent FROM usage WHERE day < $1 ORDER BY day LIMIT $2 FOR UPDATE)
         RETURNING day`,
        [Math.floor(before / dayMs), limit],
      );
      return { count: rows.length, next: rows.length < limit ? undefined : 0 };
    }
    if (what === "giveUps") {
      const [row] = await this.#ask("SELECT forget_give_ups($1, $2) AS count", [before, limit]);
      const count = row!["count"] as number;
      return { count, next: count < limit ? undefined : 0 };
    }
    const [row] = await this.#ask("SELECT * FROM forget_turns($1, $2, $3, $4)", [
      what === "journals",
      before,
      after,
      limit,
    ]);
    return { count: row!["forgotten"] as number, next: (row!["next"] as number | null) ?? undefined };
  }

  async erase(what: Erase): Promise<Erased> {
    switch (what.what) {
      case "turn":
        return this.#eraseTurns(what.key.context, what.key.turn);
      case "context": {
        const [row] = await this.#connections.read(
          `SELECT n.context FROM names n JOIN scopes s ON s.scope = n.scope JOIN subjects u ON u.subject = s.subject
           WHERE u.name = $1 AND s.agent = $2 AND n.name = $3`,
          [what.subject, what.agent, what.contextId],
        );
        return row === undefined ? { kind: "unknown" } : this.#eraseTurns(row["context"] as number, null);
      }
      case "subject":
        return this.#eraseSubject(what.subject);
    }
  }

  async #eraseSubject(name: string): Promise<Erased> {
    const [found] = await this.#connections.read(
      `SELECT u.subject, EXISTS (
         SELECT 1 FROM scopes s JOIN turns t ON t.scope = s.scope AND t.status = 2 JOIN contexts c ON c.context = t.context
         WHERE s.subject = u.subject AND (t.state = 'running' OR (c.active = t.turn AND c.runner IS NOT NULL))
       ) AS runs FROM subjects u WHERE u.name = $1`,
      [name],
    );
    if (found?.["runs"] === true) return { kind: "running", turns: 0 };
    const keys = await this.#ask("DELETE FROM api_keys WHERE subject = $1 RETURNING key", [name]);
    this.#foundKeys.clear();
    if (found === undefined) return keys.length === 0 ? { kind: "unknown" } : { kind: "erased", turns: 0 };
    const subject = found["subject"] as number;
    for (let turns = 0; ;) {
      const [next] = await this.#connections.read(
        "SELECT n.context FROM names n JOIN scopes s ON s.scope = n.scope WHERE s.subject = $1 LIMIT 1",
        [subject],
      );
      if (next === undefined) {
        const [row] = await this.#ask("SELECT erase_subject($1) AS done", [subject]);
        if (row!["done"] === true) return { kind: "erased", turns };
        continue;
      }
      const erased = await this.#eraseTurns(next["context"] as number, null);
      if (erased.kind === "erased") turns += erased.turns;
      if (erased.kind === "running") return { kind: "running", turns: turns + erased.turns };
    }
  }

  /** @param turn Null: all of the context. */
  async #eraseTurns(context: number, turn: number | null): Promise<Erased> {
    for (let turns = 0; ;) {
      const [row] = await this.#ask("SELECT f.*, announced() AS announced FROM erase_turns($1, $2, $3, $4) f", [
        context,
        turn,
        erasedAtOnce,
        this.#given,
      ]);
      const step = row as unknown as { kind: Erased["kind"]; turns: number; more: boolean };
      turns += step.turns;
      if (row!["announced"] === true) this.#signal.announced();
      if (step.kind === "running") return { kind: "running", turns };
      if (step.kind === "unknown" && turns === 0) return { kind: "unknown" };
      if (step.kind === "unknown" || !step.more) return { kind: "erased", turns };
    }
  }

  usage({ subject, from }: UsageQuery) {
    return this.#reader.usage(subject, from);
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
    await this.#ask("INSERT INTO secrets (name, value, created_at) VALUES ($1, $2, clock($3)) ON CONFLICT DO NOTHING", [
      name,
      Buffer.from(make()),
      this.#given,
    ]);
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
    await this.#connections.drain(this.#lanes.idle());
    await this.#connections[Symbol.asyncDispose]();
  }

  /** What the database goes by instead of its own clock; null: that. */
  get #given(): number | null {
    return this.#options.now?.() ?? null;
  }

  async #ask(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const began = performance.now();
    const rows = await this.#connections.ask(() => this.#connections.query({ text, values }));
    this.#options.onWrite?.(performance.now() - began);
    this.#unfolded = true;
    return rows;
  }

  #inLane<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw new StoreError("store.closed", "The store is closed.");
    return this.#lanes.run(lane, work);
  }

  /**
   * Calls a function of the database that has a token.
   */
  async #write(
    name: "accept" | "commit_turn",
    given: readonly unknown[],
    { token, claims, patient = false }: WriteOptions,
  ) {
    const began = performance.now();
    const values = [...given, false, this.#given];
    const text = `SELECT f.*, announced() AS announced FROM ${name}(${values.map((_, index) => `$${index + 1}`).join(", ")}) f`;
    let wasAgain = false;
    try {
      const attempt = async (again: boolean) => {
        wasAgain ||= again;
        values[given.length] = again;
        const row = (await this.#connections.query({ text, values }))[0]!;
        const turn = row["next_turn"] as number | null | undefined;
        const claimed = turn ? [{ context: given[0] as number, turn, epoch: row["next_epoch"] as number }] : [];
        const [next] = await this.#reader.claims(claimed);
        return { row, next, again: wasAgain };
      };
      const done = await this.#connections.ask(attempt, patient);
      if (done.row["announced"] === true) this.#signal.announced();
      this.#options.onWrite?.(performance.now() - began);
      this.#unfolded = true;
      return done;
    } catch (error) {
      if (claims) void this.#disown(token);
      throw error;
    }
  }

  async #claim(name: "claim_due" | "claim_suspect", given: readonly unknown[], leaseMs: number) {
    const token = randomUUID();
    const values = [...given, this.#node, leaseMs, token, false, this.#given];
    const text = `
      SELECT f.*, announced() AS announced
      FROM (SELECT 1) one LEFT JOIN ${name}(${values.map((_, index) => `$${index + 1}`).join(", ")}) f ON true`;
    try {
      return await this.#connections.ask(async (again) => {
        values[values.length - 2] = again;
        const rows = await this.#connections.query({ text, values });
        const claimed = rows.filter((row) => row["at_context"] !== null && row["at_context"] !== 0);
        if (rows[0]!["at_context"] !== null) this.#unfolded = true;
        if (rows.at(-1)!["at_context"] === 0) this.#signal.due();
        if (rows[0]!["announced"] === true) this.#signal.announced();
        return this.#reader.claims(
          claimed.map((row): ClaimRow => ({
            context: row["at_context"] as number,
            turn: row["at_turn"] as number,
            epoch: row["at_epoch"] as number,
          })),
        );
      });
    } catch (error) {
      void this.#disown(token);
      throw error;
    }
  }

  /** Lets go of what a write may have claimed. It is tried until it is done, or the store is closed: then the lease ends by itself. */
  async #disown(token: string): Promise<void> {
    try {
      const values = [this.#node, token, longestLeaseMs, this.#given];
      const text = "SELECT disown($1, $2, $3, $4) AS count";
      const [row] = await this.#connections.ask(() => this.#connections.query({ text, values }), true);
      if ((row!["count"] as number) > 0) this.#signal.due();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.closed")) this.#trouble(error);
    }
  }

  async #findKey(hash: string): Promise<KeyRecord | undefined> {
    const now = performance.now();
    let found = this.#foundKeys.get(hash);
    if (found === undefined || now - found.at > keyFreshMs) {
      const reading = this.#connections.read("SELECT * FROM api_keys WHERE hash = $1 AND revoked_at IS NULL", [hash]);
      found = { at: now, key: reading.then(([row]) => row && keyOf(row)) };
      if (this.#foundKeys.size >= keysKept) this.#foundKeys.clear();
      this.#foundKeys.set(hash, found);
      found.key.catch(() => this.#foundKeys.delete(hash));
    }
    return found.key;
  }

  /** @param wait For another node that is at it. */
  async #fold(wait: boolean): Promise<void> {
    if (!this.#unfolded && !wait) return;
    this.#unfolded = false;
    for (let folded = foldedAtOnce; folded === foldedAtOnce;) {
      const [row] = await this.#connections.read("SELECT fold_changes($1, $2) AS count", [foldedAtOnce, wait]);
      folded = row!["count"] as number;
    }
  }

  async #setClock(): Promise<void> {
    await this.#clock.set(async () => (await this.#connections.read("SELECT clock(NULL) AS now"))[0]!["now"] as number);
  }

  #trouble(error: unknown): void {
    if (this.#closed === undefined) this.#options.onTrouble?.(error);
  }
}

/** What is told of a change to those who listen, and of which revision of the turn that was made. */
interface Seen {
  readonly revision: number | null;
  readonly changes: readonly Change[];
}

function seenBy({ state, view }: Commit, row: Row): Seen {
  const before = {
    state: row["at_state"] as TurnRecord["state"],
    statusAt: 0,
    view: JSON.parse(row["at_view"] as string) as TurnView,
  };
  const after = { state: state ?? before.state, statusAt: 0, view: view ?? before.view };
  return { revision: row["at_revision"] as number, changes: changesOf(before, after) };
}

interface WriteOptions {
  readonly token: string;
  /** It may claim a context, which is let go should the caller not come to know. */
  readonly claims: boolean;
  /** Waits for the database for as long as it takes. */
  readonly patient?: boolean;
}
