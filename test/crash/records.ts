/** What the database of nodes holds, read past all of the Runtime's code, while they serve it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { Client } from "pg";

type Row = Readonly<Record<string, unknown>>;

export interface TurnRow {
  readonly turn: number;
  readonly messageId: string;
  readonly contextId: string;
  readonly state: string;
  readonly deaths: number;
}

export interface EntryRow {
  readonly turn: number;
  readonly seq: number;
  readonly kind: string;
  readonly body: { readonly of?: number; readonly name?: string };
}

export class Records {
  /** The same words mean the same to both databases. */
  readonly #query: (sql: string) => Promise<readonly Row[]>;
  /** Finds what is broken in the database itself, where that is a file of the Runtime's. */
  readonly #check: () => Promise<readonly unknown[]>;

  static ofHome(home: string): Records {
    const query = async (sql: string) => {
      using database = new DatabaseSync(join(home, "nylorun.db"), { readOnly: true, timeout: 5000 });
      return database.prepare(sql).all();
    };
    const check = async () => (await query("PRAGMA integrity_check")).filter((row) => row["integrity_check"] !== "ok");
    return new Records(query, check);
  }

  static ofPostgres({ url, schema = "nylorun" }: { readonly url: string; readonly schema?: string }): Records {
    const query = async (sql: string) => {
      const client = new Client({
        connectionString: url,
        options: `-c search_path=${schema}`,
        connectionTimeoutMillis: 5000,
      });
      client.on("error", () => undefined);
      await client.connect();
      try {
        return (await client.query<Row>(sql)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    };
    return new Records(query, async () => []);
  }

  private constructor(query: (sql: string) => Promise<readonly Row[]>, check: () => Promise<readonly unknown[]>) {
    this.#query = query;
    this.#check = check;
  }

  /** In the order in which they were taken. */
  async turns(): Promise<readonly TurnRow[]> {
    const rows = await this.#query(
      `SELECT turns.turn, turns.message, contexts.name, turns.state, turns.deaths
       FROM turns JOIN contexts ON contexts.context = turns.context ORDER BY turns.turn`,
    );
    return rows.map(({ turn, message, name, state, deaths }) => ({
      turn: Number(turn),
      messageId: (JSON.parse(message as string) as { messageId: string }).messageId,
      contextId: name as string,
      state: state as string,
      deaths: deaths as number,
    }));
  }

  /** Of all turns' journals. */
  async journal(): Promise<readonly EntryRow[]> {
    const rows = await this.#query("SELECT turn, seq, kind, body FROM journal ORDER BY turn, seq");
    return rows.map(({ turn, seq, kind, body }) => ({
      turn: Number(turn),
      seq: seq as number,
      kind: kind as string,
      body: JSON.parse(body as string) as object,
    }));
  }

  /** Turns that more than one remembered message id, or none, leads to. */
  oddMessages(): Promise<readonly unknown[]> {
    return this.#query(
      `SELECT turns.turn, count(messages.turn) AS found FROM turns LEFT JOIN messages ON messages.turn = turns.turn
       GROUP BY turns.turn HAVING count(messages.turn) <> 1`,
    );
  }

  /** Nothing is active, queued, due or claimed any more, and the database is whole. */
  async assertAtRest(): Promise<void> {
    assert.deepEqual(
      await this.#query(
        `SELECT name, active, queued, runner, due_at, ready_at FROM contexts
         WHERE active IS NOT NULL OR queued <> 0 OR runner IS NOT NULL OR due_at IS NOT NULL OR ready_at IS NOT NULL`,
      ),
      [],
    );
    assert.deepEqual(await this.#check(), []);
  }
}
