/** The reads of the Store, on a connection of their own: they see what is committed, and never wait for the writer. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { TASK_STATES } from "@nylorun/protocol";
import type { TaskState, TurnState } from "@nylorun/protocol";

import type { Entry } from "../../turn/journal.ts";
import type { StoredMessage, TurnKey, TurnRecord, TurnView } from "../../turn/record.ts";
import type { Blob } from "../files.ts";
import { BEGUN_STATUS_NUMBERS, ENDED_STATUS_NUMBERS, STATUS_NUMBERS, statusNumber } from "../status.ts";
import type {
  KeyRecord,
  Secret,
  Session,
  StoreFigures,
  TurnPage,
  TurnQuery,
  UnfinishedPage,
  UnfinishedQuery,
  Usage,
} from "../store.ts";
import { dayMs } from "../store.ts";
import { Counts } from "./counts.ts";
import { deliveryFigures } from "./deliveries.ts";
import { suspectSql } from "./statements.ts";

const turnColumns = `
  t.turn, t.context, t.state, t.status_at, t.created_at, t.length, t.revision, t.deaths, t.agent_version, t.traceparent,
  t.message, t.extension_data, t.view, t.scope, c.name`;
const turnTables = "turns t JOIN contexts c ON c.context = t.context";
/** Scopes whose names are remembered. */
const scopesKept = 10_000;

export class Reader {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #scopes = new Map<number, Scope>();
  readonly #counts: Counts;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#counts = new Counts((text) => this.#sql(text));
  }

  turn({ context, turn }: TurnKey): TurnRecord | undefined {
    const row = this.#sql(`SELECT ${turnColumns} FROM ${turnTables} WHERE t.turn = ? AND t.context = ?`).get(
      turn,
      context,
    );
    return row && this.#turn(row as unknown as TurnRow);
  }

  journal({ turn }: TurnKey, from: number): Entry[] {
    const rows = this.#sql("SELECT body FROM journal WHERE turn = ? AND seq >= ? ORDER BY seq").all(turn, from);
    return rows.map((row) => JSON.parse(row["body"] as string) as Entry);
  }

  earlier({ context, turn }: TurnKey, limit: number): TurnRecord[] {
    const ended = ENDED_STATUS_NUMBERS.map(
      (status) => `SELECT turn, status_at FROM turns WHERE context = :context AND status = ${status} AND turn < :turn`,
    ).join(" UNION ALL ");
    const rows = this.#sql(`
      SELECT ${turnColumns} FROM
        (${ended} ORDER BY status_at DESC, turn DESC LIMIT :limit) listed JOIN ${turnTables}
      WHERE t.turn = listed.turn
      ORDER BY t.turn`).all({ context, turn, limit });
    return rows.map((row) => this.#turn(row as unknown as TurnRow));
  }

  troubled(limit: number, after: number): TurnRecord[] {
    const rows = this.#sql(`
      SELECT ${turnColumns} FROM ${turnTables} WHERE t.troubled = 1 AND t.turn > ? ORDER BY t.turn LIMIT ?`).all(
      after,
      limit,
    );
    return rows.map((row) => this.#turn(row as unknown as TurnRow));
  }

  /** By scope, status and time: as the index has them. */
  unfinished({ agent, after, limit }: UnfinishedQuery): UnfinishedPage {
    const from = placeOf(after);
    const scopes = this.#sql("SELECT scope FROM scopes WHERE agent = ? AND scope >= ? ORDER BY scope LIMIT ?").all(
      agent,
      from.scope,
      scopesAtOnce,
    );
    const rows: (TurnRow & Place)[] = [];
    for (const { scope } of scopes as unknown as { scope: number }[]) {
      for (const status of BEGUN_STATUS_NUMBERS) {
        const isPast = scope === from.scope && status < from.status;
        const isHere = scope === from.scope && status === from.status;
        if (isPast) continue;
        const found = this.#sql(`
          SELECT ${turnColumns}, t.status FROM ${turnTables}
          WHERE t.scope = ? AND t.status = ? AND (t.status_at, t.turn) > (?, ?)
          ORDER BY t.status_at, t.turn LIMIT ?`).all(
          scope,
          status,
          isHere ? from.status_at : -1,
          isHere ? from.turn : -1,
          limit - rows.length,
        );
        rows.push(...(found as unknown as (TurnRow & Place)[]));
        if (rows.length === limit) return { turns: rows.map((row) => this.#turn(row)), next: placeText(rows.at(-1)!) };
      }
    }
    const last = scopes.length < scopesAtOnce ? undefined : (scopes.at(-1)!["scope"] as number);
    const next = last === undefined ? undefined : placeText({ scope: last + 1, status: 0, status_at: 0, turn: 0 });
    return { turns: rows.map((row) => this.#turn(row)), next };
  }

  message(digest: string, now: number): { context: number; turn: number; contentHash: string } | undefined {
    const row = this.#sql(
      `SELECT context, turn, content_hash AS contentHash FROM messages m
       WHERE digest = ? AND forget_at > ? AND EXISTS (SELECT 1 FROM turns t WHERE t.turn = m.turn)`,
    ).get(digest, now);
    return row && { ...(row as { context: number; turn: number; contentHash: string }) };
  }

  suspect(now: number): boolean {
    return this.#sql(suspectSql("t.turn")).get(now) !== undefined;
  }

  /** @param after Only what comes to be due after this moment, not what is. */
  nextDue(node: string, after?: number): number | undefined {
    const row = this.#sql(
      "SELECT due_at AS at FROM contexts WHERE due_at > ? AND runner IS NOT ? ORDER BY due_at LIMIT 1",
    ).get(after ?? -1, node);
    const ready =
      after === undefined
        ? this.#sql(`
            SELECT ready_at AS at FROM contexts
            WHERE subject = (SELECT subject FROM subjects WHERE place IS NOT NULL ORDER BY place LIMIT 1)
              AND ready_at IS NOT NULL
            ORDER BY ready_at LIMIT 1`).get()
        : undefined;
    const times = [row, ready].flatMap((found) => (found === undefined ? [] : [found["at"] as number]));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** One page, and the count of all, as of one moment. */
  page(query: TurnQuery): TurnPage {
    this.#sql("BEGIN").run();
    try {
      return this.#page(query);
    } finally {
      this.#sql("COMMIT").run();
    }
  }

  #page(query: TurnQuery): TurnPage {
    const found = this.#sql(`
      SELECT scope FROM scopes JOIN subjects USING (subject) WHERE name = ? AND agent = ?`).get(
      query.subject,
      query.agent,
    );
    if (found === undefined) return nothing;
    const scope = found["scope"] as number;
    const context =
      query.contextId === undefined
        ? undefined
        : this.#sql("SELECT context FROM contexts WHERE scope = ? AND name = ?").get(scope, query.contextId);
    if (query.contextId !== undefined && context === undefined) return nothing;
    const within = { scope, context: context?.["context"] as number | undefined };
    const statuses = query.status === undefined ? STATUS_NUMBERS : [statusNumber(query.status)];
    const total = this.#counts.total({ ...within, statuses, from: query.statusFrom });

    const values: Record<string, number | string> = { owner: within.context ?? scope, limit: query.limit + 1 };
    const where = [`${within.context === undefined ? "scope" : "context"} = :owner`];
    if (query.statusFrom !== undefined) {
      where.push("status_at >= :from");
      values["from"] = query.statusFrom;
    }
    if (query.after !== undefined) {
      where.push("(status_at, turn) < (:afterAt, :afterTurn)");
      values["afterAt"] = query.after.statusAt;
      values["afterTurn"] = query.after.turn;
    }
    // Turns of one status stand in the index in the order of the list; those of several are merged, not sorted.
    const merged = statuses
      .map((status) => `SELECT turn, status_at FROM turns WHERE status = ${status} AND ${where.join(" AND ")}`)
      .join(" UNION ALL ");
    const rows = this.#sql(`
      SELECT ${turnColumns} FROM
        (${merged} ORDER BY status_at DESC, turn DESC LIMIT :limit) listed
        JOIN turns t ON t.turn = listed.turn JOIN contexts c ON c.context = t.context
      ORDER BY listed.status_at DESC, listed.turn DESC`).iterate(values);
    const turns: TurnRecord[] = [];
    let size = 0;
    let more = false;
    for (const row of rows as Iterable<unknown> as Iterable<TurnRow>) {
      // One row further than the page goes, to know whether it is the last one.
      more = turns.length === query.limit || size >= (query.size ?? Infinity);
      if (more) break;
      turns.push(this.#turn(row));
      size += row.message.length + row.view.length;
    }
    return { turns, more, total };
  }

  figures(): StoreFigures {
    const tallies = this.#sql("SELECT status, n FROM tallies WHERE scope = 0").all();
    const counted = new Map(tallies.map((row) => [row["status"] as number, row["n"] as number]));
    const turns = TASK_STATES.map((status) => [status, counted.get(statusNumber(status)) ?? 0]);
    const ready = this.#sql(
      "SELECT count(*) AS n, min(ready_at) AS since FROM contexts WHERE ready_at IS NOT NULL",
    ).get()!;
    const pragma = (name: string) => this.#sql(`PRAGMA ${name}`).get()![name] as number;
    const pageBytes = pragma("page_size");
    return {
      turns: Object.fromEntries(turns) as Record<TaskState, number>,
      ready: ready["n"] as number,
      readySince: (ready["since"] as number | null) ?? undefined,
      deliveries: deliveryFigures((text) => this.#sql(text)),
      bytes: pragma("page_count") * pageBytes,
      freeBytes: pragma("freelist_count") * pageBytes,
      fileBytes: this.#sql("SELECT value FROM counters WHERE name = 'fileBytes'").get()!["value"] as number,
    };
  }

  blob({ context, turn }: TurnKey, sha256: string): Blob | undefined {
    const row = this.#sql(`
      SELECT blob, sha256, size FROM blobs
      WHERE sha256 = ? AND condemned = 0
        AND EXISTS (SELECT 1 FROM holds WHERE holds.blob = blobs.blob AND turn = ? AND context = ?)`).get(
      sha256,
      turn,
      context,
    );
    return row && ({ ...row } as unknown as Blob);
  }

  lastVersion(context: number, path: string): number {
    const row = this.#sql("SELECT version FROM outputs WHERE context = ? AND path = ?").get(context, path);
    return (row?.["version"] as number | undefined) ?? 0;
  }

  keys(): KeyRecord[] {
    return this.#sql("SELECT * FROM api_keys ORDER BY key")
      .all()
      .map((row) => keyOf(row as unknown as KeyRow));
  }

  key(hash: string): KeyRecord | undefined {
    const row = this.#sql("SELECT * FROM api_keys WHERE hash = ? AND revoked_at IS NULL").get(hash);
    return row && keyOf(row as unknown as KeyRow);
  }

  usage(subject: string | undefined, from: number): Usage[] {
    const whose = subject === undefined ? "0" : "(SELECT subject FROM subjects WHERE name = ?)";
    const name = subject === undefined ? [] : [subject];
    return this.#sql(
      `SELECT day, agent, turns, tokens, cost_usd FROM usage WHERE subject = ${whose} AND day >= ? ORDER BY day, agent`,
    )
      .all(...name, Math.floor(from / dayMs))
      .map((row) => {
        const { day, agent, turns, tokens, cost_usd: costUsd } = row as unknown as UsageRow;
        return { agent, day: day * dayMs, turns, tokens: tokens ?? undefined, costUsd: costUsd ?? undefined };
      });
  }

  session(hash: string, now: number): Session | undefined {
    const row = this.#sql("SELECT sealed, expires_at FROM sessions WHERE hash = ? AND expires_at > ?").get(hash, now);
    if (row === undefined) return undefined;
    const { sealed, expires_at: expiresAt } = row as unknown as { sealed: Uint8Array; expires_at: number };
    return { hash, sealed, expiresAt };
  }

  secret(name: string): Uint8Array | undefined {
    return this.#sql("SELECT value FROM secrets WHERE name = ?").get(name)?.["value"] as Uint8Array | undefined;
  }

  secrets(prefix: string): Secret[] {
    const rows = this.#sql(`
      SELECT name, value, created_at AS createdAt FROM secrets WHERE substr(name, 1, ?) = ? ORDER BY created_at, name`).all(
      prefix.length,
      prefix,
    );
    return rows.map((row) => ({ ...(row as unknown as Secret) }));
  }

  /** Whose turn it is. */
  owner(scope: number): Scope {
    return this.#scope(scope);
  }

  /** A statement that is kept. */
  sql(text: string): StatementSync {
    return this.#sql(text);
  }

  close(): void {
    this.#database.close();
  }

  #turn(row: TurnRow): TurnRecord {
    return turnOf(row, this.#scope(row.scope));
  }

  /** Whose turn it is. A scope never changes, and its key is used once. */
  #scope(scope: number): Scope {
    let found = this.#scopes.get(scope);
    if (found === undefined) {
      const row = this.#sql(`
        SELECT name AS subject, agent FROM scopes JOIN subjects USING (subject) WHERE scope = ?`).get(scope);
      found = row as unknown as Scope;
      if (this.#scopes.size >= scopesKept) this.#scopes.clear();
      this.#scopes.set(scope, found);
    }
    return found;
  }

  #sql(text: string): StatementSync {
    let statement = this.#prepared.get(text);
    if (statement === undefined) this.#prepared.set(text, (statement = this.#database.prepare(text)));
    return statement;
  }
}

/** Subjects that are looked through in one go: many have nothing unfinished. */
const scopesAtOnce = 1000;

/** Where a page of unfinished turns ended. */
interface Place {
  readonly scope: number;
  readonly status: number;
  readonly status_at: number;
  readonly turn: number;
}

function placeText({ scope, status, status_at, turn }: Place): string {
  return [scope, status, status_at, turn].join(".");
}

function placeOf(text: string | undefined): Place {
  const [scope = 0, status = 0, status_at = 0, turn = 0] = text?.split(".").map(Number) ?? [];
  return { scope, status, status_at, turn };
}

const nothing: TurnPage = { turns: [], more: false, total: 0 };

interface Scope {
  readonly subject: string;
  readonly agent: string;
}

interface TurnRow {
  readonly turn: number;
  readonly context: number;
  readonly state: TurnState;
  readonly status_at: number;
  readonly created_at: number;
  readonly length: number;
  readonly revision: number;
  readonly deaths: number;
  readonly agent_version: string;
  readonly traceparent: string;
  readonly message: string;
  readonly extension_data: string | null;
  readonly view: string;
  readonly name: string;
  readonly scope: number;
}

function turnOf(row: TurnRow, { subject, agent }: Scope): TurnRecord {
  const message = JSON.parse(row.message) as StoredMessage;
  return {
    context: row.context,
    turn: row.turn,
    subject,
    agent,
    contextId: row.name,
    state: row.state,
    statusAt: row.status_at,
    createdAt: row.created_at,
    length: row.length,
    revision: row.revision,
    deaths: row.deaths,
    agentVersion: row.agent_version,
    traceparent: row.traceparent,
    message:
      row.extension_data === null
        ? message
        : { ...message, extensionData: JSON.parse(row.extension_data) as Record<string, unknown> },
    view: JSON.parse(row.view) as TurnView,
  };
}

interface UsageRow {
  readonly day: number;
  readonly agent: string;
  readonly turns: number;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
}

interface KeyRow {
  readonly key: number;
  readonly role: string;
  readonly subject: string | null;
  readonly created_at: number;
  readonly revoked_at: number | null;
}

function keyOf(row: KeyRow): KeyRecord {
  return {
    id: String(row.key),
    holder: row.subject === null ? { role: "operator" } : { role: "subject", subject: row.subject },
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
  };
}
