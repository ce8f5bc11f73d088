/**
 * Makes a database out of a copy. Since the copy was made, turns may have gone on, and done things in the world that the copy knows nothing
 * of: what had not ended is held until an operator has looked at it.
 */
import { chmodSync, copyFileSync, renameSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import type { TurnView } from "../../turn/record.ts";
import { StoreError } from "../errors.ts";
import { statusOf } from "../status.ts";
import { damageOf } from "./damage.ts";
import { openWritable } from "./database.ts";
import { inspect } from "./inspection.ts";
import { prepare, terminalSql } from "./statements.ts";

export interface Restored {
  /** Turns that are held now, or will be when it is their turn. */
  readonly held: number;
  /** What the files take that its turns need, and that are not in the copy. */
  readonly fileBytes: number;
}

/** Keys that may have been given out since the copy was made: none of them may come to mean another turn. */
const keysSkipped = 10_000_000_000;

const why = {
  code: "home.restored",
  message: "The home was restored from a backup: what this turn did after the backup was made is not known.",
};

/**
 * @param from The copy. It stays as it is.
 * @param to Where there is nothing yet, or an empty file.
 * @throws StoreError `store.broken`, `store.newer`.
 */
export function restoreDatabase(from: string, to: string, now = Date.now()): Restored {
  if (statSync(to, { throwIfNoEntry: false })?.size)
    throw new StoreError("store.broken", `There is a database at ${to} already.`);
  const part = `${to}.part`;
  remove(part);
  try {
    copyFileSync(from, part);
    chmodSync(part, 0o600);
    checkIsDatabase(part, from);
    let restored: Restored;
    {
      using database = openWritable(part);
      const problem = damageOf(database, { indexes: true })[0] ?? inspect(database);
      if (problem !== undefined) throw damaged(from, problem);
      restored = hold(database, now);
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    renameSync(part, to);
    return restored;
  } catch (error) {
    const told =
      error instanceof StoreError ? error.message : `${from} cannot be restored: ${(error as Error).message}.`;
    const code = error instanceof StoreError ? error.code : "store.broken";
    // Who asks knows the copy, and not what is made of it on the way.
    throw new StoreError(code, told.replaceAll(part, from), { cause: error });
  } finally {
    remove(part);
  }
}

function damaged(from: string, problem: string): StoreError {
  return new StoreError("store.broken", `${from} is damaged, or no backup of ours: ${problem}.`);
}

function remove(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

/** Any file that SQLite opens would do otherwise, an empty one too. */
function checkIsDatabase(file: string, from: string): void {
  const read = (): number => {
    using database = new DatabaseSync(file, { readOnly: true });
    const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
    return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'turns'").get() === undefined ? 0 : found;
  };
  let found = 0;
  try {
    found = read();
  } catch {
    // No database at all.
  }
  if (found <= 0) throw new StoreError("store.broken", `${from} is no backup: "nylorun backup" did not write it.`);
}

const sql = {
  unfinished: `SELECT turn, state, view FROM turns WHERE state NOT IN (${terminalSql}) AND turn > ? ORDER BY turn LIMIT 100`,
  hold: `
    UPDATE turns SET state = ?, status = ?, status_at = iif(state = 'queued', status_at, ?), view = ?, troubled = 1
    WHERE turn = ?`,
  rest: "UPDATE contexts SET runner = NULL, ready_at = NULL, due_at = NULL",
  sumUp: `
    UPDATE subjects SET place = NULL, ready = 0,
      bytes = coalesce((
        SELECT sum(octet_length(t.message) + coalesce(octet_length(t.extension_data), 0) + octet_length(t.view)
          + coalesce((SELECT sum(octet_length(j.body)) FROM journal j WHERE j.turn = t.turn), 0))
        FROM turns t JOIN scopes USING (scope) WHERE scopes.subject = subjects.subject), 0)
      + coalesce((
        SELECT sum(octet_length(p.target)
          + coalesce((SELECT sum(octet_length(o.change)) FROM outbox o WHERE o.config = p.config), 0))
        FROM push_configs p WHERE p.subject = subjects.subject), 0)
      + coalesce((
        SELECT sum(b.size) FROM contexts c JOIN holds h USING (context) JOIN blobs b USING (blob)
        WHERE c.subject = subjects.subject), 0)`,
  dropTallies: "DELETE FROM tallies",
  tallyScopes: "INSERT INTO tallies SELECT scope, status, count(*) FROM turns GROUP BY scope, status",
  tallyAll: "INSERT INTO tallies SELECT 0, status, sum(n) FROM tallies GROUP BY status",
  skipKeys: "UPDATE counters SET value = value + ? WHERE name IN ('context', 'turn')",
  fileBytes: "SELECT value FROM counters WHERE name = 'fileBytes'",
} as const;

function hold(database: DatabaseSync, now: number): Restored {
  const statements = prepare(database, sql);
  database.exec("BEGIN IMMEDIATE");
  let held = 0;
  const page = (after: number) =>
    statements.unfinished.all(after) as unknown as { turn: number; state: string; view: string }[];
  for (let rows = page(-1); rows.length > 0; rows = page(rows.at(-1)!.turn)) {
    for (const { turn, state, view } of rows) {
      held++;
      if (state === "held") continue;
      const { status: _, waitsFor: __, ...rest } = JSON.parse(view) as TurnView;
      const shown: TurnView = { ...rest, held: why, ...(rest.said && { status: rest.said }) };
      // One that waits for another is held when it is its turn.
      const next = state === "queued" ? "queued" : "held";
      statements.hold.run(next, statusOf(next), now, JSON.stringify(shown), turn);
    }
  }
  statements.rest.run();
  statements.sumUp.run();
  statements.dropTallies.run();
  statements.tallyScopes.run();
  statements.tallyAll.run();
  statements.skipKeys.run(keysSkipped);
  const { value: fileBytes } = statements.fileBytes.get() as { value: number };
  database.exec("COMMIT");
  return { held, fileBytes };
}
