/**
 * What writes to the database. Each write is one call of a function of the database (migrations/), and so one transaction.
 *
 * A write that must not be done twice carries a token: when its answer is lost, it is asked for again until it is known what came of it.
 * What was claimed for a caller who has given up is let go: a turn that nobody runs would be held by this node for ever.
 */
import { StoreError } from "../errors.ts";
import type { Signal } from "../signal.ts";
import type { Connections, Row } from "./connections.ts";
import type { Tallies } from "./tallies.ts";

export interface WriterParts {
  readonly connections: Connections;
  readonly tallies: Tallies;
  readonly signal: Signal;
  readonly node: string;
  /** What the database goes by instead of its own clock; null: that. */
  readonly given: () => number | null;
  /** Told how long a write took, in milliseconds. */
  readonly onWrite: (ms: number) => void;
  /** Told what went wrong beside all calls. */
  readonly onTrouble: (error: unknown) => void;
}

/** A call of a function of the database that has a token. */
export interface Write {
  readonly name: "accept" | "commit_turn" | "claim_due" | "claim_suspect";
  /** What it takes, but for what all of these take last: the token, whether it may be done already, and the clock. */
  readonly values: readonly unknown[];
  readonly token: string;
  /** It may claim contexts, which are let go should the caller not come to know. */
  readonly claims: boolean;
  /** Waits for the database for as long as it takes. */
  readonly patient?: boolean;
}

/** Leases are no longer than this, in milliseconds. */
const longestLeaseMs = 600_000;

export class Writer {
  readonly #parts: WriterParts;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** The clock that is gone by: see `clock`. */
  get given(): number | null {
    return this.#parts.given();
  }

  /** A write that may as well be done twice. */
  async ask(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const { connections } = this.#parts;
    const began = performance.now();
    const rows = await connections.ask(() => connections.query({ text, values }));
    this.#wrote(began);
    return rows;
  }

  /**
   * A write that is done once.
   *
   * @param take What is made of its rows, as a part of each attempt. `again`: it may have been done by an attempt before.
   */
  async once<Answer>(write: Write, take: (rows: readonly Row[], again: boolean) => Promise<Answer>): Promise<Answer> {
    const { connections, signal } = this.#parts;
    const { name, token, claims, patient = false } = write;
    const values = [...write.values, token, false, this.given];
    // Whether something is announced is to be known of no rows, too.
    const text = `
      SELECT f.*, f IS NULL AS nothing, announced() AS announced
      FROM (SELECT 1) one LEFT JOIN ${name}(${values.map((_, index) => `$${index + 1}`).join(", ")}) f ON true`;
    const began = performance.now();
    let wrote = false;
    try {
      const answer = await connections.ask(async (again) => {
        values[values.length - 2] = again;
        const rows = await connections.query({ text, values });
        if (rows[0]!["announced"] === true) signal.announced();
        if (rows[0]!["nothing"] === true) return take([], again);
        wrote = true;
        return take(rows, again);
      }, patient);
      if (wrote) this.#wrote(began);
      return answer;
    } catch (error) {
      if (claims) void this.disown(token);
      throw error;
    }
  }

  /** Lets go of what a write may have claimed. It is tried until it is done, or the store is closed: then the lease ends by itself. */
  async disown(token: string): Promise<void> {
    const { connections, node, signal, onTrouble } = this.#parts;
    try {
      const values = [node, token, longestLeaseMs, this.given];
      const text = "SELECT disown($1, $2, $3, $4) AS count";
      const [row] = await connections.ask(() => connections.query({ text, values }), true);
      if ((row!["count"] as number) > 0) signal.due();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.closed")) onTrouble(error);
    }
  }

  #wrote(began: number): void {
    const { tallies, onWrite } = this.#parts;
    onWrite(performance.now() - began);
    tallies.changed();
  }
}
