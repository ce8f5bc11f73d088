/**
 * The writes of the Store, as the writer thread runs them: each is synchronous, sees the ones before it, and is one savepoint
 * of the batch's transaction. What they take and give is flat, because it crosses a thread.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState, WaitKind } from "@nylorun/protocol";

import { suspectDeaths } from "../store.ts";
import { statements } from "./statements.ts";
import { statusOf } from "./status.ts";

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
      readonly newContext: boolean;
      /** 0: not claimed. */
      readonly epoch: number;
    }
  | { readonly kind: "duplicate"; readonly context: number; readonly turn: number }
  | { readonly kind: "reused" | "busy" | "queueFull" };

export interface CommitArgs {
  readonly context: number;
  readonly turn: number;
  readonly length: number;
  readonly epoch: number | null;
  readonly from: readonly TurnState[] | null;
  readonly entries: readonly { readonly kind: string; readonly body: string }[] | null;
  readonly view: string | null;
  /** 1 when the turn needs an operator; null: as before. */
  readonly troubled: number | null;
  /** The view's own. */
  readonly waitsFor: WaitKind | null;
  readonly state: TurnState | null;
  readonly statusChanged: boolean;
  readonly forgive: boolean;
  readonly message: { readonly digest: string | null; readonly contentHash: string; readonly forgetAt: number } | null;
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
  | { readonly kind: "duplicate" | "reused" };

export interface ClaimRow {
  readonly context: number;
  readonly turn: number;
  readonly epoch: number;
}

const terminal: ReadonlySet<TurnState> = new Set<TurnState>(["completed", "failed", "rejected", "canceled"]);

/** Turns that a retry may revive are found by these; how many keys one reservation gives out. */
const reservation = 4096;

export class Operations {
  readonly #sql: Record<keyof typeof statements, StatementSync>;
  readonly #scopes = new Map<string, number>();
  readonly #next: Record<"context" | "turn", number>;
  readonly #reserved: Record<"context" | "turn", number>;

  constructor(database: DatabaseSync) {
    const prepared = Object.entries(statements).map(([name, sql]) => [name, database.prepare(sql)]);
    this.#sql = Object.fromEntries(prepared) as Record<keyof typeof statements, StatementSync>;
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

  /** What was rolled back may be remembered here; nothing of it may be used. */
  forget(): void {
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
    const scope = this.#scope(args.subject, args.agent);
    const known =
      args.name === null
        ? undefined
        : (this.#sql.findContext.get(scope, args.name) as
            | { context: number; active: number | null; queued: number; epoch: number }
            | undefined);
    const busy = known !== undefined && known.active !== null;
    if (busy && args.reject) return { kind: "busy" };
    if (busy && known.queued >= args.queueDepth) return { kind: "queueFull" };

    const turn = this.#next.turn++;
    const context = known?.context ?? this.#next.context++;
    const claimed = !busy && args.leaseMs > 0;
    const epoch = claimed ? (known?.epoch ?? 0) + 1 : 0;
    if (busy) {
      this.#sql.queueTurn.run(context);
    } else {
      const runner = claimed ? args.node : null;
      const dueAt = claimed ? now + args.leaseMs : now;
      if (known !== undefined) {
        this.#sql.activate.run(turn, claimed ? epoch : known.epoch, runner, dueAt, context);
      } else {
        this.#sql.addContext.run(context, scope, args.name ?? args.newName, now, turn, epoch, runner, dueAt);
      }
    }
    const state = busy ? "queued" : "running";
    this.#sql.addTurn.run(
      turn,
      context,
      scope,
      state,
      statusOf(state),
      now,
      now,
      args.agentVersion,
      args.traceparent,
      args.message,
      args.extensionData,
    );
    if (args.digest !== null) this.#sql.addMessage.run(args.digest, context, turn, args.contentHash, args.forgetAt);
    return { kind: "accepted", context, turn, state, newContext: known === undefined, epoch };
  }

  claimDue(args: { now: number; limit: number; leaseMs: number; node: string }): ClaimRow[] {
    const claims: ClaimRow[] = [];
    const due = this.#sql.findDue.all(args.now, args.node, args.limit) as unknown as DueRow[];
    for (const row of due) {
      let turn = row.active;
      if (turn !== null && terminal.has(row.state ?? "canceled")) turn = this.#startNext(row, args.now);
      else if (row.runner !== null) {
        this.#sql.countDeath.run(turn);
        if ((row.deaths ?? 0) + 1 >= suspectDeaths) {
          this.#sql.letGo.run(args.now, row.context);
          continue;
        }
      }
      if (turn === null) this.#sql.idle.run(row.context);
      else claims.push(this.#claim(row, turn, args));
    }
    return claims;
  }

  claimSuspect(args: { now: number; leaseMs: number; node: string }): ClaimRow | null {
    const row = this.#sql.findSuspect.get(args.now) as DueRow | undefined;
    return row === undefined ? null : this.#claim(row, row.active!, args);
  }

  #claim(
    { context, epoch }: Pick<DueRow, "context" | "epoch">,
    turn: number,
    { now, leaseMs, node }: { readonly now: number; readonly leaseMs: number; readonly node: string },
  ): ClaimRow {
    this.#sql.claim.run(turn, epoch + 1, node, now + leaseMs, context);
    return { context, turn, epoch: epoch + 1 };
  }

  /** Leases of processes that no longer live: taking the home's lock ended them (E9). */
  endLeases(args: { now: number; longestLeaseMs: number }): void {
    this.#sql.endLeases.run(args.now, args.now + args.longestLeaseMs);
  }

  renew(args: { contexts: readonly { context: number; epoch: number }[]; until: number; node: string }): number[] {
    return args.contexts
      .filter(({ context, epoch }) => this.#sql.renew.run(args.until, context, epoch, args.node).changes === 0)
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
    if (row.length !== args.length) return { kind: "behind", length: row.length };

    let { length } = row;
    for (const entry of args.entries ?? [])
      this.#sql.addEntry.run(context, turn, length++, entry.kind, entry.body, now);
    const state = args.state ?? row.state;
    const statusAt = args.statusChanged || state !== row.state ? now : row.status_at;
    const status = this.#status(args, row, state);
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
    if (args.message !== null && args.message.digest !== null) {
      this.#sql.addMessage.run(args.message.digest, context, turn, args.message.contentHash, args.message.forgetAt);
    }
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
    const { context, turn, now } = args;
    const idle = { next: null, due: false };
    switch (args.then) {
      case "go on":
        return idle;
      case "wake":
        if (row.runner !== null || row.active !== turn) return idle;
        this.#sql.setDue.run(now, context);
        return { next: null, due: true };
      case "park":
        this.#sql.letGo.run(args.dueAt, context);
        return { next: null, due: args.dueAt !== null };
      case "end": {
        if (row.active !== turn) {
          this.#sql.unqueueTurn.run(context);
          return idle;
        }
        if (args.epoch === null && row.runner !== null) {
          // The function still runs. Its writes are fenced off from here on; the next turn starts when it has settled (E16).
          this.#sql.fence.run(now + args.graceMs, context);
          return { next: null, due: true };
        }
        const next = this.#startNext({ context, active: turn }, now);
        if (next === null) {
          this.#sql.idle.run(context);
          return idle;
        }
        const epoch = row.epoch + 1;
        if (args.leaseMs > 0) {
          this.#sql.claim.run(next, epoch, args.node, now + args.leaseMs, context);
          return { next: { context, turn: next, epoch }, due: false };
        }
        this.#sql.activate.run(next, epoch, null, now, context);
        return { next: null, due: true };
      }
    }
  }

  drained(args: { context: number; turn: number; now: number }): boolean {
    const row = this.#sql.findForCommit.get(args.turn, args.context) as CommitRow | undefined;
    if (row === undefined || row.active !== args.turn || !terminal.has(row.state)) return false;
    const next = this.#startNext({ context: args.context, active: args.turn }, args.now);
    if (next === null) this.#sql.idle.run(args.context);
    else this.#sql.activate.run(next, row.epoch + 1, null, args.now, args.context);
    return next !== null;
  }

  addKey(args: { hash: string; role: string; subject: string | null; now: number }): number {
    return Number(this.#sql.addKey.run(args.hash, args.role, args.subject, args.now).lastInsertRowid);
  }

  revokeKey(args: { key: number; now: number }): boolean {
    return this.#sql.revokeKey.run(args.now, args.key).changes > 0;
  }

  secret(args: { name: string; value: Uint8Array; now: number }): Uint8Array {
    this.#sql.addSecret.run(args.name, args.value, args.now);
    const { value } = this.#sql.findSecret.get(args.name) as { value: Uint8Array };
    return value;
  }

  /** Makes the first queued turn after the active one running, and takes it off the queue. The context's row is left to the caller. */
  #startNext(after: { context: number; active: number | null }, now: number): number | null {
    const next = this.#sql.findNext.get(after.context, after.active) as { turn: number } | undefined;
    if (next === undefined) return null;
    this.#sql.unqueueTurn.run(after.context);
    this.#sql.startTurn.run(statusOf("running"), now, next.turn);
    return next.turn;
  }

  #scope(subject: string, agent: string): number {
    const name = `${agent} ${subject}`;
    let scope = this.#scopes.get(name);
    if (scope === undefined) {
      this.#sql.addScope.run(subject, agent);
      ({ scope } = this.#sql.findScope.get(subject, agent) as { scope: number });
      if (this.#scopes.size > 10_000) this.#scopes.clear();
      this.#scopes.set(name, scope);
    }
    return scope;
  }

  #counter(name: string): number {
    return (this.#sql.findCounter.get(name) as { value: number }).value;
  }
}

interface DueRow {
  readonly context: number;
  readonly active: number | null;
  readonly epoch: number;
  readonly runner: string | null;
  readonly state: TurnState | null;
  readonly deaths: number | null;
}

interface CommitRow {
  readonly state: TurnState;
  readonly status: number;
  readonly length: number;
  readonly status_at: number;
  readonly deaths: number;
  readonly epoch: number;
  readonly active: number | null;
  readonly runner: string | null;
}
