import { existsSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const BUSY = 5;

// A database that is garbage-collected is closed, and its lock lost, so whatever is locked is known here.
const locked = new Set<DatabaseSync>();

/**
 * Locks a file for this process, until the lock is disposed of or the process ends, however it ends: the operating system
 * drops the lock with the process, so that none is ever stale. It is an exclusive transaction on an empty database, because
 * Node has no other way to lock a file.
 *
 * @param file Made if there is none. Nothing else may open it: a process that closes a file loses all its locks on it.
 * @returns Undefined when the file is locked already, be it by this process.
 * @throws When the file cannot be made or is no such file.
 */
export function tryLock(file: string): Disposable | undefined {
  if (!existsSync(file)) makeEmpty(file);
  const database = new DatabaseSync(file);
  try {
    // Without a journal file beside it: nothing is ever written.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === BUSY) return undefined;
    throw error;
  }
  locked.add(database);
  return {
    [Symbol.dispose]() {
      if (locked.delete(database)) database.close();
    },
  };
}

function makeEmpty(file: string): void {
  try {
    writeFileSync(file, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    // Somebody was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
