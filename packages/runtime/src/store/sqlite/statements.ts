import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import { suspectDeaths } from "../store.ts";

/** The states of turns that have ended. */
export const terminal: ReadonlySet<TurnState> = new Set<TurnState>(["completed", "failed", "rejected", "canceled"]);

/** The same, as SQL lists them. */
export const terminalSql = [...terminal].map((state) => `'${state}'`).join(", ");

/** The oldest suspect that is due (E17). Few turns are one, and their index holds only them. */
export function suspectSql(columns: string): string {
  return `
    SELECT ${columns}
    FROM turns t JOIN contexts c ON c.context = t.context
    WHERE t.deaths >= ${suspectDeaths} AND c.active = t.turn AND c.runner IS NULL AND c.due_at <= ?
    ORDER BY t.turn LIMIT 1`;
}

export function prepare<Name extends string>(
  database: DatabaseSync,
  sql: Readonly<Record<Name, string>>,
): Record<Name, StatementSync> {
  const prepared = Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]);
  return Object.fromEntries(prepared) as Record<Name, StatementSync>;
}
