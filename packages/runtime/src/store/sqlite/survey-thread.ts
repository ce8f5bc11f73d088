import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

import { damageOf } from "./damage.ts";
import type { Surveyed, SurveyResult, Task } from "./survey.ts";

const { file, task } = workerData as { readonly file: string; readonly task: Task };
let result: SurveyResult;
try {
  // Not query_only: a copy is written by the connection that reads.
  using database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  result = task.do === "copy" ? copy(database, task.to) : { problems: damageOf(database, task) };
} catch (error) {
  result = { failed: (error as Error).message };
}
parentPort!.postMessage(result);

/** The file is there when it is whole and on disk, and not before. */
function copy(database: DatabaseSync, to: string): Surveyed {
  if (existsSync(to)) throw new Error(`There is a file at ${to} already`);
  if (!existsSync(dirname(to))) throw new Error(`There is no folder ${dirname(to)}`);
  // Its own: a file of that name may be somebody's, or another copy's that is being made.
  const part = `${to}.${randomUUID()}.part`;
  try {
    // It holds the keys of everything, as the home does.
    closeSync(openSync(part, "wx", 0o600));
    database.prepare("VACUUM INTO ?").run(part);
    {
      using written = new DatabaseSync(part, { readOnly: true });
      const problems = damageOf(written);
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

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
