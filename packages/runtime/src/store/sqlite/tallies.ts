/**
 * Counts that are kept, so that nobody has to count: turns by scope and status, and what each subject has. A batch adds them up in
 * memory, and writes each sum once, before it commits.
 *
 * Also milestones: how many turns had ended, with a status, before a moment. About every thousandth end makes one, for its scope and
 * for its context; the turns from any moment on are then a difference, and the way from the nearest milestone.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { prepare } from "./statements.ts";

/** One end in so many makes a milestone; which ones, no caller can choose. */
const spacing = 1024;
/** A milestone that spares less counting than this is not worth its row. */
const leastSpared = spacing / 4;

/** What is counted of a subject. */
export interface SubjectSums {
  /** Turns that wait for an earlier one of their context. */
  queued: number;
  /** Contexts that wait for a node. */
  ready: number;
  bytes: number;
}

/** Ended turns of one status that are no more. */
export interface Removed {
  readonly scope: number;
  readonly context: number;
  readonly status: number;
  readonly statusAt: number;
}

const since = (owner: "scope" | "context") =>
  `SELECT count(*) AS n FROM turns WHERE ${owner} = ? AND status = ? AND status_at >= ? AND status_at < ?`;
const mine = "scope = ? AND context = ? AND status = ?";

const sql = {
  addTally: "INSERT INTO tallies (scope, status, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
  addToSubject: "UPDATE subjects SET queued = queued + ?, ready = ready + ?, bytes = bytes + ? WHERE subject = ?",
  subject: "SELECT queued, ready, bytes FROM subjects WHERE subject = ?",
  latest: `
    SELECT max(coalesce((SELECT max(at) FROM milestones), 0),
               coalesce((SELECT status_at FROM turns ORDER BY turn DESC LIMIT 1), 0)) AS at`,
  lastMilestone: `SELECT at, n FROM milestones WHERE ${mine} ORDER BY at DESC LIMIT 1`,
  addMilestone: "INSERT INTO milestones (scope, context, status, at, n) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  milestonesWithin: `SELECT at FROM milestones WHERE ${mine} AND at > ? AND at <= ?`,
  lowerOne: `UPDATE milestones SET n = n - ? WHERE ${mine} AND at = ?`,
  lowerAfter: `UPDATE milestones SET n = n - ? WHERE ${mine} AND at > ?`,
  dropEmpty: `DELETE FROM milestones WHERE ${mine} AND n <= 0`,
  sinceInScope: since("scope"),
  sinceInContext: since("context"),
} as const;

export class Tallies {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  /** Of the operation that runs: `scope`, `status`, `by`, … */
  #draftTallies: number[] = [];
  #draftSubjects: [subject: number, sums: Partial<SubjectSums>][] = [];
  /** Of the batch's operations before it. */
  readonly #tallies = new Map<number, number>();
  readonly #subjects = new Map<number, SubjectSums>();
  #latest: number;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database, sql);
    this.#latest = (this.#sql.latest.get() as { at: number }).at;
  }

  /**
   * The moment to write down as that of a change of status. It never goes back, whatever the clock does: what is counted as before
   * a milestone stays so.
   */
  moment(now: number): number {
    return (this.#latest = Math.max(this.#latest, now));
  }

  /** So many more turns with this status; fewer, when it is below 0. */
  tally(scope: number, status: number, by: number): void {
    this.#draftTallies.push(scope, status, by);
  }

  add(subject: number, sums: Partial<SubjectSums>): void {
    this.#draftSubjects.push([subject, sums]);
  }

  /** What a subject has by now. */
  subject(subject: number): SubjectSums {
    const sums = { queued: 0, ready: 0, bytes: 0, ...this.#sql.subject.get(subject) };
    const kept = this.#subjects.get(subject);
    if (kept !== undefined) addUp(sums, kept);
    for (const [other, draft] of this.#draftSubjects) if (other === subject) addUp(sums, draft);
    return sums;
  }

  /** The operation is done: what it counted counts. */
  keep(): void {
    for (let at = 0; at < this.#draftTallies.length; at += 3) {
      const [scope, status, by] = this.#draftTallies.slice(at, at + 3) as [number, number, number];
      for (const key of [scope * statuses + status, status]) this.#tallies.set(key, (this.#tallies.get(key) ?? 0) + by);
    }
    for (const [subject, draft] of this.#draftSubjects) {
      let sums = this.#subjects.get(subject);
      if (sums === undefined) this.#subjects.set(subject, (sums = { queued: 0, ready: 0, bytes: 0 }));
      addUp(sums, draft);
    }
    this.undo();
  }

  /** The operation is undone. */
  undo(): void {
    if (this.#draftTallies.length > 0) this.#draftTallies = [];
    if (this.#draftSubjects.length > 0) this.#draftSubjects = [];
  }

  /** Writes what the batch has counted. */
  write(): void {
    for (const [key, by] of this.#tallies) {
      if (by !== 0) this.#sql.addTally.run(Math.floor(key / statuses), key % statuses, by);
    }
    for (const [subject, { queued, ready, bytes }] of this.#subjects) {
      if (queued !== 0 || ready !== 0 || bytes !== 0) this.#sql.addToSubject.run(queued, ready, bytes, subject);
    }
    this.forget();
  }

  /** The batch is undone, or written. */
  forget(): void {
    this.undo();
    this.#tallies.clear();
    this.#subjects.clear();
  }

  /** A turn has ended at this moment: it may be one that makes a milestone. */
  ended({ scope, context, status, statusAt }: Removed, turn: number): void {
    // A multiplicative hash: turns of one context that come in turns with another's make them just as often.
    if (Math.imul(turn, 0x9e37_79b1) >>> (32 - Math.log2(spacing)) !== 0) return;
    for (const within of [0, context]) {
      const last = this.#sql.lastMilestone.get(scope, within, status) as { at: number; n: number } | undefined;
      const [count, owner] = within === 0 ? [this.#sql.sinceInScope, scope] : [this.#sql.sinceInContext, context];
      const { n } = count.get(owner, status, last?.at ?? 0, statusAt) as { n: number };
      if (n >= leastSpared) this.#sql.addMilestone.run(scope, within, status, statusAt, (last?.n ?? 0) + n);
    }
  }

  /** Ended turns are no more: milestones after them count fewer. */
  removed(turns: readonly Removed[]): void {
    for (const owner of [0, 1] as const) {
      const groups = Map.groupBy(turns, ({ scope, context, status }) => `${scope} ${owner * context} ${status}`);
      for (const group of groups.values()) {
        const { scope, context, status } = group[0]!;
        this.#lower(
          [scope, owner * context, status],
          group.map(({ statusAt }) => statusAt),
        );
      }
    }
  }

  #lower(of: readonly [scope: number, context: number, status: number], times: readonly number[]): void {
    const first = Math.min(...times);
    const last = Math.max(...times);
    for (const { at } of this.#sql.milestonesWithin.all(...of, first, last) as unknown as { at: number }[]) {
      this.#sql.lowerOne.run(times.filter((time) => time < at).length, ...of, at);
    }
    this.#sql.lowerAfter.run(times.length, ...of, last);
    this.#sql.dropEmpty.run(...of);
  }
}

/** More than there are of them. */
const statuses = 16;

function addUp(sums: SubjectSums, more: Partial<SubjectSums>): void {
  sums.queued += more.queued ?? 0;
  sums.ready += more.ready ?? 0;
  sums.bytes += more.bytes ?? 0;
}
