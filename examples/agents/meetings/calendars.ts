/** The calendars that meetings.ts books in. They honour idempotency keys: a booking with a key that they know is that booking. */
import type { DatabaseSync } from "node:sqlite";

import { openWorld } from "../world/world.ts";

export interface Meeting {
  readonly id: number;
  readonly owner: string;
  readonly slot: string;
  readonly guest: string;
}

export interface Booking extends Omit<Meeting, "id"> {
  /** Of this very booking, however often it is asked for. */
  readonly key: string;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS connections (owner TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS meetings (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, slot TEXT NOT NULL, guest TEXT NOT NULL,
    UNIQUE (owner, slot)
  )`;

const HOURS = [10, 14];
const DAY = 24 * 60 * 60 * 1000;

export class Calendars {
  readonly #folder: string | undefined;
  #opened: DatabaseSync | undefined;

  /** Opened at their first use. */
  constructor(folder?: string) {
    this.#folder = folder;
  }

  /** What the owner does, outside of any task: see connect.ts. */
  connect(owner: string): void {
    this.#database.prepare("INSERT OR IGNORE INTO connections VALUES (?)").run(owner);
  }

  isConnected(owner: string): boolean {
    return this.#database.prepare("SELECT 1 FROM connections WHERE owner = ?").get(owner) !== undefined;
  }

  /** The next three free times on working days after this one, such as `2026-12-01 10:00 UTC`. */
  free(owner: string, after: Date): readonly string[] {
    const taken = new Set(this.meetings(owner).map(({ slot }) => slot));
    const found: string[] = [];
    for (let day = after.getTime() + DAY; found.length < 3; day += DAY) {
      const date = new Date(day);
      if (date.getUTCDay() % 6 === 0) continue;
      found.push(
        ...HOURS.map((hour) => `${date.toISOString().slice(0, 10)} ${hour}:00 UTC`).filter((slot) => !taken.has(slot)),
      );
    }
    return found.slice(0, 3);
  }

  /** Undefined when the time is no longer free. */
  book({ key, owner, slot, guest }: Booking): Meeting | undefined {
    const insert = "INSERT OR IGNORE INTO meetings (key, owner, slot, guest) VALUES (?, ?, ?, ?)";
    this.#database.prepare(insert).run(key, owner, slot, guest);
    const row = this.#database.prepare("SELECT id, owner, slot, guest FROM meetings WHERE key = ?").get(key);
    return row && ({ ...row } as unknown as Meeting);
  }

  meetings(owner: string): readonly Meeting[] {
    const select = "SELECT id, owner, slot, guest FROM meetings WHERE owner = ? ORDER BY id";
    return this.#database
      .prepare(select)
      .all(owner)
      .map((row) => ({ ...row }) as unknown as Meeting);
  }

  /** For tests: none is connected, nothing is booked. */
  reset(): void {
    this.#database.exec("DELETE FROM meetings; DELETE FROM connections");
  }

  close(): void {
    this.#opened?.close();
    this.#opened = undefined;
  }

  get #database(): DatabaseSync {
    return (this.#opened ??= openWorld("calendars", SCHEMA, this.#folder));
  }
}
