/** The reads of the Store, on a connection of their own: they see what is committed, and never wait for the writer. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { TASK_STATES } from "@nylorun/protocol";
import type { TaskState } from "@nylorun/protocol";

import type { Entry } from "../../turn/journal.ts";
import type { TurnKey, TurnRecord } from "../../turn/record.ts";
import type { Blob } from "../files.ts";
import { keyOf, turnOf } from "../rows.ts";
import type { KeyRow } from "../rows.ts";
import { ENDED_STATUS_NUMBERS, statusNumber } from "../status.ts";
import type { KeyRecord, Secret, Seen, Session, StoreFigures, Usage, UsageQuery } from "../store.ts";
import { dayMs } from "../store.ts";
import { deliveryFigures } from "./deliveries.ts";
import { turnColumns, turnTables } from "./rows.ts";
import type { Scope, TurnRow } from "./rows.ts";
import { suspectSql } from "./statements.ts";

/** Scopes whose names are remembered. */
const scopesKept = 10_000;

export class Reader {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #scopes = new Map<number, Scope>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  turn({ context, turn }: TurnKey): TurnRecord | undefined {
    const row = this.sql(`SELECT ${turnColumns} FROM ${turnTables} WHERE t.turn = ? AND t.context = ?`).get(
      turn,
      context,
    );
    return row && this.turnOf(row as unknown as TurnRow);
  }

  journal({ turn }: TurnKey, from: number): Entry[] {
    const rows = this.sql("SELECT body FROM journal WHERE turn = ? AND seq >= ? ORDER BY seq").all(turn, from);
    return rows.map((row) => JSON.parse(row["body"] as string) as Entry);
  }

  earlier({ context, turn }: TurnKey, limit: number): TurnRecord[] {
    const ended = ENDED_STATUS_NUMBERS.map(
      (status) => `SELECT turn, status_at FROM turns WHERE context = :context AND status = ${status} AND turn < :turn`,
    ).join(" UNION ALL ");
    const rows = this.sql(`
      SELECT ${turnColumns} FROM
        (${ended} ORDER BY status_at DESC, turn DESC LIMIT :limit) listed JOIN ${turnTables}
      WHERE t.turn = listed.turn
      ORDER BY t.turn`).all({ context, turn, limit });
    return rows.map((row) => this.turnOf(row as unknown as TurnRow));
  }

  message(digest: string, now: number): Seen | undefined {
    const row = this.sql(
      `SELECT context, turn, content_hash AS contentHash FROM messages m
       WHERE digest = ? AND forget_at > ? AND EXISTS (SELECT 1 FROM turns t WHERE t.turn = m.turn)`,
    ).get(digest, now);
    return row && { ...(row as unknown as Seen) };
  }

  suspect(now: number): boolean {
    return this.sql(suspectSql("t.turn")).get(now) !== undefined;
  }

  /** @param after Only what comes to be due after this moment, not what is. */
  nextDue(node: string, after?: number): number | undefined {
    const row = this.sql(
      "SELECT due_at AS at FROM contexts WHERE due_at > ? AND runner IS NOT ? ORDER BY due_at LIMIT 1",
    ).get(after ?? -1, node);
    const ready =
      after === undefined
        ? this.sql(`
            SELECT ready_at AS at FROM contexts
            WHERE subject = (SELECT subject FROM subjects WHERE place IS NOT NULL ORDER BY place LIMIT 1)
              AND ready_at IS NOT NULL
            ORDER BY ready_at LIMIT 1`).get()
        : undefined;
    const times = [row, ready].flatMap((found) => (found === undefined ? [] : [found["at"] as number]));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  figures(): StoreFigures {
    const tallies = this.sql("SELECT status, n FROM tallies WHERE scope = 0").all();
    const counted = new Map(tallies.map((row) => [row["status"] as number, row["n"] as number]));
    const turns = TASK_STATES.map((status) => [status, counted.get(statusNumber(status)) ?? 0]);
    const ready = this.sql(
      "SELECT count(*) AS n, min(ready_at) AS since FROM contexts WHERE ready_at IS NOT NULL",
    ).get()!;
    const pragma = (name: string) => this.sql(`PRAGMA ${name}`).get()![name] as number;
    const pageBytes = pragma("page_size");
    return {
      turns: Object.fromEntries(turns) as Record<TaskState, number>,
      ready: ready["n"] as number,
      readySince: (ready["since"] as number | null) ?? undefined,
      deliveries: deliveryFigures((text) => this.sql(text)),
      bytes: pragma("page_count") * pageBytes,
      freeBytes: pragma("freelist_count") * pageBytes,
      fileBytes: this.sql("SELECT value FROM counters WHERE name = 'fileBytes'").get()!["value"] as number,
    };
  }

  blob({ context, turn }: TurnKey, sha256: string): Blob | undefined {
    const row = this.sql(`
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
    const row = this.sql("SELECT version FROM outputs WHERE context = ? AND path = ?").get(context, path);
    return (row?.["version"] as number | undefined) ?? 0;
  }

  keys(): KeyRecord[] {
    return this.sql("SELECT * FROM api_keys ORDER BY key")
      .all()
      .map((row) => keyOf(row as unknown as KeyRow));
  }

  key(hash: string): KeyRecord | undefined {
    const row = this.sql("SELECT * FROM api_keys WHERE hash = ? AND revoked_at IS NULL").get(hash);
    return row && keyOf(row as unknown as KeyRow);
  }

  usage({ subjects, from }: UsageQuery): Usage[] {
    const whose =
      subjects === undefined ? "0" : "SELECT subject FROM subjects WHERE name IN (SELECT value FROM json_each(?))";
    const names = subjects === undefined ? [] : [JSON.stringify(subjects)];
    return this.sql(`
      SELECT day, agent, sum(turns) AS turns, sum(CAST(tokens AS REAL)) AS tokens, sum(cost_usd) AS cost_usd
      FROM usage WHERE subject IN (${whose}) AND day >= ? GROUP BY day, agent ORDER BY day, agent`)
      .all(...names, Math.floor(from / dayMs))
      .map((row) => {
        const { day, agent, turns, tokens, cost_usd: costUsd } = row as unknown as UsageRow;
        return { agent, day: day * dayMs, turns, tokens: tokens ?? undefined, costUsd: costUsd ?? undefined };
      });
  }

  session(hash: string, now: number): Session | undefined {
    const row = this.sql("SELECT sealed, expires_at FROM sessions WHERE hash = ? AND expires_at > ?").get(hash, now);
    if (row === undefined) return undefined;
    const { sealed, expires_at: expiresAt } = row as unknown as { sealed: Uint8Array; expires_at: number };
    return { hash, sealed, expiresAt };
  }

  secret(name: string): Uint8Array | undefined {
    return this.sql("SELECT value FROM secrets WHERE name = ?").get(name)?.["value"] as Uint8Array | undefined;
  }

  secrets(prefix: string): Secret[] {
    const rows = this.sql(`
      SELECT name, value, created_at AS createdAt FROM secrets WHERE substr(name, 1, ?) = ? ORDER BY created_at, name`).all(
      prefix.length,
      prefix,
    );
    return rows.map((row) => ({ ...(row as unknown as Secret) }));
  }

  /** A statement that is kept. */
  sql(text: string): StatementSync {
    let statement = this.#prepared.get(text);
    if (statement === undefined) this.#prepared.set(text, (statement = this.#database.prepare(text)));
    return statement;
  }

  close(): void {
    this.#database.close();
  }

  turnOf(row: TurnRow): TurnRecord {
    const { subject, agent } = this.owner(row.scope);
    return turnOf(row, { subject, agent, contextId: row.name });
  }

  /** Whose turn it is. A scope never changes, and its key is used once. */
  owner(scope: number): Scope {
    let found = this.#scopes.get(scope);
    if (found === undefined) {
      const row = this.sql(`
        SELECT name AS subject, agent FROM scopes JOIN subjects USING (subject) WHERE scope = ?`).get(scope);
      found = row as unknown as Scope;
      if (this.#scopes.size >= scopesKept) this.#scopes.clear();
      this.#scopes.set(scope, found);
    }
    return found;
  }
}

interface UsageRow {
  readonly day: number;
  readonly agent: string;
  readonly turns: number;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
}
