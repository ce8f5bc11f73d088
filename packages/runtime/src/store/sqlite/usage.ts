/** What turns that ended used, added up by subject, agent and day in the transaction in which they ended. It is kept when they are not. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { dayMs } from "../store.ts";
import { prepare } from "./statements.ts";

/** A sum is absent until one of the turns reported something: none is not 0. */
const sum = (column: string) =>
  `${column} = CASE WHEN excluded.${column} IS NULL THEN ${column} ELSE coalesce(${column}, 0) + excluded.${column} END`;
const row = (subject: string) =>
  `SELECT ${subject}, ?, s.agent, 1, t.view ->> '$.totals.tokens', t.view ->> '$.totals.costUsd'
   FROM turns t JOIN scopes s USING (scope) WHERE t.turn = ?`;

const sql = {
  add: `
    INSERT INTO usage (subject, day, agent, turns, tokens, cost_usd) ${row("s.subject")} UNION ALL ${row("0")}
    ON CONFLICT (subject, day, agent) DO UPDATE SET turns = turns + 1, ${sum("tokens")}, ${sum("cost_usd")}`,
  drop: "DELETE FROM usage WHERE subject = ?",
  forget: `
    DELETE FROM usage WHERE (subject, day, agent) IN (SELECT subject, day, agent FROM usage WHERE day < ? ORDER BY day LIMIT ?)`,
} as const;

export class UsageLedger {
  readonly #sql: Record<keyof typeof sql, StatementSync>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database, sql);
  }

  /** A turn has ended, and its view is written. */
  ended(turn: number, now: number): void {
    const day = Math.floor(now / dayMs);
    this.#sql.add.run(day, turn, day, turn);
  }

  /** All that a subject used is forgotten; that it was used by somebody is not. */
  drop(subject: number): void {
    this.#sql.drop.run(subject);
  }

  /** @returns How many rows of days before this moment are no more. */
  forget(before: number, limit: number): number {
    return Number(this.#sql.forget.run(Math.floor(before / dayMs), limit).changes);
  }
}
