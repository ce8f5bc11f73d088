/**
 * Looks into a database that may be another process's: it sees what is committed, waits for nobody, and changes nothing.
 */
import { existsSync, statSync } from "node:fs";

import { StoreError } from "../errors.ts";
import type { StoredTurns } from "../stored-turns.ts";
import { openReadOnly, schemaVersion } from "./database.ts";
import { Lists } from "./lists.ts";
import { Reader } from "./reader.ts";

/**
 * @returns Undefined when there is no database yet, or nothing in it.
 * @throws StoreError `store.newer`, `store.older`, `store.broken`.
 */
export function openStoredTurns(file: string): StoredTurns | undefined {
  if (!existsSync(file) || statSync(file).size === 0) return undefined;
  const database = openReadOnly(file);
  try {
    const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
    if (found === 0) {
      database.close();
      return undefined;
    }
    if (found !== schemaVersion) throw otherVersion(file, found);
    const reader = new Reader(database);
    const lists = new Lists(reader);
    return {
      loadTurn: async (key) => reader.turn(key),
      loadJournal: async (key, from) => reader.journal(key, from),
      loadEarlier: async (key, limit) => reader.earlier(key, limit),
      listUnfinished: async (query) => lists.unfinished(query),
      files: { find: async (key, sha256) => reader.blob(key, sha256) },
      secret: async (name) => reader.secret(name),
      now: Date.now,
      [Symbol.asyncDispose]: async () => reader.close(),
    };
  } catch (error) {
    if (database.isOpen) database.close();
    if (error instanceof StoreError) throw error;
    throw new StoreError("store.broken", `${file} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

function otherVersion(file: string, found: number): StoreError {
  const which = `${file} is of schema ${found}, and this version of Nylorun reads ${schemaVersion}`;
  return found > schemaVersion
    ? new StoreError("store.newer", `${which}: use the version that wrote it.`)
    : new StoreError("store.older", `${which}: use the version that wrote it, or serve it once with this one.`);
}
