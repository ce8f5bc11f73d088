/**
 * The writes of the Store, as the writer thread runs them: each is synchronous, sees the ones before it, and is one savepoint
 * of the batch's transaction. What they take and give is flat, because it crosses a thread.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { Blob, Held } from "../files.ts";
import type { Share } from "../store.ts";
import type { AcceptArgs, AcceptResult, CommitArgs, CommitResult } from "./args.ts";
import { Eraser } from "./eraser.ts";
import type { EraseArgs, EraseResult, ForgetArgs, ForgetResult } from "./eraser.ts";
import { Holdings } from "./holdings.ts";
import type { HoldArgs } from "./holdings.ts";
import { Outbox } from "./outbox.ts";
import type { ClaimDeliveriesArgs, DeliveryRow, SettleArgs, TargetArgs } from "./outbox.ts";
import { Schedule } from "./schedule.ts";
import type { ClaimRow } from "./schedule.ts";
import { prepare } from "./statements.ts";
import { Tallies } from "./tallies.ts";
import { Turns } from "./turns.ts";
import { UsageLedger } from "./usage.ts";

const sql = {
  addKey: "INSERT INTO api_keys (hash, role, subject, created_at) VALUES (?, ?, ?, ?)",
  revokeKey: "UPDATE api_keys SET revoked_at = ? WHERE key = ? AND revoked_at IS NULL",
  dropSessions: `
    DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT 100)`,
  addSession: "INSERT INTO sessions (hash, sealed, expires_at) VALUES (?, ?, ?)",
  removeSession: "DELETE FROM sessions WHERE hash = ?",
  addSecret: "INSERT INTO secrets (name, value, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  findSecret: "SELECT value FROM secrets WHERE name = ?",
} as const;

export class Operations {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  readonly #outbox: Outbox;
  readonly #schedule: Schedule;
  readonly #holdings: Holdings;
  readonly #turns: Turns;
  readonly #eraser: Eraser;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database, sql);
    const tallies = (this.#tallies = new Tallies(database));
    const outbox = (this.#outbox = new Outbox(database, tallies));
    const schedule = (this.#schedule = new Schedule(database, tallies, outbox));
    const holdings = (this.#holdings = new Holdings(database, tallies));
    const usage = new UsageLedger(database);
    this.#turns = new Turns(database, { tallies, outbox, schedule, holdings, usage });
    this.#eraser = new Eraser(database, { tallies, outbox, schedule, holdings, usage });
  }

  // What the writer does around the operations of a batch.

  /** Makes sure that a batch of `count` operations finds enough keys reserved. Runs outside the batch, so that it survives it. */
  reserve(count: number): void {
    this.#turns.reserve(count);
  }

  /** An operation is done; another one follows, or the end of the batch. */
  keep(): void {
    this.#tallies.keep();
  }

  /** An operation is undone. What it made may be remembered here; nothing of it may be used. */
  undo(): void {
    this.#turns.forgetScopes();
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
    this.#turns.forgetScopes();
    this.#tallies.forget();
  }

  // The operations.

  accept(args: AcceptArgs): AcceptResult {
    return this.#turns.accept(args);
  }

  commit(args: CommitArgs): CommitResult {
    return this.#turns.commit(args);
  }

  drained(args: { context: number; turn: number; now: number }): boolean {
    return this.#turns.drained(args);
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

  /** One step: see `Store.forget`. */
  forgetOld(args: ForgetArgs): ForgetResult {
    return this.#eraser.forget(args);
  }

  /** One step: see `Store.erase`. */
  erase(args: EraseArgs): EraseResult {
    this.#turns.forgetScopes();
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
    const owner = this.#turns.owner(args);
    return owner === undefined ? "unknown" : this.#outbox.put(owner, args, args.now);
  }

  removeConfig(args: { context: number; turn: number; id: string }): boolean {
    return this.#turns.owner(args) !== undefined && this.#outbox.remove(args.turn, args.id);
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
}
