/**
 * The Store in memory: for tests of agents, where every run begins with nothing and ends with the process. It keeps every promise
 * of the port but to outlive the process.
 *
 * Writes take effect together, at the end of the event loop's turn in which they were asked for, as a database's group commit would
 * have it: an engine that works on this one finds the same order of things.
 */
import type { TurnKey } from "../../turn/record.ts";
import { StoreError } from "../errors.ts";
import type { Signal } from "../signal.ts";
import type { KeyHolder, KeyRecord, Session, Store } from "../store.ts";
import { copy } from "./copy.ts";
import { countsOf, earlierOf, pageOf, queuesOf, troubledOf, unfinishedOf } from "./lists.ts";
import { Memory } from "./memory.ts";

export interface MemoryStoreOptions {
  readonly signal: Signal;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly now?: () => number;
}

/** What outlives a node: the next one goes on with it. */
export interface MemoryHome {
  /** A node of its own; any number may be open at once. */
  open(options: MemoryStoreOptions): Store;
  /** The nodes that were opened so far are no more: what they ran is due. */
  endLeases(now: number): void;
}

export function createMemoryHome(): MemoryHome {
  const memory = new Memory();
  const shelf: Shelf = { keys: [], sessions: new Map(), secrets: new Map() };
  let nodes = 0;
  return {
    open: (options) => openStore({ memory, shelf, node: `node-${++nodes}`, ...options }),
    endLeases: (now) => memory.schedule.endLeases(now),
  };
}

interface Shelf {
  keys: { readonly hash: string; record: KeyRecord }[];
  readonly sessions: Map<string, Session>;
  readonly secrets: Map<string, { readonly value: Uint8Array; readonly createdAt: number }>;
}

interface Opening extends MemoryStoreOptions {
  readonly memory: Memory;
  readonly shelf: Shelf;
  readonly node: string;
}

function openStore({ memory, shelf, node, signal, now = Date.now }: Opening): Store {
  const write = createWriter(() => {
    if (memory.outbox.announced()) signal.announced();
  });
  const asker = () => ({ node, now: now() });
  const turnOf = (key: TurnKey) => memory.turn(key)!;
  return {
    readsAreCurrent: true,
    now,

    async accept(accept) {
      const by = asker();
      const owned = { ...accept, message: copy(accept.message) };
      const accepted = await write(() => memory.accept(owned, by));
      if (accepted.kind !== "accepted") return accepted;
      signal.turnChanged(accepted.turn);
      if (accepted.turn.state === "running" && !accepted.claim) signal.due();
      return accepted;
    },

    async commit(change) {
      const by = asker();
      const { entries, view } = change;
      const owned = { ...change, ...(entries && { entries: copy(entries) }), ...(view && { view: copy(view) }) };
      const [committed, due] = await write(() => memory.commit(owned, by));
      if (committed.kind !== "committed") return committed;
      signal.turnChanged(change.key);
      if (due) signal.due();
      if (committed.next) signal.turnChanged(committed.next.turn);
      return committed;
    },

    claimDue({ limit, ...options }) {
      const by = asker();
      return write(() => memory.schedule.claimDue(limit, options, by));
    },

    claimSuspect({ leaseMs }) {
      const by = asker();
      return write(() => memory.schedule.claimSuspect(leaseMs, by));
    },

    renew(leases, leaseMs) {
      const until = now() + leaseMs;
      return write(() => memory.schedule.renew(leases, until, node));
    },

    async drained(key) {
      const { now: at } = asker();
      if (await write(() => memory.schedule.drained(key, at))) signal.due();
    },

    findMessage: async (key) => memory.findMessage(key, now()),
    nextDue: async (after) => memory.schedule.nextDue(asker(), after),
    loadTurn: async (key) => memory.turn(key),
    loadJournal: async (key, from) => memory.journal(key, from),
    loadEarlier: async (key, limit) => copy(earlierOf(memory.records(), key, limit)),
    listTurns: async (query) => copy(pageOf(memory.records(), query)),
    listTroubled: async (limit, after = 0) => copy(troubledOf(memory.records(), limit, after)),
    listQueues: async (limit) => queuesOf(memory.schedule.contexts, memory.records(), limit),
    listUnfinished: async (query) => copy(unfinishedOf(memory.records(), query)),

    forget: (step) => write(() => memory.forget(step)),

    erase(what) {
      const at = now();
      return write(() => {
        const erased = memory.erase(what, at);
        if (what.what !== "subject" || erased.kind === "running") return erased;
        memory.usage.drop(what.subject);
        const before = shelf.keys.length;
        shelf.keys = shelf.keys.filter(
          ({ record: { holder } }) => !("subject" in holder) || holder.subject !== what.subject,
        );
        return erased.kind === "unknown" && shelf.keys.length < before ? { kind: "erased", turns: 0 } : erased;
      });
    },

    usage: async (query) => memory.usage.of(query),
    measure: async () => ({
      turns: countsOf(memory.records()),
      ...memory.schedule.ready(),
      deliveries: memory.outbox.figures(),
      bytes: undefined,
      freeBytes: undefined,
      fileBytes: memory.holdings.bytes,
    }),
    check: async () => [],
    backup: undefined,

    keys: {
      add({ hash, holder }) {
        const createdAt = now();
        return write(() => addKey(shelf, { hash, holder, createdAt }));
      },
      list: async () => structuredClone(shelf.keys.map(({ record }) => record)),
      revoke(id) {
        const revokedAt = now();
        return write(() => {
          const key = shelf.keys.find(({ record }) => record.id === id && record.revokedAt === undefined);
          if (key !== undefined) key.record = { ...key.record, revokedAt };
          return key !== undefined;
        });
      },
      find: async (hash) =>
        structuredClone(shelf.keys.find((key) => key.hash === hash && key.record.revokedAt === undefined)?.record),
    },

    sessions: {
      add(session) {
        const at = now();
        const owned = structuredClone(session);
        return write(() => {
          for (const [hash, { expiresAt }] of shelf.sessions) if (expiresAt <= at) shelf.sessions.delete(hash);
          if (shelf.sessions.has(owned.hash)) {
            throw new StoreError("store.failed", "A write failed: there is a session with this hash.");
          }
          shelf.sessions.set(owned.hash, owned);
        });
      },
      async find(hash) {
        const session = shelf.sessions.get(hash);
        return session !== undefined && session.expiresAt > now() ? structuredClone(session) : undefined;
      },
      remove: (hash) => write(() => shelf.sessions.delete(hash)),
    },

    files: {
      hold(hold) {
        const at = now();
        return write(() => memory.hold(hold, at));
      },
      find: async (key, sha256) => memory.holdings.find(key, sha256),
      lastVersion: async (context, path) => memory.holdings.lastVersion(context, path),
      condemn(limit) {
        const at = now();
        return write(() => memory.holdings.condemn(limit, at));
      },
      gone: (blobs) => write(() => memory.holdings.gone(blobs)),
    },

    push: {
      put(key, target) {
        const at = now();
        const owned = copy(target);
        return write(() => {
          const record = memory.turn(key);
          return record === undefined ? "unknown" : memory.outbox.put(record, owned, at);
        });
      },
      list: async (key) => copy(memory.outbox.list(key)),
      remove: (key, id) => write(() => memory.outbox.remove(key, id)),
      claim(claim) {
        const at = now();
        return write(() => copy(memory.outbox.claim(claim, at, turnOf)));
      },
      settle(attempt, outcome) {
        const at = now();
        return write(() => memory.outbox.settle(attempt, outcome, at));
      },
      nextDue: async (after) => memory.outbox.nextDue(after),
      deliveries: async ({ givenUp, limit }) => memory.outbox.deliveries(givenUp, limit, turnOf),
      resend(delivery) {
        const at = now();
        return write(() => memory.outbox.resend(delivery, at));
      },
    },

    secrets: async (prefix) =>
      [...shelf.secrets]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, { value, createdAt }]) => ({ name, value: value.slice(), createdAt })),

    async secret(name, make) {
      const found = shelf.secrets.get(name);
      if (found !== undefined) return found.value.slice();
      const made = { value: make().slice(), createdAt: now() };
      return write(() => {
        const kept = shelf.secrets.get(name) ?? made;
        shelf.secrets.set(name, kept);
        return kept.value.slice();
      });
    },

    [Symbol.asyncDispose]: () => write.close(),
  };
}

function addKey(
  { keys }: Shelf,
  { hash, holder, createdAt }: { readonly hash: string; readonly holder: KeyHolder; readonly createdAt: number },
): KeyRecord {
  if (keys.some((key) => key.hash === hash)) {
    throw new StoreError("store.failed", "A write failed: there is a key with this hash.");
  }
  const record = {
    id: String(Number(keys.at(-1)?.record.id ?? 0) + 1),
    holder: structuredClone(holder),
    createdAt,
    revokedAt: undefined,
  };
  keys.push({ hash, record });
  return structuredClone(record);
}

interface Writer {
  <Result>(operation: () => Result): Promise<Result>;
  /** Resolves when everything that was asked for is done; nothing is taken any more. */
  close(): Promise<void>;
}

/**
 * Operations in the order in which they were asked for, those of one turn of the event loop at once.
 *
 * @param written Told after each lot.
 */
function createWriter(written: () => void): Writer {
  let queue: (() => void)[] = [];
  let closed = false;
  const run = () => {
    const batch = queue;
    queue = [];
    for (const operation of batch) operation();
    written();
  };
  const write = <Result>(operation: () => Result): Promise<Result> => {
    if (closed) return Promise.reject(new StoreError("store.closed", "The store is closed."));
    return new Promise((resolve, reject) => {
      queue.push(() => {
        try {
          resolve(operation());
        } catch (error) {
          reject(error);
        }
      });
      if (queue.length === 1) setImmediate(run);
    });
  };
  const close = async () => {
    closed = true;
    while (queue.length > 0) await new Promise((resolve) => setImmediate(resolve));
  };
  return Object.assign(write, { close });
}
