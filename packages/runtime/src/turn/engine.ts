/**
 * The engine's face: what the rooms around it ask for. Everything a caller may ask is scoped to its subject and one agent (I7).
 */
import type { Agent } from "@nylorun/agents";
import type { ExtensionUri, Message } from "@nylorun/protocol";

import type { Signal } from "../store/signal.ts";
import type { Store, TurnPage, TurnQuery } from "../store/store.ts";
import type { TurnKey, TurnRecord } from "./record.ts";
import type { TaskIds } from "./task-id.ts";

/** Milliseconds, and counts. */
export interface EngineLimits {
  readonly messageDedupeMs: number;
  readonly contextQueueDepth: number;
  readonly maxRunningTurns: number;
  readonly turnTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly leaseMs: number;
}

/** Where the engine says what operators should know. */
export interface EngineLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface EngineOptions {
  readonly store: Store;
  readonly signal: Signal;
  readonly agents: readonly Agent[];
  readonly taskIds: TaskIds;
  readonly log: EngineLog;
  readonly limits: EngineLimits;
}

/** Who asks, and whom. */
export interface Scope {
  readonly subject: string;
  readonly agent: string;
}

export interface Incoming extends Scope {
  readonly message: Message;
  /** The extensions that the request activated. */
  readonly active: ReadonlySet<ExtensionUri>;
  /** W3C trace context; made anew when the request had none. */
  readonly traceparent: string | undefined;
}

export interface Engine extends AsyncDisposable {
  start(): Promise<void>;
  /** Takes no new work, gives running turns `graceMs` to end, and lets the rest go so that the next start resumes them. */
  stop(options: { readonly graceMs: number }): Promise<void>;

  /**
   * Takes a message: begins a turn, queues one, or answers one that waits. Resolves when it is durably stored (I1).
   *
   * @throws A2aError as wire.md's *Contexts, turns, tasks* says.
   */
  send(incoming: Incoming): Promise<TurnRecord>;
  /** @throws A2aError -32001. */
  get(scope: Scope, taskId: string): Promise<TurnRecord>;
  /** CANCELED at once. @throws A2aError -32001, -32002. */
  cancel(scope: Scope, taskId: string): Promise<TurnRecord>;
  list(query: TurnQuery): Promise<TurnPage>;
  /** Resolves with the turn when it has ended or waits for its caller, or as it is after `timeoutMs` or when `signal` is aborted. */
  settled(
    turn: TurnRecord,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<TurnRecord>;

  /** Held turns of everybody, oldest first: for operators. */
  held(): Promise<readonly TurnRecord[]>;
  /** Lets a held turn run again. False when it is not held. */
  release(key: TurnKey): Promise<boolean>;
  /** Ends a held turn as failed; the caller sees `reason`. False when it is not held. */
  fail(key: TurnKey, reason?: string): Promise<boolean>;
}

export function createEngine(_options: EngineOptions): Engine {
  throw new Error("The engine is being written.");
}
