/** A SQLite database that is carried elsewhere: a copy, which nobody serves. */
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

import { StoreError } from "../errors.ts";
import { CHARACTERS_OF_PAGE, keyOfRow, ROWS_OF_PAGE, TABLES } from "../transfer.ts";
import type { Page, Source, Table, TableName, TransferRow, Value } from "../transfer.ts";
import { openReadOnly, schemaVersion } from "./database.ts";

/** Where a table is not read as it is. A message id that was forgotten and came again has two rows, of which the last one counts. */
const from: { readonly [Name in TableName]?: string } = {
  turns: `(SELECT t.*, t.view ->> 'waitsFor' AS waits_for, t.view ->> '$.totals.tokens' AS tokens,
    t.view ->> '$.totals.costUsd' AS cost_usd,
    EXISTS (SELECT 1 FROM journal j WHERE j.turn = t.turn) AS journaled FROM turns t)`,
  messages: `(SELECT * FROM messages m
    WHERE NOT EXISTS (SELECT 1 FROM messages n WHERE n.digest = m.digest AND n.message > m.message))`,
  push_configs: "(SELECT p.*, c.scope FROM push_configs p JOIN contexts c USING (context))",
  outbox: "(SELECT o.*, o.change ->> 'kind' AS kind FROM outbox o)",
};

/** @throws StoreError `store.broken`, `store.newer`, `store.older`. */
export function openSource(file: string): Source {
  if (!existsSync(file)) throw new StoreError("store.broken", `There is no file ${file}.`);
  const database = openReadOnly(file);
  try {
    return sourceOf(database, file);
  } catch (error) {
    database.close();
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
      for (const one of given) {
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
