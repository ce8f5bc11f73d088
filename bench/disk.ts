/** What the disk allows: a durable server confirms nothing faster than the disk confirms a commit. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { median } from "./figures.ts";

/** Milliseconds that one small commit takes with SQLite's `synchronous = FULL`, in this folder. */
export function timeCommit(folder: string): number {
  using database = new DatabaseSync(join(folder, "disk.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (v TEXT)");
  const insert = database.prepare("INSERT INTO t VALUES ('a commit')");
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    insert.run();
    return performance.now() - start;
  });
  return median(times);
}
