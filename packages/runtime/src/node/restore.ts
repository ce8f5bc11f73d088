/** Makes a home out of a backup. */
import { statSync } from "node:fs";

import { restoreDatabase } from "../store/sqlite/restore.ts";
import type { Restored } from "../store/sqlite/restore.ts";
import { RuntimeError } from "./errors.ts";
import { checkFile, databaseOf, takeHome } from "./home.ts";

/**
 * @param file What `nylorun backup` wrote. It stays as it is.
 * @param folder Of the home; there may be one, but nothing in it.
 * @throws RuntimeError `home.notEmpty`, `home.taken`, `home.unusable`; StoreError `store.broken`, `store.newer`.
 */
export async function restoreHome(file: string, folder: string): Promise<Restored> {
  using home = await takeHome(folder, { purpose: "command", patienceMs: 0 });
  // A home begins with an empty file.
  if (statSync(databaseOf(home.folder), { throwIfNoEntry: false })?.size) {
    throw new RuntimeError(
      "home.notEmpty",
      `The home ${folder} holds something already, and a restore would replace it. Choose another one with --home.`,
    );
  }
  checkFile(file);
  return restoreDatabase(file, home.database);
}
