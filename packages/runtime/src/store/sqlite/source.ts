/** A SQLite database that is carried elsewhere: a copy, which nobody serves. */
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

import type { Change, TurnView } from "../../turn/record.ts";
import { StoreError } from "../errors.ts";
import { CHARACTERS_OF_PAGE, keyOfRow, ROWS_OF_PAGE, TABLES } from "../transfer.ts";
import type { Page, Source, Table, TableName, TransferRow, Value } from "../transfer.ts";
import { openReadOnly, schemaVersion } from "./database.ts";
import { inspect } from "./inspection.ts";

/** Where a table is not read as it is. A message id that was forgotten and came again has two rows, of which the last one counts. */
const from: { readonly [Name in TableName]?: string } = {
  turns: `(SELECT t.*, NULL AS waits_for, NULL AS tokens, NULL AS cost_usd,
    EXISTS (SELECT 1 FROM journal j WHERE j.turn = t.turn) AS journaled FROM turns t)`,
  messages: `(SELECT * FROM messages m
    WHERE NOT EXISTS (SELECT 1 FROM messages n WHERE n.digest = m.digest AND n.message > m.message))`,
  push_configs: "(SELECT p.*, c.scope FROM push_configs p JOIN contexts c USING (context))",
  outbox: "(SELECT o.*, NULL AS kind FROM outbox o)",
  // A sum may have grown beyond what is exact.
  usage: "(SELECT subject, day, agent, turns, CAST(tokens AS REAL) AS tokens, cost_usd FROM usage)",
};

/** Columns that follow from another's JSON. SQLite does not read what is nested deeper than a thousand levels. */
const derived: { readonly [Name in TableName]?: (row: Record<string, unknown>) => Readonly<Record<string, unknown>> } =
  {
    turns({ view }) {
      const { waitsFor = null, totals } = JSON.parse(view as string) as TurnView;
      return { waits_for: waitsFor, tokens: totals?.tokens ?? null, cost_usd: totals?.costUsd ?? null };
    },
    outbox: ({ change }) => ({ kind: (JSON.parse(change as string) as Change).kind }),
  };

/** @throws StoreError `store.broken`, `store.newer`, `store.older`. */
export function openSource(file: string): Source {
  if (!existsSync(file)) throw new StoreError("store.broken", `There is no file ${file}.`);
  let database: DatabaseSync | undefined;
  try {
    database = openReadOnly(file);
    return sourceOf(database, file);
  } catch (error) {
    database?.close();
    if (error instanceof StoreError) throw error;
    throw new StoreError("store.broken", `${file} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

function sourceOf(database: DatabaseSync, file: string): Source {
  const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (found !== schemaVersion) {
    throw new StoreError(
      found > schemaVersion ? "store.newer" : "store.older",
      `${file} is of schema ${found}, and this version of Nylorun reads ${schemaVersion}: use the version that wrote it.`,
    );
  }
  const problem = inspect(database);
  if (problem !== undefined) {
    throw new StoreError("store.broken", `${file} is damaged, or no export of ours: ${problem}.`);
  }
  const counters = database.prepare("SELECT name, value FROM counters").all() as { name: string; value: number }[];
  const counter = (name: string) => counters.find((one) => one.name === name)?.value ?? 0;
  const secrets = database.prepare("SELECT name, hex(value) AS value FROM secrets ORDER BY name").all();
  return {
    name: hash("sha256", JSON.stringify([secrets, counters]), "hex").slice(0, 32),
    counters: { context: counter("context"), turn: counter("turn") },
    fileBytes: counter("fileBytes"),

    count(table) {
      const row = database.prepare(`SELECT count(*) AS n FROM ${from[table] ?? table}`).get();
      return row!["n"] as number;
    },

    page(table, after): Page {
      const { key, columns }: Table = TABLES[table];
      const where = after === undefined ? "" : `WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
      const given = database
        .prepare(
          `SELECT ${Object.keys(columns).join(", ")} FROM ${from[table] ?? table} ${where}
           ORDER BY ${key.join(", ")} LIMIT ${ROWS_OF_PAGE}`,
        )
        .iterate(...((after ?? []) as (number | string)[]));
      const rows: TransferRow[] = [];
      let characters = 0;
      let isAll = true;
      for (const stored of given) {
        const one = { ...stored, ...derived[table]?.(stored) };
        const row = Object.entries(columns).map(([name, kind]): Value => {
          const value = one[name] as number | string | Uint8Array | null;
          if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
          return kind === "flag" ? value === 1 : value;
        });
        rows.push(row);
        characters += row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
        if (rows.length < ROWS_OF_PAGE && characters < CHARACTERS_OF_PAGE) continue;
        isAll = false;
        break;
      }
      return { rows, next: isAll ? undefined : keyOfRow(table, rows.at(-1)!) };
    },

    [Symbol.dispose]: () => database.close(),
  };
}
