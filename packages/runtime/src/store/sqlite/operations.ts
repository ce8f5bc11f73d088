/**
 * The writes of the Store, as the writer thread runs them: each is synchronous, sees the ones before it, and is one savepoint
 * of the batch's transaction. What they take and give is flat, because it crosses a thread.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState, WaitKind } from "@nylorun/protocol";

import type { Blob, Held, Output } from "../files.ts";
import { statusOf } from "../status.ts";
import type { Share, SubjectLimits } from "../store.ts";
import { Eraser } from "./eraser.ts";
import type { EraseArgs, EraseResult, ForgetArgs, ForgetResult } from "./eraser.ts";
import { Holdings } from "./holdings.ts";
import type { HoldArgs } from "./holdings.ts";
import { Outbox } from "./outbox.ts";
import type { ClaimDeliveriesArgs, DeliveryRow, SettleArgs, TargetArgs } from "./outbox.ts";
import { Schedule } from "./schedule.ts";
import type { ClaimRow, ContextRow } from "./schedule.ts";
import { prepare, terminal } from "./statements.ts";
import { Tallies } from "./tallies.ts";
import { UsageLedger } from "./usage.ts";

export interface AcceptArgs {
  readonly subject: string;
  readonly agent: string;
  /** The context that the caller named; null: a new one, to be named `newName`. */
  readonly name: string | null;
  readonly newName: string;
  readonly digest: string | null;
  readonly contentHash: string;
  readonly forgetAt: number;
  readonly message: string;
  readonly extensionData: string | null;
  readonly agentVersion: string;
  readonly traceparent: string;
  readonly reject: boolean;
  readonly queueDepth: number;
  /** Of the subject: see `Accept.limits`. */
  readonly limits: SubjectLimits;
  readonly push: TargetArgs | null;
  readonly node: string;
  /** 0: not claimed. */
  readonly leaseMs: number;
  readonly now: number;
}

export type AcceptResult =
  | {
      readonly kind: "accepted";
      readonly context: number;
      readonly turn: number;
      readonly state: "running" | "queued";
      readonly statusAt: number;
      readonly newContext: boolean;
      /** 0: not claimed. */
      readonly epoch: number;
    }
  | { readonly kind: "duplicate"; readonly context: number; readonly turn: number }
  | { readonly kind: "reused" | "busy" | "queueFull" | "subjectQueueFull" | "subjectFull" };

export interface CommitArgs {
  readonly context: number;
  readonly turn: number;
  readonly length: number;
  /** Null: any. */
  readonly revision: number | null;
  readonly epoch: number | null;
  readonly from: readonly TurnState[] | null;
  readonly entries: readonly { readonly kind: string; readonly body: string }[] | null;
  readonly view: string | null;
  readonly outputs: readonly Output[] | null;
  /** 1 when the turn needs an operator; null: as before. */
  readonly troubled: number | null;
  /** The view's own. */
  readonly waitsFor: WaitKind | null;
  readonly state: TurnState | null;
  readonly statusChanged: boolean;
  readonly forgive: boolean;
  readonly message: { readonly digest: string | null; readonly contentHash: string; readonly forgetAt: number } | null;
  readonly push: TargetArgs | null;
  readonly then: "go on" | "wake" | "park" | "end";
  readonly dueAt: number | null;
  readonly graceMs: number;
  readonly node: string;
  /** For the next turn of the context, after `end`. 0: not claimed. */
  readonly leaseMs: number;
  readonly now: number;
}

export type CommitResult =
  | { readonly kind: "committed"; readonly length: number; readonly next: ClaimRow | null; readonly due: boolean }
  | { readonly kind: "behind"; readonly length: number }
  | { readonly kind: "fenced"; readonly state: TurnState }
  | { readonly kind: "duplicate" | "reused" | "pushFull" };

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

  addKey: "INSERT INTO api_keys (hash, role, subject, created_at) VALUES (?, ?, ?, ?)",
  revokeKey: "UPDATE api_keys SET revoked_at = ? WHERE key = ? AND revoked_at IS NULL",
  dropSessions: `
    DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)`,
  addSession: "INSERT INTO sessions (hash, sealed, expires_at) VALUES (?, ?, ?)",
  removeSession: "DELETE FROM sessions WHERE hash = ?",
  addSecret: "INSERT INTO secrets (name, value, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  findSecret: "SELECT value FROM secrets WHERE name = ?",
  findCounter: "SELECT value FROM counters WHERE name = ?",
  setCounter: "UPDATE counters SET value = ? WHERE name = ?",
} as const;

/** Of a turn that has just begun: `{}`. */
const emptyViewBytes = 2;

/** Turns that a retry may revive are found by these; how many keys one reservation gives out. */
const reservation = 4096;

export class Operations {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  readonly #outbox: Outbox;
  readonly #schedule: Schedule;
  readonly #holdings: Holdings;
  readonly #usage: UsageLedger;
  readonly #eraser: Eraser;
  readonly #scopes = new Map<string, ScopeRow>();
  readonly #next: Record<"context" | "turn", number>;
  readonly #reserved: Record<"context" | "turn", number>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database, sql);
    this.#tallies = new Tallies(database);
    this.#outbox = new Outbox(database, this.#tallies);
    this.#schedule = new Schedule(database, this.#tallies, this.#outbox);
    this.#holdings = new Holdings(database, this.#tallies);
    this.#usage = new UsageLedger(database);
    this.#eraser = new Eraser(database, {
      tallies: this.#tallies,
      schedule: this.#schedule,
      outbox: this.#outbox,
      holdings: this.#holdings,
      usage: this.#usage,
    });
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

  /** An operation is done; another one follows, or the end of the batch. */
  keep(): void {
    this.#tallies.keep();
  }

  /** An operation is undone. What it made may be remembered here; nothing of it may be used. */
  undo(): void {
    this.#scopes.clear();
    this.#tallies.undo();
  }

  /** Writes what the batch has added up, before it commits. */
  finish(): void {
    this.#tallies.write();
  }

  /** Whether something has come to be due for a webhook since this was last asked. */
  announced(): boolean {
    return this.#outbox.announced();
  }

  /** The whole batch is undone. */
  forget(): void {
    this.#scopes.clear();
    this.#tallies.forget();
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

  claimDue(args: { now: number; limit: number; leaseMs: number; node: string; share: Share }): ClaimRow[] {
    return this.#schedule.claimDue(args.limit, args.share, args);
  }

  claimSuspect(args: { now: number; leaseMs: number; node: string }): ClaimRow | null {
    return this.#schedule.claimSuspect(args);
  }

  /** Leases of processes that no longer live: taking the home's lock ended them (E9). */
  endLeases(args: { now: number; longestLeaseMs: number }): void {
    this.#schedule.endLeases(args.now, args.longestLeaseMs);
    this.#outbox.endLeases(args.now);
  }

  renew(args: { contexts: readonly { context: number; epoch: number }[]; until: number; node: string }): number[] {
    return args.contexts
      .filter(({ context, epoch }) => !this.#schedule.renew(context, epoch, args))
      .map(({ context }) => context);
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

  /** One step: see `Store.forget`. */
  forgetOld(args: ForgetArgs): ForgetResult {
    return this.#eraser.forget(args);
  }

  /** One step: see `Store.erase`. */
  erase(args: EraseArgs): EraseResult {
    this.#scopes.clear();
    return this.#eraser.erase(args);
  }

  hold(args: HoldArgs): Held {
    return this.#holdings.hold(args);
  }

  condemn(args: { limit: number; now: number }): Blob[] {
    return this.#holdings.condemn(args);
  }

  gone(args: { blobs: readonly number[] }): void {
    this.#holdings.gone(args);
  }

  putConfig(args: TargetArgs & { context: number; turn: number; now: number }): "put" | "full" | "unknown" {
    const row = this.#sql.findForCommit.get(args.turn, args.context) as CommitRow | undefined;
    if (row === undefined) return "unknown";
    return this.#outbox.put({ context: args.context, turn: args.turn, subject: row.subject }, args, args.now);
  }

  removeConfig(args: { context: number; turn: number; id: string }): boolean {
    return (
      this.#sql.findForCommit.get(args.turn, args.context) !== undefined && this.#outbox.remove(args.turn, args.id)
    );
  }

  claimDeliveries(args: ClaimDeliveriesArgs): DeliveryRow[] {
    return this.#outbox.claim(args);
  }

  settle(args: SettleArgs): boolean {
    return this.#outbox.settle(args);
  }

  resend(args: { delivery: number; now: number }): boolean {
    return this.#outbox.resend(args.delivery, args.now);
  }

  addKey(args: { hash: string; role: string; subject: string | null; now: number }): number {
    return Number(this.#sql.addKey.run(args.hash, args.role, args.subject, args.now).lastInsertRowid);
  }

  revokeKey(args: { key: number; now: number }): boolean {
    return this.#sql.revokeKey.run(args.now, args.key).changes > 0;
  }

  addSession(args: { hash: string; sealed: Uint8Array; expiresAt: number; now: number }): void {
    this.#sql.dropSessions.run(args.now);
    this.#sql.addSession.run(args.hash, args.sealed, args.expiresAt);
  }

  removeSession(args: { hash: string }): boolean {
    return this.#sql.removeSession.run(args.hash).changes > 0;
  }

  secret(args: { name: string; value: Uint8Array; now: number }): Uint8Array {
    this.#sql.addSecret.run(args.name, args.value, args.now);
    const { value } = this.#sql.findSecret.get(args.name) as { value: Uint8Array };
    return value;
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
