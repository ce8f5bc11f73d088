/** What can be asked of turns without writing: of a database that others serve from, and that stays as it is. */
import type { FileStore } from "./files.ts";
import type { Store } from "./store.ts";

export interface StoredTurns
  extends Pick<Store, "loadTurn" | "loadJournal" | "loadEarlier" | "listUnfinished" | "now">, AsyncDisposable {
  readonly files: Pick<FileStore, "find">;
  /** Undefined: it was never made. */
  secret(name: string): Promise<Uint8Array | undefined>;
}
