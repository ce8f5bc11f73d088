/**
 * How many turns a list has, without going through it: from the tallies, and from the milestone next to the moment it begins at. What has
 * not ended is counted, by its index: it comes and goes in no order, and there is only so much of it at a time.
 */
import type { StatementSync } from "node:sqlite";

import { ENDED_STATUS_NUMBERS } from "../status.ts";

export interface Counted {
  readonly scope: number;
  /** Undefined: all of the scope. */
  readonly context: number | undefined;
  readonly statuses: readonly number[];
  /** Only turns whose status changed at this moment or later. */
  readonly from: number | undefined;
}

const ever = Number.MAX_SAFE_INTEGER;

export class Counts {
  readonly #sql: (text: string) => StatementSync;

  /** @param sql Prepares a statement, or has it prepared. */
  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  total({ statuses, from, ...within }: Counted): number {
    let total = 0;
    for (const status of statuses) {
      const hasEnded = ENDED_STATUS_NUMBERS.includes(status);
      if (within.context === undefined && (from === undefined || hasEnded)) total += this.#tally(within.scope, status);
      else if (hasEnded) total += this.#endedBefore(within, status, ever);
      else total += this.#count(within, status, { from: from ?? 0, to: ever });
      if (hasEnded && from !== undefined) total -= this.#endedBefore(within, status, from);
    }
    return total;
  }

  #tally(scope: number, status: number): number {
    return this.#number("SELECT n FROM tallies WHERE scope = ? AND status = ?", scope, status);
  }

  #endedBefore(within: Within, status: number, moment: number): number {
    const { scope, context = 0 } = within;
    const milestone = this.#sql(`
      SELECT at, n FROM milestones WHERE scope = ? AND context = ? AND status = ? AND at <= ?
      ORDER BY at DESC LIMIT 1`).get(scope, context, status, moment) as { at: number; n: number } | undefined;
    return (milestone?.n ?? 0) + this.#count(within, status, { from: milestone?.at ?? 0, to: moment });
  }

  #count(
    { scope, context }: Within,
    status: number,
    { from, to }: { readonly from: number; readonly to: number },
  ): number {
    const owner = context === undefined ? "scope" : "context";
    return this.#number(
      `SELECT count(*) AS n FROM turns WHERE ${owner} = ? AND status = ? AND status_at >= ? AND status_at < ?`,
      ...[context ?? scope, status, from, to],
    );
  }

  #number(text: string, ...values: readonly number[]): number {
    return (this.#sql(text).get(...values)?.["n"] as number | undefined) ?? 0;
  }
}

type Within = Pick<Counted, "scope" | "context">;
