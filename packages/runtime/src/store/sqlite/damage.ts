/** Whether what is stored is whole: its pages, and what stands in them. */
import type { DatabaseSync } from "node:sqlite";

import { isDamage } from "./disk.ts";

export interface DamageOptions {
  /** Of a database of more bytes, only what does not grow with what is stored is looked at. Default: all of any. */
  readonly most?: number;
  /** Also whether indexes lead to all rows, which takes longer. */
  readonly indexes?: boolean;
}

/** Tables that grow with what is stored. */
const large = new Set(["journal", "messages", "turns"]);
/** What is told of what is wrong. */
const mostProblems = 20;

/** What is wrong, in SQLite's words. @throws When it cannot be looked at now. */
export function damageOf(database: DatabaseSync, options: DamageOptions = {}): readonly string[] {
  const { most = Number.POSITIVE_INFINITY, indexes = false } = options;
  const look = indexes ? "integrity_check" : "quick_check";
  const problems: string[] = [];
  try {
    const number = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0]);
    const bytes = number("page_count") * number("page_size");
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables as unknown as { name: string }[]) {
      if (bytes > most && large.has(name)) continue;
      const rows = database.prepare(`PRAGMA ${look}("${name.replaceAll('"', '""')}")`).all();
      problems.push(...rows.map((row) => String(Object.values(row)[0])).filter((row) => row !== "ok"));
      if (problems.length >= mostProblems) break;
    }
  } catch (error) {
    // Locked, or out of reach: that says nothing about what is stored.
    if (!isDamage(error)) throw error;
    // So damaged that it cannot be looked through.
    problems.push((error as Error).message);
  }
  return problems.slice(0, mostProblems);
}
