/**
 * Looks through a database that somebody hands in, before anything is done with it: whether it is one that this version has written, or
 * could have. SQLite itself tells only whether its pages fit together; a value that another one has taken the place of it does not know.
 */
import { DatabaseSync } from "node:sqlite";

import { migrate } from "./database.ts";

/** Tables that SQLite keeps for itself. */
const own = "name LIKE 'sqlite\\_%' ESCAPE '\\'";
/** The last moment that a date can be, in milliseconds. */
const lastMoment = 8.64e15;
/** Columns of whole numbers that may have grown beyond what is exact. */
const sums: ReadonlySet<string> = new Set(["usage.tokens"]);
/** Columns of what is added to and taken from: a fault in that is mended by counting anew. */
const counted: ReadonlySet<string> = new Set(["bytes", "queued", "ready", "place", "n"]);
/** Columns that hold a JSON object. */
const objects: Readonly<Record<string, readonly string[]>> = {
  turns: ["message", "extension_data", "view"],
  journal: ["body"],
  push_configs: ["target"],
  outbox: ["change"],
};
/** What else does not occur, by what is wrong with it then. */
const oddities: Readonly<Record<string, string>> = {
  "a turn is in no state that there is": `
    SELECT 1 FROM turns WHERE state NOT IN
      ('queued', 'running', 'waiting', 'uncertain', 'held', 'completed', 'failed', 'rejected', 'canceled')
      OR status NOT BETWEEN 1 AND 8`,
  "a turn that has not ended has another journal than it says": `
    SELECT 1 FROM turns t WHERE state IN ('queued', 'running', 'waiting', 'uncertain', 'held')
      AND (length, length - 1) IS NOT
        (SELECT count(*), coalesce(max(seq), -1) FROM journal j WHERE j.turn = t.turn)`,
  "a turn and its context are not of one subject": `
    SELECT 1 FROM turns t LEFT JOIN contexts c USING (context) LEFT JOIN scopes s ON s.scope = t.scope
      WHERE c.scope IS NOT t.scope OR s.subject IS NOT c.subject`,
  "a context is held by a turn that is not its own": `
    SELECT 1 FROM contexts c LEFT JOIN turns t ON t.turn = c.active
      WHERE c.active IS NOT NULL AND t.context IS NOT c.context`,
  "a key of contexts or turns may be given out again": `
    SELECT 1 WHERE (SELECT value FROM counters WHERE name = 'context') < (SELECT max(context) FROM contexts)
      OR (SELECT value FROM counters WHERE name = 'turn') < (SELECT max(turn) FROM turns)`,
  "its counters are not those that there are": `
    SELECT 1 WHERE (SELECT group_concat(name) FROM (SELECT name FROM counters ORDER BY name)) IS NOT 'context,fileBytes,turn'`,
  "a counter has come to its end": "SELECT 1 FROM counters WHERE value NOT BETWEEN 0 AND 4503599627370496",
  "a key has come to its end": "SELECT 1 FROM sqlite_sequence WHERE seq NOT BETWEEN 0 AND 4503599627370496",
  "a secret is of no length that there is": `
    SELECT 1 FROM secrets WHERE length(value) = 0 OR (name = 'task-id' AND length(value) <> 16)
      OR ((name = 'page-token' OR name LIKE 'webhook-key.%') AND length(value) <> 32)`,
};

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

/** What is wrong with it, in a few words; undefined: nothing. @throws What SQLite says when it cannot be read at all. */
export function inspect(database: DatabaseSync): string | undefined {
  const strange = strangeSchema(database);
  if (strange !== undefined) return strange;
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND NOT ${own}`).all();
  for (const { name } of tables as unknown as { name: string }[]) {
    const wrong = strangeValue(database, name);
    if (wrong !== undefined) return wrong;
  }
  const dangling = database.prepare("PRAGMA foreign_key_check").get();
  if (dangling !== undefined) return `a row of ${String(dangling["table"])} belongs to one that is not there`;
  return Object.entries(oddities).find(([, sql]) => database.prepare(sql).get() !== undefined)?.[0];
}

/** Anything beside what the migrations make may do what it likes when it is read or written: triggers, views, computed columns. */
function strangeSchema(database: DatabaseSync): string | undefined {
  using fresh = new DatabaseSync(":memory:");
  migrate(fresh, "");
  const [ours, theirs] = [schemaOf(fresh), schemaOf(database)];
  for (const [name, sql] of theirs) if (ours.get(name) !== sql) return `its ${name} is none of ours`;
  for (const name of ours.keys()) if (!theirs.has(name)) return `it has no ${name}`;
  return undefined;
}

function schemaOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database.prepare(`SELECT type, name, sql FROM sqlite_schema WHERE NOT ${own}`).all();
  return new Map(
    rows.map(({ type, name, sql }) => [
      `${String(type)} ${JSON.stringify(name)}`,
      // Comments may be put in other words; no text in there holds what looks like one.
      String(sql)
        .replaceAll(/--[^\n]*/g, "")
        .replaceAll(/\s+/g, " "),
    ]),
  );
}

function strangeValue(database: DatabaseSync, table: string): string | undefined {
  const columns = database
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name, type, notnull, pk }): Column => ({
      name: String(name),
      type: String(type),
      isNullable: notnull === 0 && pk === 0,
    }));
  // All of them in one go through the table.
  const conditions = columns.map((column) => [column.name, `(${fitting(table, column)}) IS 1`] as const);
  const cases = conditions.map(([name, fits]) => `WHEN NOT ${fits} THEN '${name}'`).join(" ");
  const fitsAll = conditions.map(([, fits]) => fits).join(" AND ");
  const odd = database.prepare(`SELECT CASE ${cases} END AS name FROM ${table} WHERE NOT (${fitsAll}) LIMIT 1`).get();
  if (odd !== undefined) return `${table}.${String(odd["name"])} holds what it cannot`;
  const parsed = objects[table] ?? [];
  if (parsed.length === 0) return undefined;
  // Not SQLite's own reading: what is nested deeper than it goes is good all the same.
  for (const row of database.prepare(`SELECT ${parsed.join(", ")} FROM ${table}`).iterate()) {
    for (const [name, text] of Object.entries(row)) {
      if (text !== null && !isObject(text as string)) return `${table}.${name} holds what cannot be read`;
    }
  }
  return undefined;
}

/** The condition that a value of a column meets. */
function fitting(table: string, column: Column): string {
  const fits = fittingValue(table, column);
  return column.isNullable ? `${column.name} IS NULL OR (${fits})` : fits;
}

function fittingValue(table: string, { name, type }: Column): string {
  const whole = (least: number, most: number) => `typeof(${name}) = 'integer' AND ${name} BETWEEN ${least} AND ${most}`;
  switch (type) {
    case "TEXT":
      // A NUL ends a text for some readers, and for others not.
      return `typeof(${name}) = 'text' AND instr(CAST(${name} AS BLOB), x'00') = 0`;
    case "BLOB":
      return `typeof(${name}) = 'blob'`;
    case "REAL":
      return `typeof(${name}) = 'real'`;
    default:
      if (sums.has(`${table}.${name}`)) return `typeof(${name}) IN ('integer', 'real') AND ${name} >= 0`;
      return /(^|_)at$/.test(name)
        ? whole(0, lastMoment)
        : whole(counted.has(name) ? -Number.MAX_SAFE_INTEGER : 0, Number.MAX_SAFE_INTEGER);
  }
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
