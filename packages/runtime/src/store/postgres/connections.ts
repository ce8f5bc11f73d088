/**
 * The connections to the database, so many at most, and how long is waited for it: a call takes one for a statement, and gives it
 * back. What runs holds none.
 *
 * A call whose answer was lost is asked for again until it is known what came of it, or until the time of who asked is up.
 */
import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { Pool, TypeOverrides } from "pg";
import type { PoolClient } from "pg";

import { StoreError } from "../errors.ts";
import { breaksConnection, failureOf, storeError } from "./failure.ts";

export interface ConnectionOptions {
  /** `postgres://…`, with all that libpq takes there. */
  readonly url: string;
  /** Where the tables are. */
  readonly schema: string;
  /** How many connections at most. */
  readonly most: number;
  /** How long callers wait for a database that does not answer, in milliseconds. */
  readonly patienceMs: number;
  /** Whether the database refuses to write. Default: false. */
  readonly readOnly?: boolean;
}

/** A statement with `$1`, `$2`, … and what is in their places. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export type Row = Readonly<Record<string, unknown>>;

/** Asks the database, and gives the rows of its answer. */
export type Ask = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

/** The server ends what takes longer, in milliseconds; and what waits so long for a lock. */
const STATEMENT_TIMEOUT = 15_000;
const LOCK_TIMEOUT = 5_000;
/** After which a connection that says nothing at all is given up. */
const SILENCE = 20_000;
const CONNECT_TIMEOUT = 5_000;
/** Between two attempts: doubling, up to the longest. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 1_000;

/** Keys and times are whole numbers below 2^53. */
const types = new TypeOverrides();
types.setTypeParser(20, Number); // int8

export class Connections implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #patienceMs: number;
  readonly #ending = new AbortController();
  #downSince: number | undefined;
  #calls = 0;
  #closed: Promise<void> | undefined;

  constructor({ url, schema, most, patienceMs, readOnly = false }: ConnectionOptions) {
    this.#patienceMs = patienceMs;
    this.#pool = new Pool({
      connectionString: url,
      max: most,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: SILENCE,
      keepAlive: true,
      application_name: "nylorun",
      // The pool waits for it, though its types do not say so.
      onConnect: (client): unknown => prepare(client as PoolClient, schema, readOnly),
    });
    // A connection that breaks while nobody uses it is replaced when it is needed.
    this.#pool.on("error", () => undefined);
  }

  /** Connections that are open, in use, and asked for in vain at this moment. */
  get use(): { readonly open: number; readonly busy: number; readonly waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { open: totalCount, busy: totalCount - idleCount, waiting: waitingCount };
  }

  /** @throws StoreError */
  async read(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.ask(() => this.query({ text, values }));
  }

  /**
   * Asks until there is an answer, or for as long as callers wait.
   *
   * @param attempt Is told whether an earlier attempt may have been done.
   * @param patient Waits for the database for as long as it takes, or until the store is closed.
   * @throws StoreError
   */
  async ask<Answer>(attempt: (again: boolean) => Promise<Answer>, patient = false): Promise<Answer> {
    if (this.#closed !== undefined) throw closed();
    this.#calls++;
    try {
      let again = false;
      const began = performance.now();
      for (let failures = 0; ; failures++) {
        try {
          const answer = await attempt(again);
          this.#downSince = undefined;
          return answer;
        } catch (error) {
          if (error instanceof StoreError) throw error;
          const kind = error instanceof Unreachable ? "absent" : failureOf(error);
          if (kind === "refused" || (kind === "full" && !patient)) throw storeError(kind, error);
          const now = performance.now();
          this.#downSince ??= now;
          // Who comes when it has been away for long does not wait.
          const since = kind === "absent" ? Math.min(began, this.#downSince) : began;
          const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures);
          if (this.#ending.signal.aborted || (!patient && now + pause - since > this.#patienceMs))
            throw storeError(kind, error);
          again ||= kind !== "absent";
          await delay(pause * (0.5 + Math.random() / 2), undefined, { signal: this.#ending.signal }).catch(
            () => undefined,
          );
        }
      }
    } finally {
      this.#calls--;
    }
  }

  /** One attempt. */
  async query({ text, values }: Statement): Promise<readonly Row[]> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new Unreachable((error as Error).message, { cause: error });
    });
    let broken = false;
    try {
      const { rows } = await client.query<Row>({ name: nameOf(text), text, values: [...values], types } as never);
      return rows;
    } catch (error) {
      broken = breaksConnection(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Waits for what is being asked, but not longer than callers would. */
  async drain(asked: Promise<void>): Promise<void> {
    const stop = new AbortController();
    await Promise.race([asked, delay(this.#patienceMs, undefined, { signal: stop.signal }).catch(() => undefined)]);
    stop.abort();
  }

  /** Takes no more calls, lets those that are being answered come to an end, and closes the connections. */
  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const deadline = performance.now() + this.#patienceMs; this.#calls > 0 && performance.now() < deadline;)
      await delay(2);
    this.#ending.abort();
    while (this.#calls > 0) await delay(2);
    await this.#pool.end();
  }
}

/** There was no connection to be had. */
class Unreachable extends Error {}

/** What each new connection is told first. */
async function prepare(client: PoolClient, schema: string, readOnly: boolean): Promise<void> {
  // While it is in use, the pool does not listen, and whoever uses it is told by what they asked.
  client.on("error", () => undefined);
  await client.query(
    `SET search_path TO ${client.escapeIdentifier(schema)};
     SET statement_timeout TO ${STATEMENT_TIMEOUT}; SET lock_timeout TO ${LOCK_TIMEOUT};
     SET idle_in_transaction_session_timeout TO ${STATEMENT_TIMEOUT};
     SET default_transaction_read_only TO ${readOnly ? "on" : "off"}`,
  );
}

const names = new Map<string, string>();

/** A statement is planned once for each connection. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = hash("sha256", text, "base64url").slice(0, 22)));
  return name;
}

function closed(): StoreError {
  return new StoreError("store.closed", "The store is closed.");
}
