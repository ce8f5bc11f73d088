/** Which bytes turns need, and the versions of their outputs: the writes behind `FileStore`, and what follows when a turn ends or goes. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import { leftoverMs } from "../files.ts";
import type { Blob, Held, HoldLimits, Output } from "../files.ts";
import { prepare, terminal } from "./statements.ts";
import type { Tallies } from "./tallies.ts";

export interface HoldArgs {
  readonly context: number;
  readonly turn: number;
  readonly of: number;
  readonly anew: boolean;
  readonly bytes: readonly { readonly sha256: string; readonly size: number }[];
  readonly limits: HoldLimits;
  readonly now: number;
}

/** What a turn no longer holds. */
export interface LetGo {
  readonly count: number;
  /** What its subject has less. */
  readonly bytes: number;
}

const sql = {
  turn: `
    SELECT t.state, c.subject FROM turns t JOIN contexts c ON c.context = t.context WHERE t.turn = ? AND t.context = ?`,
  live: "SELECT blob, size, free_at FROM blobs WHERE sha256 = ? AND condemned = 0",
  addBlob: "INSERT INTO blobs (sha256, size, created_at) VALUES (?, ?, ?)",
  need: "UPDATE blobs SET free_at = NULL WHERE blob = ?",
  free: "UPDATE blobs SET free_at = ? WHERE blob = ? AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.blob = blobs.blob)",
  total: "SELECT value FROM counters WHERE name = 'fileBytes'",
  addToTotal: "UPDATE counters SET value = value + ? WHERE name = 'fileBytes'",

  addHold: "INSERT INTO holds (context, turn, seq, blob) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  keep: "UPDATE holds SET kept = 1 WHERE turn = ? AND seq = ?",
  heldBy: `
    SELECT seq, h.blob, kept, size FROM holds h JOIN blobs USING (blob) WHERE turn = ? ORDER BY seq, h.blob LIMIT ?`,
  leftBy: "SELECT seq, h.blob, kept, size FROM holds h JOIN blobs USING (blob) WHERE turn = ? AND kept = 0",
  leftByEntry: `
    SELECT seq, h.blob, kept, size FROM holds h JOIN blobs USING (blob) WHERE turn = ? AND seq = ? AND kept = 0`,
  dropHold: "DELETE FROM holds WHERE turn = ? AND seq = ? AND blob = ?",

  setVersion: `
    INSERT INTO outputs (context, path, version) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET version = max(version, excluded.version)`,
  dropOutputs: "DELETE FROM outputs WHERE context = ?",

  freeBlobs: "SELECT blob, sha256, size FROM blobs WHERE free_at <= ? ORDER BY free_at LIMIT ?",
  condemn: "UPDATE blobs SET condemned = 1 WHERE blob = ?",
  size: "SELECT size FROM blobs WHERE blob = ? AND condemned = 1",
  dropBlob: "DELETE FROM blobs WHERE blob = ?",
} as const;

export class Holdings {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;

  constructor(database: DatabaseSync, tallies: Tallies) {
    this.#sql = prepare(database, sql);
    this.#tallies = tallies;
  }

  hold({ context, turn, of, anew, bytes, limits, now }: HoldArgs): Held {
    const row = this.#sql.turn.get(turn, context) as { state: TurnState; subject: number } | undefined;
    if (row === undefined || terminal.has(row.state)) return { kind: "ended" };
    const { subject } = row;
    const found = new Map<string, LiveRow | undefined>();
    let added = 0;
    let needed = 0;
    for (const { sha256, size } of bytes) {
      needed += size;
      if (found.has(sha256)) continue;
      const live = this.#sql.live.get(sha256) as LiveRow | undefined;
      if (live !== undefined && live.size !== size)
        throw new RangeError(`${sha256} has ${live.size} bytes, not ${size}`);
      found.set(sha256, live);
      if (live === undefined) added += size;
    }
    const { value: total } = this.#sql.total.get() as { value: number };
    if (added > 0 && total + added > limits.total) return { kind: "full" };
    if (this.#tallies.subject(subject).bytes + needed > limits.subject) return { kind: "subjectFull" };

    if (anew) {
      const left = this.#sql.leftByEntry.all(turn, of) as unknown as HoldRow[];
      this.#tallies.add(subject, { bytes: -this.#letGo(turn, left, now).bytes });
    }
    const blobs = bytes.map(({ sha256, size }): Blob => {
      let live = found.get(sha256);
      if (live === undefined) {
        live = { blob: Number(this.#sql.addBlob.run(sha256, size, now).lastInsertRowid), size };
        found.set(sha256, live);
      }
      this.#sql.need.run(live.blob);
      if (this.#sql.addHold.run(context, turn, of, live.blob).changes > 0) this.#tallies.add(subject, { bytes: size });
      return { blob: live.blob, sha256, size };
    });
    if (added > 0) this.#sql.addToTotal.run(added);
    return { kind: "held", blobs };
  }

  /** Versions that a change of a turn has brought. */
  output(context: number, turn: number, outputs: readonly Output[]): void {
    for (const { of, path, version } of outputs) {
      this.#sql.setVersion.run(context, path, version);
      if (of !== undefined) this.#sql.keep.run(turn, of);
    }
  }

  /** A turn has ended: what it held and is no output is let go. */
  ended(turn: number, now: number): LetGo {
    return this.#letGo(turn, this.#sql.leftBy.all(turn) as unknown as HoldRow[], now);
  }

  /** A turn is being taken out: it holds nothing any more. At most `limit` at once. */
  dropped(turn: number, limit: number, now: number): LetGo {
    return this.#letGo(turn, this.#sql.heldBy.all(turn, limit) as unknown as HoldRow[], now);
  }

  /** A context is no more. */
  contextDropped(context: number): void {
    this.#sql.dropOutputs.run(context);
  }

  condemn({ limit, now }: { readonly limit: number; readonly now: number }): Blob[] {
    const rows = this.#sql.freeBlobs.all(now, limit) as unknown as Blob[];
    for (const { blob } of rows) this.#sql.condemn.run(blob);
    return rows.map((row) => ({ ...row }));
  }

  gone({ blobs }: { readonly blobs: readonly number[] }): void {
    for (const blob of blobs) {
      const row = this.#sql.size.get(blob) as { size: number } | undefined;
      if (row === undefined) continue;
      this.#sql.dropBlob.run(blob);
      this.#sql.addToTotal.run(-row.size);
    }
  }

  #letGo(turn: number, holds: readonly HoldRow[], now: number): LetGo {
    let bytes = 0;
    for (const { seq, blob, kept, size } of holds) {
      this.#sql.dropHold.run(turn, seq, blob);
      this.#sql.free.run(kept === 1 ? now : now + leftoverMs, blob);
      bytes += size;
    }
    return { count: holds.length, bytes };
  }
}

interface LiveRow {
  readonly blob: number;
  readonly size: number;
}

interface HoldRow {
  readonly seq: number;
  readonly blob: number;
  readonly kept: number;
  readonly size: number;
}
