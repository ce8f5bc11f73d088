/**
 * The world outside of the example agents: what a shop or a calendar keeps. A real agent calls a real service in its place. Here
 * it is one small SQLite file each, so that what the agents do really happens, outlives them, and can be looked at:
 *
 *     sqlite3 examples/agents/world/shop.db 'SELECT * FROM refunds'
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * @param schema What the file is made with, should it be new.
 * @param folder Default: `EXAMPLES_WORLD` in the environment, else this file's own folder.
 */
export function openWorld(
  name: string,
  schema: string,
  folder = process.env["EXAMPLES_WORLD"] ?? import.meta.dirname,
): DatabaseSync {
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, `${name}.db`), { timeout: 5000 });
  database.exec(`BEGIN IMMEDIATE; ${schema}; COMMIT`);
  return database;
}
