/** Moves what a home holds to a database that many nodes share. */
import type { FilesApart } from "../http/operations.ts";
import { StoreError } from "../store/errors.ts";
import { createLocalSignal } from "../store/local-signal.ts";
import type { Imported, ImportOptions } from "../store/postgres/import.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { RuntimeError } from "./errors.ts";
import { filePlaceOf } from "./files.ts";
import { checkFile, checkNotMoved, isHome, markMoved, missingHome, takeHome } from "./home.ts";
import type { Settings } from "./settings.ts";

/**
 * Writes all that a home holds to a file, and marks the home: it is not served any more. Nobody may serve it now.
 *
 * @throws RuntimeError `home.missing`, `home.taken`, `home.moved`; StoreError.
 */
export async function exportHome(settings: Settings, file: string): Promise<FilesApart> {
  const { home: folder } = settings;
  if (!isHome(folder)) throw missingHome(folder);
  using home = await takeHome(folder, { purpose: "command", patienceMs: 0 });
  checkNotMoved(home.folder);
  await using store = await openSqliteStore({ file: home.database, signal: createLocalSignal() });
  await store.backup?.(file).catch((error: unknown) => {
    const why = (error as Error).message;
    throw new StoreError("store.failed", `The export was not written: ${why}. The home is as it was.`, {
      cause: error,
    });
  });
  const { fileBytes } = await store.measure();
  markMoved(home.folder, file);
  return { bytes: fileBytes, place: filePlaceOf(home.folder, settings) };
}

export interface Moved extends Imported {
  /** Which it needs, and where nodes with these settings look for them: undefined where each has its own place. */
  readonly files: { readonly bytes: number; readonly place: string | undefined };
}

/**
 * Carries what `nylorun export` wrote into the database that the settings name. What was interrupted goes on.
 *
 * @throws RuntimeError `setting.invalid`; StoreError.
 */
export async function importHome(
  file: string,
  settings: Settings,
  onProgress: NonNullable<ImportOptions["onProgress"]>,
): Promise<Moved> {
  const { databaseUrl: url, databaseSchema: schema, fileFolder, s3Url } = settings;
  if (url === undefined)
    throw new RuntimeError("setting.invalid", "Say into which database: NYLORUN_DATABASE_URL=postgres://….");
  checkFile(file);
  const [{ importInto }, { openSource }] = await Promise.all([
    import("../store/postgres/import.ts"),
    import("../store/sqlite/source.ts"),
  ]);
  using source = openSource(file);
  const imported = await importInto({ url, schema, source, onProgress });
  return { ...imported, files: { bytes: source.fileBytes, place: s3Url ?? fileFolder } };
}
