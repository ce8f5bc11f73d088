import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

import { isDamage } from "./disk.ts";
import type { Surveyed, SurveyResult, Task } from "./survey.ts";

/** Tables that grow with what is stored: of a large database the others are looked at. */
const large = new Set(["journal", "messages", "turns"]);
/** What is told of what is wrong. */
const mostProblems = 20;

const { file, task } = workerData as { readonly file: string; readonly task: Task };
let result: SurveyResult;
try {
  // Not query_only: a copy is written by the connection that reads.
  using database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  result = task.do === "copy" ? copy(database, task.to) : check(database, task.most);
} catch (error) {
  result = { failed: (error as Error).message };
}
parentPort!.postMessage(result);

/** The file is there when it is whole and on disk, and not before. */
function copy(database: DatabaseSync, to: string): Surveyed {
  if (existsSync(to)) throw new Error(`There is a file at ${to} already`);
  const part = `${to}.part`;
  rmSync(part, { force: true });
  try {
    // It holds the keys of everything, as the home does.
    closeSync(openSync(part, "wx", 0o600));
    database.prepare("VACUUM INTO ?").run(part);
    {
      using written = new DatabaseSync(part, { readOnly: true });
      const { problems } = check(written, Number.POSITIVE_INFINITY);
      if (problems.length > 0) throw new Error(`What is stored is not whole: ${problems[0]}`);
    }
    sync(part);
    // Unlike a rename, it replaces nothing that came to be there meanwhile.
    linkSync(part, to);
    sync(dirname(to));
  } finally {
    rmSync(part, { force: true });
  }
  return { problems: [] };
}

function check(database: DatabaseSync, most: number): Surveyed {
  const problems: string[] = [];
  try {
    const number = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0]);
    const bytes = number("page_count") * number("page_size");
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables as unknown as { name: string }[]) {
      if (bytes > most && large.has(name)) continue;
      const rows = database.prepare(`PRAGMA quick_check("${name}")`).all();
      problems.push(...rows.map((row) => String(Object.values(row)[0])).filter((row) => row !== "ok"));
      if (problems.length >= mostProblems) break;
    }
  } catch (error) {
    // Locked, or out of reach: that says nothing about what is stored.
    if (!isDamage(error)) throw error;
    // So damaged that it cannot be looked through.
    problems.push((error as Error).message);
  }
  return { problems: problems.slice(0, mostProblems) };
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
