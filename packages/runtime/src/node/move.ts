/** Moves what a home holds to a database that many nodes share. */
import { existsSync } from "node:fs";

import { createLocalSignal } from "../store/local-signal.ts";
import type { Imported, ImportOptions } from "../store/postgres/import.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { RuntimeError } from "./errors.ts";
import { checkNotMoved, isHome, markMoved, missingHome, takeHome } from "./home.ts";
import type { Settings } from "./settings.ts";

/**
 * Writes all that a home holds to a file, and marks the home: it is not served any more. Nobody may serve it now.
 *
 * @throws RuntimeError `home.missing`, `home.taken`, `home.moved`; StoreError.
 */
export async function exportHome(folder: string, file: string): Promise<void> {
  if (!isHome(folder)) throw missingHome(folder);
  using home = await takeHome(folder, { purpose: "command", patienceMs: 0 });
  checkNotMoved(home.folder);
  await using store = await openSqliteStore({ file: home.database, signal: createLocalSignal() });
  await store.backup?.(file);
  markMoved(home.folder, file);
}

/**
 * Carries what `nylorun export` wrote into the database that the settings name. What was interrupted goes on.
 *
 * @throws RuntimeError `setting.invalid`; StoreError.
 */
export async function importHome(
  file: string,
  { databaseUrl: url, databaseSchema: schema }: Settings,
  onProgress: NonNullable<ImportOptions["onProgress"]>,
): Promise<Imported> {
  if (url === undefined)
    throw new RuntimeError("setting.invalid", "Say into which database: NYLORUN_DATABASE_URL=postgres://….");
  if (!existsSync(file)) throw new RuntimeError("request.invalid", `There is no file ${file}.`);
  const [{ importInto }, { openSource }] = await Promise.all([
    import("../store/postgres/import.ts"),
    import("../store/sqlite/source.ts"),
  ]);
  using source = openSource(file);
  return await importInto({ url, schema, source, onProgress });
}
