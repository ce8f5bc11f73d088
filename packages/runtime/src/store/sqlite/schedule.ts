/**
 * What is due when: the one place that moves contexts between these.
 *
 * | a context is | columns                         | leads to                                                   |
 * |--------------|---------------------------------|------------------------------------------------------------|
 * | idle         | active, runner, times: null     | ready, claimed                                             |
 * | ready        | ready_at                        | claimed, idle                                              |
 * | claimed      | runner, due_at: the lease's end | ready (let go, lease over), parked, idle                   |
 * | parked       | due_at, or null: until woken    | ready (woken, or its time has come), idle                  |
 *
 * A suspect (E17) is parked, and due; it is never ready.
 *
 * Those that are ready stand in a line that is fair between subjects: a subject has one place in it, and goes to the end when one of
 * its contexts is claimed. Who sends a thousand messages delays who sends one by one turn, not by a thousand.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import { statusOf } from "../status.ts";
import { hasShare, suspectDeaths } from "../store.ts";
import type { Share } from "../store.ts";
import type { Outbox } from "./outbox.ts";
import { prepare, suspectSql, terminal, terminalSql } from "./statements.ts";
import type { Tallies } from "./tallies.ts";

/** What has to be known of a context to move it. */
export interface ContextRow {
  readonly context: number;
  readonly subject: number;
  readonly active: number | null;
  readonly epoch: number;
  readonly runner: string | null;
  readonly ready_at: number | null;
}

export interface DueRow extends ContextRow {
  readonly due_at: number | null;
  readonly state: TurnState | null;
  readonly deaths: number | null;
}

export interface ClaimRow {
  readonly context: number;
  readonly turn: number;
  readonly epoch: number;
}

/** Who claims, and for how long from now. */
export interface Claimer {
  readonly node: string;
  readonly leaseMs: number;
  readonly now: number;
}

/** Contexts whose time has come that are put in line in one go, and how often at most before the line is served. */
const promotedAtOnce = 256;
const promotions = 8;
/** Subjects of the line that are looked at in one go. */
const subjectsAtOnce = 64;

const dueColumns =
  "c.context, c.subject, c.active, c.epoch, c.runner, c.ready_at, c.due_at, t.state AS state, t.deaths AS deaths";

const sql = {
  add: `
    INSERT INTO contexts (context, scope, subject, name, created_at, active, epoch, runner, ready_at, due_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  activate: "UPDATE contexts SET active = ?, epoch = ? WHERE context = ?",
  claim: "UPDATE contexts SET active = ?, epoch = ?, runner = ?, ready_at = NULL, due_at = ? WHERE context = ?",
  ready: "UPDATE contexts SET runner = NULL, ready_at = ?, due_at = NULL WHERE context = ?",
  park: "UPDATE contexts SET runner = NULL, ready_at = NULL, due_at = ? WHERE context = ?",
  idle: "UPDATE contexts SET active = NULL, runner = NULL, ready_at = NULL, due_at = NULL WHERE context = ?",
  fence: "UPDATE contexts SET epoch = epoch + 1, due_at = ? WHERE context = ?",
  queue: "UPDATE contexts SET queued = queued + 1 WHERE context = ?",
  unqueue: "UPDATE contexts SET queued = queued - 1 WHERE context = ?",
  endLeases: "UPDATE contexts SET due_at = ? WHERE due_at <= ? AND runner IS NOT NULL",
  renew: "UPDATE contexts SET due_at = ? WHERE context = ? AND epoch = ? AND runner = ?",

  // In the order in which they came: a moment that is written down never goes back.
  findNext:
    "SELECT turn, scope, troubled, pushes FROM turns WHERE context = ? AND status = ? ORDER BY status_at, turn LIMIT 1",
  startTurn: "UPDATE turns SET state = ?, status = ?, status_at = ? WHERE turn = ?",
  countDeath: "UPDATE turns SET deaths = deaths + 1 WHERE turn = ?",

  // A node's own contexts are in its hands, however long its event loop was busy: they are never due to itself, unless the
  // active turn was ended by somebody else. A suspect is one that nobody runs: whoever ran it until now has yet to be counted.
  findDue: `
    SELECT ${dueColumns}
    FROM contexts c LEFT JOIN turns t ON t.turn = c.active
    WHERE c.due_at <= ?
      AND (c.runner IS NOT ? OR t.state IN (${terminalSql}))
      AND (c.runner IS NOT NULL OR t.deaths IS NULL OR t.deaths < ${suspectDeaths} OR t.state IN (${terminalSql}))
    ORDER BY c.due_at, c.context LIMIT ?`,
  findSuspect: suspectSql(dueColumns),
  findReady: `
    SELECT context, subject, active, epoch, runner, ready_at FROM contexts
    WHERE subject = ? AND ready_at IS NOT NULL ORDER BY ready_at, context LIMIT 2`,

  findInLine: "SELECT subject, name, place FROM subjects WHERE place > ? ORDER BY place LIMIT ?",
  lineUp: "UPDATE subjects SET place = ? WHERE subject = ? AND place IS NULL",
  setPlace: "UPDATE subjects SET place = ? WHERE subject = ?",
  lastPlace: "SELECT coalesce(max(place), 0) AS place FROM subjects",
} as const;

export class Schedule {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  readonly #outbox: Outbox;
  #place: number;

  constructor(database: DatabaseSync, tallies: Tallies, outbox: Outbox) {
    this.#sql = prepare(database, sql);
    this.#tallies = tallies;
    this.#outbox = outbox;
    this.#place = (this.#sql.lastPlace.get() as { place: number }).place;
  }

  /**
   * A turn begins in a context that is new, or idle.
   *
   * @param claimer Claims it at once, when its lease is longer than nothing.
   * @returns The epoch of the claim; 0: it waits for a node.
   */
  begin(
    context: Pick<ContextRow, "context" | "subject" | "epoch"> & {
      /** Of a new one. */
      readonly made: { readonly scope: number; readonly name: string } | undefined;
    },
    turn: number,
    claimer: Claimer,
  ): number {
    const { made, subject, epoch } = context;
    const { node, leaseMs, now } = claimer;
    const claimed = leaseMs > 0;
    if (made !== undefined) {
      const rest = claimed ? [1, node, null, now + leaseMs] : [0, null, now, null];
      this.#sql.add.run(context.context, made.scope, subject, made.name, now, turn, ...rest);
      if (!claimed) this.#lineUp(subject);
      return claimed ? 1 : 0;
    }
    if (claimed) return this.#claim(context, turn, claimer).epoch;
    this.#sql.activate.run(turn, epoch, context.context);
    this.#join(context, now);
    return 0;
  }

  /** A turn waits for the active one. */
  queue({ context, subject }: Pick<ContextRow, "context" | "subject">): void {
    this.#sql.queue.run(context);
    this.#tallies.add(subject, { queued: 1 });
  }

  /** A turn that waited does so no more. */
  unqueue({ context, subject }: Pick<ContextRow, "context" | "subject">): void {
    this.#sql.unqueue.run(context);
    this.#tallies.add(subject, { queued: -1 });
  }

  /** The active turn has something to do. It keeps the place that it has in line. @param deaths Of the turn. */
  wake(context: ContextRow & Pick<DueRow, "due_at">, deaths: number, now: number): void {
    if (context.ready_at === null) this.#dueAt(context, deaths, { at: Math.min(context.due_at ?? now, now), now });
  }

  /** The active turn waits: until it is woken, or for `dueAt`. @param deaths Of the turn. */
  park(
    context: ContextRow,
    deaths: number,
    { dueAt, now }: { readonly dueAt: number | null; readonly now: number },
  ): void {
    this.#leave(context);
    if (dueAt === null) this.#sql.park.run(null, context.context);
    else this.#dueAt(context, deaths, { at: dueAt, now });
  }

  /** The active turn was ended by somebody else while a node runs it: that node's writes count no more, and it has until then. */
  fence({ context }: ContextRow, until: number): void {
    this.#sql.fence.run(until, context);
  }

  /**
   * The active turn is over: the next one that waits takes its place.
   *
   * @param claimer Claims that one at once.
   */
  goOn(context: ContextRow, now: number, claimer?: Claimer): { readonly next: ClaimRow | null; readonly due: boolean } {
    const next = this.#sql.findNext.get(context.context, statusOf("queued")) as
      | { turn: number; scope: number; troubled: number; pushes: number }
      | undefined;
    if (next === undefined) {
      this.#leave(context);
      this.#sql.idle.run(context.context);
      return { next: null, due: false };
    }
    this.unqueue(context);
    // A turn that waited in a home that was restored is held when it is its turn.
    const state: TurnState = next.troubled === 1 ? "held" : "running";
    const before = next.pushes > 0 ? this.#outbox.shown(next.turn) : undefined;
    this.#sql.startTurn.run(state, statusOf(state), this.#tallies.moment(now), next.turn);
    if (before !== undefined) {
      const { context: key, subject } = context;
      this.#outbox.changed({ context: key, turn: next.turn, subject }, before, now);
    }
    this.#tallies.tally(next.scope, statusOf("queued"), -1);
    this.#tallies.tally(next.scope, statusOf(state), 1);
    this.#leave(context);
    if (state === "running" && claimer !== undefined)
      return { next: this.#claim(context, next.turn, claimer), due: false };
    this.#sql.activate.run(next.turn, context.epoch + 1, context.context);
    if (state === "held") this.#sql.park.run(null, context.context);
    else this.#join(context, now);
    return { next: null, due: state === "running" };
  }

  claimDue(limit: number, share: Share, claimer: Claimer): ClaimRow[] {
    const { node, now } = claimer;
    for (let round = 0; round < promotions; round++) {
      const due = this.#sql.findDue.all(now, node, promotedAtOnce) as unknown as DueRow[];
      for (const row of due) this.#promote(row, now);
      if (due.length < promotedAtOnce) break;
    }
    return this.#serve(limit, share, claimer);
  }

  claimSuspect(claimer: Claimer): ClaimRow | null {
    const row = this.#sql.findSuspect.get(claimer.now) as DueRow | undefined;
    return row === undefined ? null : this.#claim(row, row.active!, claimer);
  }

  /** Leases of processes that no longer live are over. */
  endLeases(now: number, longestLeaseMs: number): void {
    this.#sql.endLeases.run(now, now + longestLeaseMs);
  }

  renew(context: number, epoch: number, { node, until }: { readonly node: string; readonly until: number }): boolean {
    return this.#sql.renew.run(until, context, epoch, node).changes > 0;
  }

  /** The time of a context has come: a lease or a grace is over, or a sleep. */
  #promote(row: DueRow, now: number): void {
    if (row.active === null || terminal.has(row.state!)) {
      this.goOn(row, now);
      return;
    }
    let deaths = row.deaths ?? 0;
    if (row.runner !== null) {
      this.#sql.countDeath.run(row.active);
      deaths++;
    }
    this.#dueAt(row, deaths, { at: row.due_at!, now });
  }

  /** Serves the line, and stops when nobody in it may have more. */
  #serve(limit: number, share: Share, claimer: Claimer): ClaimRow[] {
    const claims: ClaimRow[] = [];
    const running = new Map(share.running);
    for (let after = 0; ;) {
      const subjects = this.#sql.findInLine.all(after, subjectsAtOnce) as unknown as SubjectRow[];
      if (subjects.length === 0) return claims;
      for (const { subject, name, place } of subjects) {
        if (claims.length === limit) return claims;
        after = place;
        const has = running.get(name) ?? 0;
        if (!hasShare(has, share.room - claims.length, share.most)) continue;
        const [next, another] = this.#sql.findReady.all(subject) as unknown as (ContextRow | undefined)[];
        if (next !== undefined) {
          this.#leave(next);
          claims.push(this.#claim(next, next.active!, claimer));
          running.set(name, has + 1);
        }
        // To the end of the line, where this very round comes by again; or out of it.
        this.#sql.setPlace.run(another === undefined ? null : ++this.#place, subject);
      }
    }
  }

  #claim({ context, epoch }: Pick<ContextRow, "context" | "epoch">, turn: number, claimer: Claimer): ClaimRow {
    this.#sql.claim.run(turn, epoch + 1, claimer.node, claimer.now + claimer.leaseMs, context);
    return { context, turn, epoch: epoch + 1 };
  }

  #dueAt(
    context: Pick<ContextRow, "context" | "subject">,
    deaths: number,
    { at, now }: { readonly at: number; readonly now: number },
  ): void {
    if (at <= now && deaths < suspectDeaths) this.#join(context, at);
    else this.#sql.park.run(at, context.context);
  }

  /** @param since When it came to be ready: the older ones of a subject go first. */
  #join({ context, subject }: Pick<ContextRow, "context" | "subject">, since: number): void {
    this.#sql.ready.run(since, context);
    this.#lineUp(subject);
  }

  #lineUp(subject: number): void {
    this.#tallies.add(subject, { ready: 1 });
    if (this.#sql.lineUp.run(this.#place + 1, subject).changes > 0) this.#place++;
  }

  /** The subject keeps its place; who is served without having anything ready is taken out of the line. */
  #leave({ subject, ready_at }: Pick<ContextRow, "subject" | "ready_at">): void {
    if (ready_at !== null) this.#tallies.add(subject, { ready: -1 });
  }
}

interface SubjectRow {
  readonly subject: number;
  readonly name: string;
  readonly place: number;
}
