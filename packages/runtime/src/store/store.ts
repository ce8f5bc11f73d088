/**
 * The Store port: a few semantic operations, each one atomic, each one durable when its promise resolves (I1).
 *
 * It owns what is due when: `claimDue` is the only scheduler there is, on one machine and on many. It knows nothing of agents,
 * HTTP or A2A; the engine decides, the store compares and sets (I5, E18).
 */
import type { TaskState, TurnState } from "@nylorun/protocol";

import type { Entry } from "../turn/journal.ts";
import type { Claim, StoredMessage, TurnKey, TurnRecord, TurnView } from "../turn/record.ts";
import type { FileStore, Output } from "./files.ts";
import type { PushStore, PushTarget } from "./push.ts";

/** What one subject may have. Nothing of it is taken from others: a subject that reaches a limit is told so. */
export interface SubjectLimits {
  /** Turns that have not begun: they wait for an earlier turn of their context, or for a node. */
  readonly queued: number;
  /** Of messages, views, journals and files. */
  readonly bytes: number;
}

/** What a node that claims has room for, and how it is shared between subjects: see {@link hasShare}. */
export interface Share {
  /** How many more turns the node may run. */
  readonly room: number;
  /** How many turns of one subject may run on the node at most. */
  readonly most: number;
  /** How many turns of each subject it runs. */
  readonly running: ReadonlyMap<string, number>;
}

/**
 * Whether a node may run one more turn of a subject: while it has fewer than three times what is free. So whoever comes next finds
 * room, however long the turns of those before take; and one subject that is alone has three quarters of the node.
 *
 * @param has Turns of the subject that the node runs.
 */
export function hasShare(has: number, room: number, most: number): boolean {
  return room > 0 && has < Math.min(most, Math.max(1, 3 * room));
}

/** A turn that so many processes died with runs alone: one more, and nothing else can have been the cause (E17). */
export const suspectDeaths = 2;

export interface Store extends AsyncDisposable {
  /**
   * Takes a message that begins a turn: deduplicates it, finds or makes its context, and makes the turn active, or queues
   * it, in one transaction.
   */
  accept(message: Accept): Promise<Accepted>;

  /** The turn that a message with this key began or answered, if it was seen within the dedupe window. */
  findMessage(key: MessageKey): Promise<Seen | undefined>;

  /**
   * Claims up to `limit` contexts that are due for `leaseMs`: of each subject in its turn, the oldest first. Counts a death for each whose lease a node did not
   * live to renew; passes over suspects: those whose active turn has {@link suspectDeaths} or more (E17).
   */
  claimDue(options: {
    readonly limit: number;
    readonly leaseMs: number;
    /** Default: whoever is due may have all. */
    readonly share?: Share;
  }): Promise<readonly Claim[]>;

  /** Claims the oldest suspect that is due: for a node that runs nothing else. */
  claimSuspect(options: { readonly leaseMs: number }): Promise<Claim | undefined>;

  /** Prolongs this node's leases. Returns those contexts whose lease is lost. */
  renew(
    contexts: readonly { readonly context: number; readonly epoch: number }[],
    leaseMs: number,
  ): Promise<readonly number[]>;

  /** The one way to change a turn that exists: a compare-and-set of its journal, projection, state and schedule. */
  commit(change: Commit): Promise<Committed>;

  /** The function of a turn that somebody else ended has settled (E16): its context goes on. */
  drained(key: TurnKey): Promise<void>;

  /**
   * When there is something to claim next, and whether a suspect waits for a node to itself now.
   *
   * @param after Leaves out what has been due at this moment, and waits for room.
   */
  nextDue(after?: number): Promise<{ readonly at: number | undefined; readonly suspect: boolean }>;

  loadTurn(key: TurnKey): Promise<TurnRecord | undefined>;
  /** Entries from the `from`th on (from 0). */
  loadJournal(key: TurnKey, from: number): Promise<readonly Entry[]>;
  /** Ended turns of the context that began before `key.turn`, oldest first, the last `limit`. */
  loadEarlier(key: TurnKey, limit: number): Promise<readonly TurnRecord[]>;
  listTurns(query: TurnQuery): Promise<TurnPage>;
  /**
   * Turns of all subjects that need an operator, oldest first: held ones, and those with effects whose outcome is lost.
   *
   * @param after The `turn` that the page before ended with. Default: from the first on.
   */
  listTroubled(limit: number, after?: number): Promise<readonly TurnRecord[]>;
  /**
   * Turns of all subjects with one agent that have begun and not ended, a page at a time. One that does not change meanwhile is
   * neither skipped nor repeated.
   */
  listUnfinished(query: UnfinishedQuery): Promise<UnfinishedPage>;

  /**
   * One short step of forgetting what is past its time: so short that no other write waits long for it. Turns that need an operator
   * are kept, those of a context that has an active turn, and those of which a webhook is yet to be told.
   */
  forget(step: Forget): Promise<Forgotten>;
  /**
   * Erases turns with all that belongs to them, a little at a time; of a subject, also its keys. It is refused while one of them
   * runs, or is about to; what waits is erased too.
   */
  erase(what: Erase): Promise<Erased>;

  /** What turns that ended used, by agent and day, the oldest day first. It stays when turns are forgotten or erased, until its own time is over. */
  usage(query: UsageQuery): Promise<readonly Usage[]>;

  /** Contexts of all subjects in which messages wait, the one whose oldest has waited longest first: for operators. */
  listQueues(limit: number): Promise<readonly Queue[]>;
  /** How much there is, and how long the oldest waits: for operators. */
  measure(): Promise<StoreFigures>;
  /** Looks whether what is stored is whole, beside all else; of a very large store, at a part. Resolves with what is wrong, in words. */
  check(): Promise<readonly string[]>;
  /**
   * Writes everything, as of one moment, to a file that is not there yet, beside all else. Undefined where the database's own tools
   * do that.
   *
   * @throws StoreError `store.failed`: why it could not be written.
   */
  readonly backup: ((file: string) => Promise<void>) | undefined;

  readonly keys: KeyStore;
  readonly files: FileStore;

  readonly sessions: SessionStore;
  readonly push: PushStore;

  /** A key that the Runtime made for itself (task ids, …), made with `make` at the first call ever. */
  secret(name: string, make: () => Uint8Array): Promise<Uint8Array>;
  /** Those whose name begins with `prefix`, oldest first. */
  secrets(prefix: string): Promise<readonly Secret[]>;

  /** A read resolves with what is committed at that very moment, and signals of later changes come after it. */
  readonly readsAreCurrent: boolean;

  /** The store's clock. */
  now(): number;
}

export interface Secret {
  readonly name: string;
  readonly value: Uint8Array;
  readonly createdAt: number;
}

export interface MessageKey {
  readonly subject: string;
  readonly agent: string;
  /** As the caller gave it; undefined: none given. For a reply: its task's. */
  readonly contextId: string | undefined;
  readonly messageId: string;
}

export interface Seen extends TurnKey {
  /** Of the content as it was sent: see {@link Accept.contentHash}. */
  readonly contentHash: string;
}

export interface Accept {
  readonly key: MessageKey;
  /** A hash of what I3 compares: parts, metadata, taskId. */
  readonly contentHash: string;
  readonly message: StoredMessage;
  readonly agentVersion: string;
  readonly traceparent: string;
  /** What to do when the context has an active turn. */
  readonly whenBusy: "queue" | "reject";
  /** How many turns may wait in a context. */
  readonly queueDepth: number;
  /** Milliseconds for which the message id is remembered; 0: not at all. */
  readonly dedupeMs: number;
  /** Of the subject. Default: none. */
  readonly limits?: SubjectLimits;
  /** Who else is to hear of the turn, from its beginning on. */
  readonly push?: PushTarget;
  /** Claim the context at once if it is idle: saves the way through `claimDue`. */
  readonly claim: { readonly leaseMs: number } | undefined;
}

export type Accepted =
  | { readonly kind: "accepted"; readonly turn: TurnRecord; readonly claim: Claim | undefined }
  /** The same message was accepted before. */
  | { readonly kind: "duplicate"; readonly key: TurnKey }
  /** The message id was used before, with other content. */
  | { readonly kind: "reused" }
  | { readonly kind: "busy" }
  | { readonly kind: "queueFull" }
  /** The subject's limit of turns that wait, or of bytes. */
  | { readonly kind: "subjectQueueFull" }
  | { readonly kind: "subjectFull" };

export interface Commit {
  readonly key: TurnKey;
  /** The journal's length that this change was made for. */
  readonly length: number;
  /**
   * The record's, that `view` was made from. A runner leaves it out: what others do to its turn, it notices by the length or the
   * state; what it shows without an entry, others notice by this.
   */
  readonly revision?: number;
  /** The claim under which a runner writes. Others leave it out, and are compared on length, revision and state alone. */
  readonly epoch?: number;
  /** The states the change may be made from. Default: any that is not terminal. */
  readonly from?: readonly TurnState[];
  readonly entries?: readonly Entry[];
  readonly view?: TurnView;
  /** Versions of outputs that are new in this view. */
  readonly outputs?: readonly Output[];
  readonly state?: TurnState;
  /** What the status says has changed, though the state has not. */
  readonly statusChanged?: boolean;
  /** Forget the deaths that were counted (E17). */
  readonly forgive?: boolean;
  /** A reply that is taken with this change: deduplicated and remembered in the same transaction. */
  readonly message?: { readonly key: MessageKey; readonly contentHash: string; readonly dedupeMs: number };
  /** Who else is to hear of the turn, from this change on. */
  readonly push?: PushTarget;
  /** What becomes of the context. Default: `go on`. */
  readonly then?: Then;
}

/**
 * | then    | the context                                                                                   |
 * |---------|-----------------------------------------------------------------------------------------------|
 * | go on   | stays as it is: who runs it goes on running it                                                |
 * | wake    | becomes due now, unless a node runs it                                                        |
 * | park    | is let go by its runner; due again at `dueAt`, or when something wakes it                     |
 * | end     | the turn has ended: the next queued turn is active, and `claim`ed at once by the same runner. |
 * |         | A runner of another turn's end (a cancel) is fenced off, and given `graceMs` to finish        |
 */
export type Then =
  | { readonly do: "wake" }
  | { readonly do: "park"; readonly dueAt: number | undefined }
  | { readonly do: "end"; readonly claim?: { readonly leaseMs: number }; readonly graceMs?: number };

export type Committed =
  | { readonly kind: "committed"; readonly length: number; readonly next: Claim | undefined }
  /** Others changed it in between: the journal is longer than the change expected, or the view another one. */
  | { readonly kind: "behind"; readonly length: number }
  /** The claim is lost, or the state is none of `from`. */
  | { readonly kind: "fenced"; readonly state: TurnState }
  | { readonly kind: "duplicate" }
  | { readonly kind: "reused" }
  /** The turn has as many push configs as one may have. */
  | { readonly kind: "pushFull" };

export interface TurnQuery {
  readonly subject: string;
  readonly agent: string;
  readonly contextId?: string;
  /** The state that callers are shown: `taskStateOf`. */
  readonly status?: TaskState;
  /** Only turns whose status changed at this moment or later. */
  readonly statusFrom?: number;
  /** The last row of the page before: the page begins after it, in the order (statusAt, turn) descending. */
  readonly after?: { readonly statusAt: number; readonly turn: number };
  readonly limit: number;
  /**
   * The page ends early with the turn that brings what is stored of its turns (message and view, as JSON) to this many characters or more.
   * Default: it does not.
   */
  readonly size?: number;
}

export interface TurnPage {
  readonly turns: readonly TurnRecord[];
  /** Whether more follow. */
  readonly more: boolean;
  /** How many turns the query has in all, pages aside. */
  readonly total: number;
}

export interface UnfinishedQuery {
  readonly agent: string;
  /** {@link UnfinishedPage.next} of the page before. */
  readonly after?: string;
  readonly limit: number;
}

export interface UnfinishedPage {
  /** May be fewer than asked for, even none, while more follow. */
  readonly turns: readonly TurnRecord[];
  /** Undefined: there are no more. */
  readonly next: string | undefined;
}

/** A context in which messages wait for their turn (I2). */
export interface Queue {
  readonly subject: string;
  readonly agent: string;
  readonly contextId: string;
  /** How many wait. */
  readonly waiting: number;
  /** Since when the oldest of them does, in milliseconds since 1970. */
  readonly since: number;
  /** The turn that they wait for. It may have ended: the function of a cancelled one has a while to settle (E16). */
  readonly active: TurnKey & {
    readonly state: TurnState;
    /** What callers are shown. */
    readonly status: TaskState;
    /** Since when. */
    readonly statusAt: number;
  };
}

export interface Forget {
  readonly what: "messages" | "journals" | "turns" | "giveUps" | "usage";
  /** The journals of turns that ended before this moment, or the turns; deliveries that were given up before; message ids that are remembered until then. */
  readonly before: number;
  /** {@link Forgotten.next} of the step before. Default: the beginning. */
  readonly after?: number;
  /** Rows that are looked at. */
  readonly limit: number;
}

export interface Forgotten {
  /** Rows that are no more. */
  readonly count: number;
  /** Undefined: there is nothing more to forget. */
  readonly next: number | undefined;
}

export type Erase =
  | { readonly what: "turn"; readonly key: TurnKey }
  | { readonly what: "context"; readonly subject: string; readonly agent: string; readonly contextId: string }
  | { readonly what: "subject"; readonly subject: string };

export type Erased =
  | { readonly kind: "erased"; readonly turns: number }
  /** One of them runs. Nothing is erased, or what was until one that came meanwhile ran. */
  | { readonly kind: "running"; readonly turns: number }
  | { readonly kind: "unknown" };

export interface StoreFigures {
  /** Turns by the state that callers are shown. */
  readonly turns: Readonly<Record<TaskState, number>>;
  /** Contexts that wait for a node, and since when the oldest does. */
  readonly ready: number;
  readonly readySince: number | undefined;
  /** Deliveries that wait to reach their webhook, since when the oldest does, and those that were given up. */
  readonly deliveries: { readonly waiting: number; readonly since: number | undefined; readonly givenUp: number };
  /** What everything takes, and how much of that is free to be used again. Undefined where the store does not know. */
  readonly bytes: number | undefined;
  readonly freeBytes: number | undefined;
  /** What the blobs take. */
  readonly fileBytes: number;
}

/** API keys: only hashes are kept. */
export interface KeyStore {
  add(key: NewKey): Promise<KeyRecord>;
  list(): Promise<readonly KeyRecord[]>;
  /** False when there is no such key, or it was revoked before. */
  revoke(id: string): Promise<boolean>;
  /** A key that is not revoked. */
  find(hash: string): Promise<KeyRecord | undefined>;
}

export interface NewKey {
  readonly hash: string;
  readonly holder: KeyHolder;
}

/** A key is either bound to one subject, or an operator's. */
export type KeyHolder = { readonly role: "subject"; readonly subject: string } | { readonly role: "operator" };

export interface KeyRecord {
  readonly id: string;
  readonly holder: KeyHolder;
  readonly createdAt: number;
  readonly revokedAt: number | undefined;
}

/** Browsers that are signed in. What a session may do is sealed: the store can end it, and cannot use it. */
export interface SessionStore {
  /** Also takes out some of those that are over, so that they do not pile up. */
  add(session: Session): Promise<void>;
  /** One that is not over. */
  find(hash: string): Promise<Session | undefined>;
  /** False when there is none. */
  remove(hash: string): Promise<boolean>;
}

export interface Session {
  /** Of the token that the browser has. */
  readonly hash: string;
  /** What only that token opens. */
  readonly sealed: Uint8Array;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface UsageQuery {
  /** Of these together. Undefined: of all. */
  readonly subjects: readonly string[] | undefined;
  /** The day of this moment, and those after it. */
  readonly from: number;
}

export interface Usage {
  readonly agent: string;
  /** Its first moment, in UTC. */
  readonly day: number;
  /** How many ended. */
  readonly turns: number;
  /** Undefined: none of them reported any. */
  readonly tokens: number | undefined;
  readonly costUsd: number | undefined;
}

/** A day, in milliseconds. */
export const dayMs = 24 * 60 * 60_000;
