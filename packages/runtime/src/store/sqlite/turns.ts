/**
 * How a turn begins, and the one way to change it: each is asked for, judged and written with all that follows from it (its context's
 * place in the schedule, sums, what webhooks are told) in one operation.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState, WaitKind } from "@nylorun/protocol";

import type { TurnKey } from "../../turn/record.ts";
import { statusOf } from "../status.ts";
import type { AcceptArgs, AcceptResult, CommitArgs, CommitResult } from "./args.ts";
import type { Holdings } from "./holdings.ts";
import type { Outbox, Owner } from "./outbox.ts";
import type { ClaimRow, ContextRow, Schedule } from "./schedule.ts";
import { prepare, terminal } from "./statements.ts";
import type { Tallies } from "./tallies.ts";
import type { UsageLedger } from "./usage.ts";

const sql = {
  // Turns may be erased before their messages are forgotten: then nobody has seen those.
  findMessage: `
    SELECT context, turn, content_hash FROM messages m
    WHERE digest = ? AND forget_at > ? AND EXISTS (SELECT 1 FROM turns t WHERE t.turn = m.turn)`,
  addMessage: "INSERT INTO messages (digest, context, turn, content_hash, forget_at) VALUES (?, ?, ?, ?, ?)",

  addSubject: "INSERT INTO subjects (name) VALUES (?) ON CONFLICT DO NOTHING",
  addScope: "INSERT INTO scopes (subject, agent) SELECT subject, ? FROM subjects WHERE name = ? ON CONFLICT DO NOTHING",
  findScope: `
    SELECT s.scope, s.subject FROM scopes s JOIN subjects USING (subject) WHERE subjects.name = ? AND s.agent = ?`,
  findContext: `
    SELECT context, subject, active, queued, epoch, runner, ready_at FROM contexts WHERE scope = ? AND name = ?`,

  addTurn: `
    INSERT INTO turns
      (turn, context, scope, state, status, status_at, created_at, agent_version, traceparent, message, extension_data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  findForCommit: `
    SELECT t.scope, t.state, t.status, t.length, t.revision, t.status_at, t.deaths, t.pushes, octet_length(t.view) AS view_bytes,
      c.context, c.subject, c.active, c.epoch, c.runner, c.ready_at, c.due_at
    FROM turns t JOIN contexts c ON c.context = t.context
    WHERE t.turn = ? AND t.context = ?`,
  changeTurn: `
    UPDATE turns
    SET state = ?, status = ?, status_at = ?, length = ?, view = coalesce(?, view), troubled = coalesce(?, troubled), deaths = ?,
      revision = revision + 1
    WHERE turn = ?`,
  findWaitsFor: "SELECT view ->> 'waitsFor' AS waitsFor FROM turns WHERE turn = ?",
  addEntry: "INSERT INTO journal (context, turn, seq, kind, body, at) VALUES (?, ?, ?, ?, ?, ?)",

  findCounter: "SELECT value FROM counters WHERE name = ?",
  setCounter: "UPDATE counters SET value = ? WHERE name = ?",
} as const;

/** Of a turn that has just begun: `{}`. */
const emptyViewBytes = 2;

/** How many keys one reservation gives out. */
const reservation = 4096;

export interface TurnsParts {
  readonly tallies: Tallies;
  readonly outbox: Outbox;
  readonly schedule: Schedule;
  readonly holdings: Holdings;
  readonly usage: UsageLedger;
}

export class Turns {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  readonly #outbox: Outbox;
  readonly #schedule: Schedule;
  readonly #holdings: Holdings;
  readonly #usage: UsageLedger;
  readonly #scopes = new Map<string, ScopeRow>();
  readonly #next: Record<"context" | "turn", number>;
  readonly #reserved: Record<"context" | "turn", number>;

  constructor(database: DatabaseSync, { tallies, outbox, schedule, holdings, usage }: TurnsParts) {
    this.#sql = prepare(database, sql);
    this.#tallies = tallies;
    this.#outbox = outbox;
    this.#schedule = schedule;
    this.#holdings = holdings;
    this.#usage = usage;
    this.#reserved = { context: this.#counter("context"), turn: this.#counter("turn") };
    this.#next = { context: this.#reserved.context + 1, turn: this.#reserved.turn + 1 };
  }

  /** Makes sure that a batch of `count` operations finds enough keys reserved. Runs outside the batch, so that it survives it. */
  reserve(count: number): void {
    for (const name of ["context", "turn"] as const) {
      if (this.#next[name] + count <= this.#reserved[name]) continue;
      const value = this.#next[name] + count + reservation;
      this.#sql.setCounter.run(value, name);
      this.#reserved[name] = value;
    }
  }

  /** Scopes that were made may have been undone, or erased. */
  forgetScopes(): void {
    this.#scopes.clear();
  }

  accept(args: AcceptArgs): AcceptResult {
    const { now } = args;
    if (args.digest !== null) {
      const seen = this.#sql.findMessage.get(args.digest, now) as
        | { context: number; turn: number; content_hash: string }
        | undefined;
      if (seen !== undefined) {
        if (seen.content_hash !== args.contentHash) return { kind: "reused" };
        return { kind: "duplicate", context: seen.context, turn: seen.turn };
      }
    }
    const { scope, subject } = this.#scope(args.subject, args.agent);
    const known =
      args.name === null
        ? undefined
        : (this.#sql.findContext.get(scope, args.name) as (ContextRow & { readonly queued: number }) | undefined);
    const busy = known !== undefined && known.active !== null;
    if (busy && args.reject) return { kind: "busy" };
    if (busy && known.queued >= args.queueDepth) return { kind: "queueFull" };
    const has = this.#tallies.subject(subject);
    if (has.queued + has.ready >= args.limits.queued) return { kind: "subjectQueueFull" };
    const bytes = byteLength(args.message) + byteLength(args.extensionData) + emptyViewBytes;
    if (has.bytes + bytes > args.limits.bytes) return { kind: "subjectFull" };

    const turn = this.#next.turn++;
    const context = known?.context ?? this.#next.context++;
    const state = busy ? "queued" : "running";
    let epoch = 0;
    if (busy) this.#schedule.queue(known);
    else {
      const made = known === undefined ? { scope, name: args.name ?? args.newName } : undefined;
      epoch = this.#schedule.begin({ context, subject, epoch: known?.epoch ?? 0, made }, turn, args);
    }
    const statusAt = this.#tallies.moment(now);
    this.#sql.addTurn.run(
      turn,
      context,
      scope,
      state,
      statusOf(state),
      statusAt,
      now,
      args.agentVersion,
      args.traceparent,
      args.message,
      args.extensionData,
    );
    this.#tallies.tally(scope, statusOf(state), 1);
    this.#tallies.add(subject, { bytes });
    if (args.digest !== null) this.#sql.addMessage.run(args.digest, context, turn, args.contentHash, args.forgetAt);
    if (args.push !== null) this.#outbox.begin({ context, turn, subject }, args.push, now);
    return { kind: "accepted", context, turn, state, statusAt, newContext: known === undefined, epoch };
  }

  commit(args: CommitArgs): CommitResult {
    const { context, turn, now } = args;
    const row = this.#sql.findForCommit.get(turn, context) as CommitRow | undefined;
    if (row === undefined) return { kind: "fenced", state: "canceled" };
    if (args.message !== null && args.message.digest !== null) {
      const seen = this.#sql.findMessage.get(args.message.digest, now) as { content_hash: string } | undefined;
      if (seen !== undefined) return { kind: seen.content_hash === args.message.contentHash ? "duplicate" : "reused" };
    }
    const lost = args.epoch !== null && (row.epoch !== args.epoch || row.active !== turn);
    const allowed = args.from === null ? !terminal.has(row.state) : args.from.includes(row.state);
    if (lost || !allowed) return { kind: "fenced", state: row.state };
    if (row.length !== args.length || row.revision !== (args.revision ?? row.revision)) {
      return { kind: "behind", length: row.length };
    }
    if (args.push !== null && !this.#outbox.hasRoom(turn, args.push.id)) return { kind: "pushFull" };

    const before = row.pushes > 0 && (args.view !== null || args.state !== null) ? this.#outbox.shown(turn) : undefined;
    let { length } = row;
    let bytes = args.view === null ? 0 : Buffer.byteLength(args.view) - row.view_bytes;
    for (const { kind, body } of args.entries ?? []) {
      this.#sql.addEntry.run(context, turn, length++, kind, body, now);
      bytes += Buffer.byteLength(body);
    }
    const state = args.state ?? row.state;
    const status = this.#status(args, row, state);
    // Callers see the same when a running turn sleeps: then it does not move in their lists.
    const changed = status !== row.status || (args.statusChanged && !terminal.has(state));
    const statusAt = changed ? this.#tallies.moment(now) : row.status_at;
    this.#sql.changeTurn.run(
      state,
      status,
      statusAt,
      length,
      args.view,
      args.troubled,
      args.forgive ? 0 : row.deaths,
      turn,
    );
    if (args.outputs !== null) this.#holdings.output(context, turn, args.outputs);
    if (terminal.has(state) && !terminal.has(row.state)) bytes -= this.#holdings.ended(turn, now).bytes;
    if (terminal.has(state) && !terminal.has(row.state)) this.#usage.ended(turn, now);
    this.#tallies.add(row.subject, { bytes });
    if (status !== row.status) {
      this.#tallies.tally(row.scope, row.status, -1);
      this.#tallies.tally(row.scope, status, 1);
      if (terminal.has(state)) this.#tallies.ended({ scope: row.scope, context, status, statusAt }, turn);
    }
    if (args.message !== null && args.message.digest !== null) {
      this.#sql.addMessage.run(args.message.digest, context, turn, args.message.contentHash, args.message.forgetAt);
    }
    const owner = { context, turn, subject: row.subject };
    if (before !== undefined) this.#outbox.changed(owner, before, now);
    if (args.push !== null) this.#outbox.put(owner, args.push, now);
    const { next, due } = this.#then(args, row);
    return { kind: "committed", length, next, due };
  }

  /** What callers are shown after a change. Only of a waiting turn does it depend on the view. */
  #status(args: CommitArgs, row: CommitRow, state: TurnState): number {
    if (args.view === null && state === row.state) return row.status;
    if (args.view !== null || state !== "waiting") return statusOf(state, args.waitsFor);
    const { waitsFor } = this.#sql.findWaitsFor.get(args.turn) as { waitsFor: WaitKind | null };
    return statusOf(state, waitsFor);
  }

  #then(args: CommitArgs, row: CommitRow): { next: ClaimRow | null; due: boolean } {
    const { now } = args;
    const deaths = args.forgive ? 0 : row.deaths;
    const isActive = row.active === args.turn;
    const idle = { next: null, due: false };
    switch (args.then) {
      case "go on":
        return idle;
      case "wake":
        if (row.runner !== null || !isActive) return idle;
        this.#schedule.wake(row, deaths, now);
        return { next: null, due: true };
      case "park":
        this.#schedule.park(row, deaths, args);
        return { next: null, due: args.dueAt !== null };
      case "end":
        if (!isActive) {
          this.#schedule.unqueue(row);
          return idle;
        }
        if (args.epoch === null && row.runner !== null) {
          // The function still runs; the next turn starts when it has settled (E16).
          this.#schedule.fence(row, now + args.graceMs);
          return { next: null, due: true };
        }
        return this.#schedule.goOn(row, now, args.leaseMs > 0 ? args : undefined);
    }
  }

  drained(args: { context: number; turn: number; now: number }): boolean {
    const row = this.#sql.findForCommit.get(args.turn, args.context) as CommitRow | undefined;
    if (row === undefined || row.active !== args.turn || !terminal.has(row.state)) return false;
    return this.#schedule.goOn(row, args.now).due;
  }

  /** Whose turn it is; undefined: there is none. */
  owner({ context, turn }: TurnKey): Owner | undefined {
    const row = this.#sql.findForCommit.get(turn, context) as CommitRow | undefined;
    return row && { context, turn, subject: row.subject };
  }

  #scope(subject: string, agent: string): ScopeRow {
    const name = `${agent} ${subject}`;
    let row = this.#scopes.get(name);
    if (row === undefined) {
      this.#sql.addSubject.run(subject);
      this.#sql.addScope.run(agent, subject);
      row = this.#sql.findScope.get(subject, agent) as unknown as ScopeRow;
      if (this.#scopes.size > 10_000) this.#scopes.clear();
      this.#scopes.set(name, row);
    }
    return row;
  }

  #counter(name: string): number {
    return (this.#sql.findCounter.get(name) as { value: number }).value;
  }
}

interface ScopeRow {
  readonly scope: number;
  readonly subject: number;
}

interface CommitRow extends ContextRow {
  readonly scope: number;
  readonly state: TurnState;
  readonly status: number;
  readonly length: number;
  readonly revision: number;
  readonly status_at: number;
  readonly deaths: number;
  readonly due_at: number | null;
  readonly pushes: number;
  readonly view_bytes: number;
}

function byteLength(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text);
}
