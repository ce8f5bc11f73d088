/**
 * The append-only record of what a turn asked for and what came back, in the order in which it happened (E1). An entry is named by
 * its place in the journal, from 0.
 *
 * Starts are what the agent's function asks for; completions are what it is handed back, one at a time, in the journal's order
 * (E2); the rest is told to nobody but the engine.
 */

/** Where in the run a call was made: what a replay compares (E3). */
interface Call {
  /** How many completions had been delivered when it was made. */
  readonly after?: number;
  /** It was made later than in the microtasks of the last of them. */
  readonly outOfStep?: true;
  readonly key?: string;
}

/** The function asks for something to be done outside, once (E7). */
export interface EffectStarted extends Call {
  readonly kind: "effect";
  readonly name: string;
  /** Opaque: on the wire, and the base of the provider's idempotency key. */
  readonly id: string;
  readonly idempotent?: true;
  /** The Runtime does it itself, for the function: `name` says with which path, or with which part of the message (from 0). */
  readonly work?: FileWork;
  /** Of a file or a folder: the artifact that it is a version of. */
  readonly artifactId?: string;
}

/**
 * | work         | what the Runtime does                              | its outcome                             |
 * |--------------|----------------------------------------------------|-----------------------------------------|
 * | file, folder | keeps a version of an output                       | what the author is given: FileVersion   |
 * | fetch        | fetches a part of the message before the run       | its size, hash and media type           |
 * | read         | reads an input for the function                    | nothing: the content is read anew (E1)  |
 */
export type FileWork = "file" | "folder" | "fetch" | "read";

/** It is tried once more; or, by an operator, it may be. */
export interface EffectRetried {
  readonly kind: "retry";
  readonly of: number;
  readonly by?: "operator";
}

/** What came of it. A completion. */
export interface EffectEnded {
  readonly kind: "outcome";
  readonly of: number;
  readonly at: number;
  readonly result: EffectResult;
  readonly usage?: Totals;
  /** The outcome was given by an operator. */
  readonly resolved?: true;
}

/** A value that is undefined is absent, as JSON has it. */
export type EffectResult = { readonly value?: unknown } | { readonly error: RecordedError };

export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: unknown;
}

/** Its outcome is lost (E8): the turn is uncertain until an outcome, or a retry, follows. */
export interface EffectLost {
  readonly kind: "lost";
  readonly of: number;
  readonly at: number;
  readonly why: "died" | "timeout" | "aborted" | "unknown";
}

/** The function waits for the caller. */
export interface InteractionOpened extends Call {
  readonly kind: "question" | "approval" | "connection";
  /** Opaque: the interactionId on the wire. */
  readonly id: string;
  readonly at: number;
  readonly prompt: string;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly choices?: readonly string[];
  readonly schema?: object;
  readonly expiresAt?: number;
  /** Of a connection: how often to verify. */
  readonly pollMs?: number;
}

export interface SleepStarted extends Call {
  readonly kind: "sleep";
  readonly at: number;
  readonly until: number;
}

/** The function waits until a task at another agent is another than it was (`turn.call`). */
export interface TaskWatched extends Call {
  readonly kind: "task";
  readonly at: number;
  /** When the other agent last was given something to do. */
  readonly since: number;
  /** Whose it is, as it was called, and its id there. */
  readonly agent: string;
  readonly task: string;
  /** What it takes to reach the agent is known to the code alone. */
  readonly auth?: true;
}

/** A wait is over. A completion. */
export interface WaitEnded {
  readonly kind: "end";
  readonly of: number;
  readonly at: number;
  readonly how: "answered" | "elapsed" | "expired" | "withdrawn";
  /** Of an answer. */
  readonly value?: unknown;
}

/** Something that was said or counted, and needs no answer. */
export type Mark = Call &
  (
    | { readonly kind: "said"; readonly text: string; readonly id: string }
    | { readonly kind: "used"; readonly usage: Totals }
    | { readonly kind: "patched"; readonly name: string }
  );

/**
 * What a caller said to a turn that waits, without it being an answer. It is an entry, so that a runner which writes at the same
 * moment learns of it first.
 */
export interface Heard {
  readonly kind: "heard";
  readonly at: number;
  /** That a connection is made: the agent's own look decides (E13). */
  readonly claim?: true;
  /** Of a claim: the place of the connection. */
  readonly to?: number;
}

/** The turn has ended, and what came of cancelling a task that it had called for. Evidence: nobody waits for it. */
export interface TaskRecalled {
  readonly kind: "recalled";
  readonly at: number;
  readonly agent: string;
  readonly task: string;
  /** Why it could not be done, for operators. Absent: it was. */
  readonly problem?: string;
}

export interface Totals {
  readonly tokens?: number;
  readonly costUsd?: number;
}

export type Wait = InteractionOpened | SleepStarted | TaskWatched;
export type Start = EffectStarted | Wait | Mark;
export type Completion = EffectEnded | WaitEnded;
export type Entry = Start | Completion | EffectRetried | EffectLost | Heard | TaskRecalled;

export function isCompletion(entry: Entry): entry is Completion {
  return entry.kind === "outcome" || entry.kind === "end";
}

export function isStart(entry: Entry): entry is Start {
  switch (entry.kind) {
    case "effect":
    case "question":
    case "approval":
    case "connection":
    case "sleep":
    case "task":
    case "said":
    case "used":
    case "patched":
      return true;
    case "outcome":
    case "end":
    case "retry":
    case "lost":
    case "heard":
    case "recalled":
      return false;
  }
}

/** Where an effect stands. */
export interface Standing {
  readonly stage: "begun" | "lost" | "allowed" | "done";
  /** How often it was tried; a try that an operator allowed counts when it has begun. */
  readonly attempts: number;
}

/** Where the effect at this place stands, by its entries. */
export function standing(entries: readonly Entry[], of: number): Standing {
  let stage: Standing["stage"] = "begun";
  let attempts = 1;
  for (const entry of entries) {
    if ((entry.kind !== "outcome" && entry.kind !== "lost" && entry.kind !== "retry") || entry.of !== of) continue;
    if (entry.kind === "outcome") return { stage: "done", attempts };
    if (entry.kind === "retry" && entry.by === undefined) attempts++;
    stage = entry.kind === "lost" ? "lost" : entry.by === "operator" ? "allowed" : "begun";
  }
  return { stage, attempts };
}

/** Places of the effects that may not be repeated, and of which nothing is known but that they were begun, or may be. */
export function unfinished(entries: readonly Entry[]): readonly number[] {
  const places = new Set<number>();
  entries.forEach((entry, at) => {
    if (entry.kind === "effect" && entry.idempotent !== true) places.add(at);
    else if (entry.kind === "outcome" || entry.kind === "lost") places.delete(entry.of);
    else if (entry.kind === "retry") places.add(entry.of);
  });
  return [...places].filter((at) => (entries[at] as EffectStarted).idempotent !== true);
}

export function isWait(entry: Entry): entry is Wait {
  return isInteraction(entry) || entry.kind === "sleep" || entry.kind === "task";
}

export function isInteraction(entry: Entry): entry is InteractionOpened {
  return entry.kind === "question" || entry.kind === "approval" || entry.kind === "connection";
}

/** What tells one call from another: its kind, its name and its key (E3). */
export function callName(start: Start): string {
  switch (start.kind) {
    case "effect":
      return `${start.work ?? "effect"}(${JSON.stringify(start.name)})`;
    case "patched":
      return `patch(${JSON.stringify(start.name)})`;
    case "said":
      return "say()";
    case "used":
      return "usage()";
    case "question":
      return "ask()";
    case "approval":
      return "approve()";
    case "connection":
      return "connect()";
    case "sleep":
      return "sleep()";
    case "task":
      return `call(${JSON.stringify(start.agent)})`;
  }
}
