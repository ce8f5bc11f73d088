/** `node:sqlite` in the shape that Kysely's SQLite dialect takes, and the SDK's own schema in it. */
import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { fileURLToPath } from "node:url";

import { SqliteDialect } from "kysely";
import type { SqliteDatabase, SqliteStatement } from "kysely";

/**
 * Opens a database that keeps what it confirmed, power cuts included: the same promise as Nylorun's.
 * Each statement is prepared once, which Kysely by itself does not do.
 */
export function openDatabase(file: string): SqliteDialect {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  database.exec(taskSchema());
  return new SqliteDialect({ database: adapt(database) });
}

function adapt(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(sql) {
      let statement = prepared.get(sql);
      if (statement === undefined) prepared.set(sql, (statement = statementOf(database.prepare(sql))));
      return statement;
    },
  };
}

function statementOf(statement: StatementSync): SqliteStatement {
  const bind = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bind(parameters)),
    run: (parameters) => statement.run(...bind(parameters)),
    iterate: (parameters) => statement.iterate(...bind(parameters)),
  };
}

/** As the SDK's own tool writes it. */
function taskSchema(): string {
  const tool = fileURLToPath(new URL("cli/a2a_db.js", import.meta.resolve("@a2a-js/sdk")));
  return execFileSync(process.execPath, [tool, "upgrade", "--sql", "--dialect", "sqlite", "--store", "tasks"], {
    encoding: "utf8",
  });
}
