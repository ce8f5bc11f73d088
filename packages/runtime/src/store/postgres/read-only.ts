/** Looks into the database that nodes share: it sees what is committed, holds up nobody, and may change nothing. */
import type { StoredTurns } from "../stored-turns.ts";
import { Clock } from "./clock.ts";
import { Connections } from "./connections.ts";
import type { Ask } from "./connections.ts";
import { findBlob } from "./holdings.ts";
import { Lists } from "./lists.ts";
import { Reader } from "./reader.ts";
import { isUpToDate } from "./schema.ts";

export interface ReadOnlyOptions {
  readonly url: string;
  /** Where the tables are. Default: `nylorun`. */
  readonly schema?: string;
}

/** Who looks in needs few connections, and may wait. */
const most = 4;
const patienceMs = 10_000;

/**
 * @returns Undefined when no node has served from it yet.
 * @throws StoreError `store.newer`, `store.older`, `store.broken`.
 */
export async function openStoredTurns({ url, schema = "nylorun" }: ReadOnlyOptions): Promise<StoredTurns | undefined> {
  if (!(await isUpToDate({ url, schema }))) return undefined;
  const connections = new Connections({ url, schema, most, patienceMs, readOnly: true });
  const read: Ask = (text, values) => connections.read(text, values);
  const reader = new Reader(connections);
  const lists = new Lists(read);
  const clock = new Clock();
  await clock.set(async () => (await connections.read("SELECT clock(NULL) AS now"))[0]!["now"] as number);
  return {
    loadTurn: (key) => reader.turn(key),
    loadJournal: (key, from) => reader.journal(key, from),
    loadEarlier: (key, limit) => reader.earlier(key, limit),
    listUnfinished: (query) => lists.unfinished(query),
    files: { find: findBlob(read) },
    secret: (name) => reader.secret(name),
    now: () => clock.now(),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}
