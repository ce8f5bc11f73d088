/** Reads a home's database, read-only and past all of the Runtime's code, while a process serves it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface TurnRow {
  readonly turn: number;
  readonly messageId: string;
  readonly contextId: string;
  readonly state: string;
  readonly deaths: number;
}

export function readTurns(home: string): readonly TurnRow[] {
  return query<TurnRow>(
    home,
    `SELECT turn, message ->> 'messageId' AS messageId, name AS contextId, state, deaths
     FROM turns JOIN contexts USING (context) ORDER BY turn`,
  );
}

/** Nothing is active, queued, due or claimed any more, and the database is whole. */
export function assertAtRest(home: string): void {
  assert.deepEqual(
    query(
      home,
      `SELECT name, active, queued, runner, due_at FROM contexts
       WHERE active IS NOT NULL OR queued <> 0 OR runner IS NOT NULL OR due_at IS NOT NULL`,
    ),
    [],
  );
  const [check] = query<{ integrity_check: string }>(home, "PRAGMA integrity_check");
  assert.equal(check?.integrity_check, "ok");
}

/** Turns that more than one remembered message id, or none, leads to. */
export function readOddMessages(home: string): readonly unknown[] {
  return query(
    home,
    `SELECT turn, count(messages.message) AS messages FROM turns LEFT JOIN messages USING (turn)
     GROUP BY turn HAVING messages <> 1`,
  );
}

function query<Row>(home: string, sql: string): Row[] {
  using database = new DatabaseSync(join(home, "nylorun.db"), { readOnly: true, timeout: 5000 });
  return database.prepare(sql).all() as Row[];
}
