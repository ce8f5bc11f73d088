/**
 * What takes rows out again: retention, a little at a time; and the erasure of a task, a context or a subject, on request. Every sum that
 * the rows are part of goes down with them.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import { statusOf } from "../status.ts";
import type { Holdings } from "./holdings.ts";
import type { Outbox } from "./outbox.ts";
import type { ContextRow, Schedule } from "./schedule.ts";
import { prepare, terminal } from "./statements.ts";
import type { Removed, Tallies } from "./tallies.ts";
import type { UsageLedger } from "./usage.ts";

export interface ForgetArgs {
  readonly what: "messages" | "journals" | "turns" | "giveUps" | "usage";
  readonly before: number;
  /** The key of the last row that was looked at; 0: from the beginning. */
  readonly after: number;
  /** Rows that are looked at. */
  readonly limit: number;
}

export interface ForgetResult {
  readonly count: number;
  /** Where to go on; null: that is all. */
  readonly next: number | null;
}

export type EraseArgs = { readonly limit: number; readonly now: number } & (
  | { readonly what: "turn"; readonly context: number; readonly turn: number }
  | { readonly what: "context"; readonly subject: string; readonly agent: string; readonly name: string }
  | { readonly what: "subject"; readonly subject: string }
);

export interface EraseResult {
  readonly kind: "erased" | "running" | "unknown";
  readonly turns: number;
  /** It is not all yet. */
  readonly more: boolean;
}

/** Bytes that are freed in one go: the pages of each row are to be gone through. */
const bytesAtOnce = 4 * 1024 * 1024;

const turnColumns = `
  t.turn, t.scope, t.state, t.status, t.status_at, t.created_at, t.troubled, t.pushes,
  octet_length(t.message) + coalesce(octet_length(t.extension_data), 0) + octet_length(t.view) AS bytes,
  c.context, c.subject, c.active, c.epoch, c.runner, c.ready_at`;
const turnTables = "turns t JOIN contexts c ON c.context = t.context";

const sql = {
  forgetMessages: `
    DELETE FROM messages WHERE message IN (SELECT message FROM messages WHERE forget_at <= ? ORDER BY forget_at LIMIT ?)`,

  entriesAfter: `
    SELECT j.entry, j.at, octet_length(j.body) AS bytes, t.state, t.status_at, t.troubled, c.subject
    FROM journal j JOIN turns t ON t.turn = j.turn JOIN contexts c ON c.context = t.context
    WHERE j.entry > ? ORDER BY j.entry LIMIT ?`,
  entriesOf: "SELECT entry, octet_length(body) AS bytes FROM journal WHERE turn = ? ORDER BY seq LIMIT ?",
  dropEntry: "DELETE FROM journal WHERE entry = ?",

  turnsAfter: `SELECT ${turnColumns} FROM ${turnTables} WHERE t.turn > ? ORDER BY t.turn LIMIT ?`,
  turn: `SELECT ${turnColumns} FROM ${turnTables} WHERE t.turn = ? AND t.context = ?`,
  turnsOf: `SELECT ${turnColumns} FROM ${turnTables} WHERE t.context = ? ORDER BY t.status LIMIT ?`,
  dropTurn: "DELETE FROM turns WHERE turn = ?",

  context: `
    SELECT c.context, c.runner, t.state FROM contexts c LEFT JOIN turns t ON t.turn = c.active
    WHERE c.scope = (SELECT scope FROM scopes s JOIN subjects USING (subject) WHERE subjects.name = ? AND s.agent = ?)
      AND c.name = ?`,
  nextContext: `
    SELECT c.context, c.runner, t.state FROM contexts c LEFT JOIN turns t ON t.turn = c.active
    WHERE c.scope = ? LIMIT 1`,
  dropIdle: `
    DELETE FROM contexts
    WHERE context = ? AND active IS NULL AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.context = contexts.context)`,

  subject: "SELECT subject FROM subjects WHERE name = ?",
  scopes: "SELECT scope FROM scopes WHERE subject = ?",
  runs: `
    SELECT 1 FROM turns t JOIN contexts c ON c.context = t.context
    WHERE t.scope = ? AND t.status = ? AND (t.state = 'running' OR (c.active = t.turn AND c.runner IS NOT NULL)) LIMIT 1`,
  dropTallies: "DELETE FROM tallies WHERE scope = ?",
  dropMilestones: "DELETE FROM milestones WHERE scope = ?",
  dropScope: "DELETE FROM scopes WHERE scope = ?",
  dropSubject: "DELETE FROM subjects WHERE subject = ?",
  dropKeys: "DELETE FROM api_keys WHERE subject = ?",

  // What is deleted is overwritten; by itself SQLite only says that the place is free.
  secureOn: "PRAGMA secure_delete = ON",
  secureOff: "PRAGMA secure_delete = FAST",
} as const;

/** What else the rows that go are part of. */
export interface Ledgers {
  readonly tallies: Tallies;
  readonly schedule: Schedule;
  readonly outbox: Outbox;
  readonly holdings: Holdings;
  readonly usage: UsageLedger;
}

export class Eraser {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  readonly #schedule: Schedule;
  readonly #outbox: Outbox;
  readonly #holdings: Holdings;
  readonly #usage: UsageLedger;

  constructor(database: DatabaseSync, { tallies, schedule, outbox, holdings, usage }: Ledgers) {
    this.#sql = prepare(database, sql);
    this.#tallies = tallies;
    this.#schedule = schedule;
    this.#outbox = outbox;
    this.#holdings = holdings;
    this.#usage = usage;
  }

  forget(args: ForgetArgs): ForgetResult {
    switch (args.what) {
      case "messages": {
        const count = Number(this.#sql.forgetMessages.run(args.before, args.limit).changes);
        return { count, next: count < args.limit ? null : 0 };
      }
      case "journals":
        return this.#forgetJournals(args);
      case "turns":
        return this.#forgetTurns(args);
      case "usage": {
        const count = this.#usage.forget(args.before, args.limit);
        return { count, next: count < args.limit ? null : 0 };
      }
      case "giveUps": {
        const count = this.#outbox.forgetGiveUps(args.before, args.limit);
        return { count, next: count < args.limit ? null : 0 };
      }
    }
  }

  erase(args: EraseArgs): EraseResult {
    this.#sql.secureOn.get();
    try {
      switch (args.what) {
        case "turn":
          return this.#eraseTurn(args);
        case "context": {
          const context = this.#sql.context.get(args.subject, args.agent, args.name) as ErasedContext | undefined;
          return context === undefined ? unknown : this.#eraseContext(context, args);
        }
        case "subject":
          return this.#eraseSubject(args);
      }
    } finally {
      this.#sql.secureOff.get();
    }
  }

  /** Entries stand in the order of time: from the first one that is not past its time on, none is. */
  #forgetJournals({ before, after, limit }: ForgetArgs): ForgetResult {
    const rows = this.#sql.entriesAfter.all(after, limit) as unknown as JournalRow[];
    let count = 0;
    let freed = 0;
    for (const row of rows) {
      if (row.at >= before) return { count, next: null };
      if (!isPast(row, before)) continue;
      this.#sql.dropEntry.run(row.entry);
      this.#tallies.add(row.subject, { bytes: -row.bytes });
      count++;
      if ((freed += row.bytes) >= bytesAtOnce) return { count, next: row.entry };
    }
    return { count, next: rows.length < limit ? null : rows.at(-1)!.entry };
  }

  /** Turns stand in the order in which they began: one that began too late cannot have ended in time. */
  #forgetTurns({ before, after, limit }: ForgetArgs): ForgetResult {
    const rows = this.#sql.turnsAfter.all(after, limit) as unknown as TurnRow[];
    const removed: Removed[] = [];
    let seen = after;
    let freed = 0;
    const result = (next: number | null) => {
      this.#tallies.removed(removed);
      return { count: removed.length, next };
    };
    for (const row of rows) {
      if (row.created_at >= before) return result(null);
      // The turns of a context are there for its next ones to look at, until it comes to rest.
      if (row.active === null && isPast(row, before) && !(row.pushes > 0 && this.#outbox.waits(row.turn))) {
        // Its context is idle: nothing goes on.
        const bytes = this.#dropTurn(row, { limit, now: row.status_at });
        freed += bytes.freed;
        if (!bytes.isAll) return result(seen);
        removed.push({ scope: row.scope, context: row.context, status: row.status, statusAt: row.status_at });
        if (freed >= bytesAtOnce) return result(row.turn);
      }
      seen = row.turn;
    }
    return result(rows.length < limit ? null : seen);
  }

  #eraseTurn({ context, turn, ...step }: EraseArgs & { readonly what: "turn" }): EraseResult {
    const row = this.#sql.turn.get(turn, context) as TurnRow | undefined;
    if (row === undefined) return unknown;
    if (row.active === turn && (row.runner !== null || row.state === "running")) return running;
    return this.#eraseTurns([row], step, false);
  }

  #eraseContext({ context, runner, state }: ErasedContext, step: Step): EraseResult {
    if (runner !== null || state === "running") return running;
    const rows = this.#sql.turnsOf.all(context, step.limit) as unknown as TurnRow[];
    return this.#eraseTurns(rows, step, rows.length === step.limit);
  }

  #eraseSubject({ subject: name, ...step }: EraseArgs & { readonly what: "subject" }): EraseResult {
    const { subject } = (this.#sql.subject.get(name) ?? { subject: 0 }) as { subject: number };
    const scopes = this.#sql.scopes.all(subject) as unknown as { scope: number }[];
    if (scopes.some(({ scope }) => this.#sql.runs.get(scope, statusOf("running")) !== undefined)) return running;
    const keys = this.#sql.dropKeys.run(name).changes;
    // 0 is nobody here, and everybody in the ledger.
    if (subject === 0) return keys === 0 ? unknown : { kind: "erased", turns: 0, more: false };
    for (const { scope } of scopes) {
      const context = this.#sql.nextContext.get(scope) as ErasedContext | undefined;
      if (context === undefined) continue;
      const erased = this.#eraseContext(context, step);
      return erased.kind === "erased" ? { ...erased, more: true } : erased;
    }
    for (const { scope } of scopes) {
      this.#sql.dropTallies.run(scope);
      this.#sql.dropMilestones.run(scope);
      this.#sql.dropScope.run(scope);
    }
    this.#usage.drop(subject);
    this.#sql.dropSubject.run(subject);
    return { kind: "erased", turns: 0, more: false };
  }

  #eraseTurns(rows: readonly TurnRow[], step: Step, more: boolean): EraseResult {
    const removed: Removed[] = [];
    let turns = 0;
    let freed = 0;
    const result = (isMore: boolean): EraseResult => {
      this.#tallies.removed(removed);
      return { kind: "erased", turns, more: isMore };
    };
    for (const row of rows) {
      const bytes = this.#dropTurn(row, step);
      freed += bytes.freed;
      if (!bytes.isAll) return result(true);
      turns++;
      if (terminal.has(row.state))
        removed.push({ scope: row.scope, context: row.context, status: row.status, statusAt: row.status_at });
      if (freed >= bytesAtOnce && turns < rows.length) return result(true);
    }
    return result(more);
  }

  /**
   * A turn that does not run is no more; with the last one its context goes as well.
   *
   * @param step So many entries of its journal, and so many of its files, go at once: when it has more, the turn is still there, and
   *   it is to be done again.
   */
  #dropTurn(row: TurnRow, { limit, now }: Step): { readonly freed: number; readonly isAll: boolean } {
    const { turn, context, subject, status } = row;
    const entries = this.#sql.entriesOf.all(turn, limit) as unknown as { entry: number; bytes: number }[];
    let freed = 0;
    for (const { entry, bytes } of entries) {
      this.#sql.dropEntry.run(entry);
      freed += bytes;
    }
    const held = this.#holdings.dropped(turn, limit, now);
    if (entries.length === limit || held.count === limit) {
      this.#tallies.add(subject, { bytes: -freed - held.bytes });
      return { freed, isAll: false };
    }
    if (row.pushes > 0) this.#outbox.dropTurn(turn);
    this.#sql.dropTurn.run(turn);
    freed += row.bytes;
    this.#tallies.add(subject, { bytes: -freed - held.bytes });
    this.#tallies.tally(row.scope, status, -1);
    if (row.active === turn) this.#schedule.goOn(row, now);
    else if (row.state === "queued") this.#schedule.unqueue(row);
    if (this.#sql.dropIdle.run(context).changes > 0) this.#holdings.contextDropped(context);
    return { freed, isAll: true };
  }
}

const unknown: EraseResult = { kind: "unknown", turns: 0, more: false };
const running: EraseResult = { kind: "running", turns: 0, more: false };

/** An ended turn that nobody needs any more; one with lost effects is the operator's first (E16). */
function isPast(
  row: { readonly state: TurnState; readonly status_at: number; readonly troubled: number },
  before: number,
) {
  return terminal.has(row.state) && row.status_at < before && row.troubled === 0;
}

type Step = Pick<EraseArgs, "limit" | "now">;

interface ErasedContext {
  readonly context: number;
  readonly runner: string | null;
  /** Of the active turn. */
  readonly state: TurnState | null;
}

interface JournalRow {
  readonly entry: number;
  readonly at: number;
  readonly bytes: number;
  readonly state: TurnState;
  readonly status_at: number;
  readonly troubled: number;
  readonly subject: number;
}

interface TurnRow extends ContextRow {
  readonly turn: number;
  readonly scope: number;
  readonly state: TurnState;
  readonly status: number;
  readonly status_at: number;
  readonly created_at: number;
  readonly troubled: number;
  readonly pushes: number;
  readonly bytes: number;
}
