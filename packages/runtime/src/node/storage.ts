/** Where turns are kept: in a file of the home, or in a database that many nodes share. */
import type { StoreError } from "../store/errors.ts";
import { createLocalSignal } from "../store/local-signal.ts";
import type { Signal } from "../store/signal.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import type { DiskRoom } from "./disk-room.ts";
import { checkNotMoved } from "./home.ts";
import type { Home } from "./home.ts";
import type { Log } from "./log.ts";
import type { Settings } from "./settings.ts";

export interface StorageOptions {
  readonly home: Home;
  readonly settings: Settings;
  readonly disk: DiskRoom;
  readonly log: Log;
  /** Told how long a write took, in milliseconds. */
  readonly onWrite: (ms: number) => void;
  /** See {@link CoreOptions.onBroken}. */
  readonly onBroken: ((error: StoreError) => void) | undefined;
}

export interface Storage extends AsyncDisposable {
  readonly store: Store;
  readonly signal: Signal;
}

/** @throws StoreError `store.newer`, `store.broken`, `store.unavailable`, `store.importing`. RuntimeError `home.moved`. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  await using opened = new AsyncDisposableStack();
  const { databaseUrl } = options.settings;
  const signal = opened.use(
    databaseUrl === undefined ? createLocalSignal() : await openSharedSignal(databaseUrl, options),
  );
  const opening = databaseUrl === undefined ? openFile(signal, options) : openDatabase(databaseUrl, signal, options);
  const store = opened.use(await opening);
  const stack = opened.move();
  return { store, signal, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function openFile(signal: Signal, { home, disk, log, onWrite, onBroken }: StorageOptions): Promise<Store> {
  checkNotMoved(home.folder);
  return openSqliteStore({
    file: home.database,
    signal,
    hasRoom: () => disk.isThere,
    onWrite,
    onBroken(error) {
      log.error({ error }, "The disk, or the database on it, failed. Look after the disk; a backup may be needed.");
      onBroken?.(error);
    },
  });
}

async function openDatabase(url: string, signal: Signal, { settings, log, onWrite }: StorageOptions): Promise<Store> {
  const { openPostgresStore } = await import("../store/postgres/store.ts");
  return openPostgresStore({
    url,
    schema: settings.databaseSchema,
    connections: settings.databaseConnections,
    signal,
    onWrite,
    onTrouble: (error) => log.warn({ error }, "The database does not answer; it is asked again."),
  });
}

async function openSharedSignal(url: string, { settings, log }: StorageOptions): Promise<Signal> {
  const { openPostgresSignal } = await import("../store/postgres/signal.ts");
  return openPostgresSignal({
    url,
    schema: settings.databaseSchema,
    onTrouble: (error) => log.warn({ error }, "Signals of other nodes do not come in; they are listened for again."),
  });
}
