/** Opens the one SQLite file of a home, and brings its schema up to date: numbered migrations, forward only. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { StoreError } from "../errors.ts";

const migrations = ["001-first.sql"];

/** Of a database that this version has written, or brought up to date. */
export const schemaVersion = migrations.length;

/** WAL, and every commit is on disk when it returns. Only the writer waits for locks. */
export function openWritable(file: string): DatabaseSync {
  return open(file, { timeout: 5000 }, (database) => {
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 4000;
      PRAGMA cache_size = -65536;
      PRAGMA temp_store = MEMORY;
      PRAGMA secure_delete = FAST;
    `);
    migrate(database, file);
  });
}

/** Sees what is committed, and writes nothing. */
export function openReadOnly(file: string): DatabaseSync {
  return open(file, { readOnly: true }, (database) =>
    database.exec("PRAGMA cache_size = -32768; PRAGMA mmap_size = 268435456; PRAGMA query_only = ON;"),
  );
}

/** @throws StoreError `store.broken`: it cannot be opened, or is found to be no database once it is. */
function open(
  file: string,
  options: { readOnly?: boolean; timeout?: number },
  prepare: (database: DatabaseSync) => void,
): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, options);
    prepare(database);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StoreError) throw error;
    throw new StoreError("store.broken", `${file} cannot be used as a database: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** @throws StoreError `store.newer`. */
export function migrate(database: DatabaseSync, file: string): void {
  const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (found > migrations.length) {
    throw new StoreError(
      "store.newer",
      `${file} was written by a newer version of Nylorun (schema ${found}, this one knows ${migrations.length}): use that version, or another home.`,
    );
  }
  migrations.slice(found).forEach((name, index) => {
    const sql = readFileSync(new URL(`./migrations/${name}`, import.meta.url), "utf8");
    database.exec(`BEGIN IMMEDIATE;\n${sql}\nPRAGMA user_version = ${found + index + 1};\nCOMMIT;`);
  });
}
