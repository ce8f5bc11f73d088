/** The shop that refunds.ts works for. It pays whenever it is told to: that it is told once is the agent's business. */
import type { DatabaseSync } from "node:sqlite";

import { openWorld } from "../world/world.ts";

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly cents: number;
  readonly currency: string;
  readonly refunded: boolean;
}

export interface Receipt {
  readonly id: number;
  readonly order: string;
  readonly cents: number;
  /** What the bank takes for it. */
  readonly feeUsd: number;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, cents INTEGER NOT NULL, currency TEXT NOT NULL
  );
  INSERT OR IGNORE INTO orders VALUES
    ('1001', 'Ada', 4200, 'EUR'), ('1002', 'Grace', 1999, 'USD'), ('1003', 'Edsger', 12050, 'EUR');
  CREATE TABLE IF NOT EXISTS refunds (
    id INTEGER PRIMARY KEY, "order" TEXT NOT NULL REFERENCES orders, cents INTEGER NOT NULL, feeUsd REAL NOT NULL
  )`;

export class Shop {
  readonly #folder: string | undefined;
  #opened: DatabaseSync | undefined;

  /** Opened at its first use. */
  constructor(folder?: string) {
    this.#folder = folder;
  }

  order(id: string): Order | undefined {
    const row = this.#database.prepare("SELECT * FROM orders WHERE id = ?").get(id);
    return row && ({ ...row, refunded: this.refunds(id).length > 0 } as unknown as Order);
  }

  /** Pays the order back, all of it, once more each time. */
  refund(order: string): Receipt {
    const insert = `
      INSERT INTO refunds ("order", cents, feeUsd) SELECT id, cents, 0.25 FROM orders WHERE id = ? RETURNING *`;
    return { ...this.#database.prepare(insert).get(order) } as unknown as Receipt;
  }

  /** Every time that it has paid this order back. */
  refunds(order: string): readonly Receipt[] {
    const rows = this.#database.prepare('SELECT * FROM refunds WHERE "order" = ? ORDER BY id').all(order);
    return rows.map((row) => ({ ...row }) as unknown as Receipt);
  }

  /** For tests: no order was ever paid back. */
  reset(): void {
    this.#database.exec("DELETE FROM refunds");
  }

  close(): void {
    this.#opened?.close();
    this.#opened = undefined;
  }

  get #database(): DatabaseSync {
    return (this.#opened ??= openWorld("shop", SCHEMA, this.#folder));
  }
}
