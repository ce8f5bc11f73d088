/** What the engine needs from the world beside the Store: time, chance, and to know what code belongs to which run. */
import type { Agent, FileContent, FolderEntries } from "@nylorun/agents";
import type { RawPart, UrlPart } from "@nylorun/protocol";

import type { Signal } from "../store/signal.ts";
import type { Store } from "../store/store.ts";
import type { Callees } from "./callee.ts";
import type { TurnKey } from "./record.ts";
import type { TaskIds } from "./task-id.ts";
import type { Timers } from "./timers.ts";

/** Milliseconds, and counts. */
export interface EngineLimits {
  readonly messageDedupeMs: number;
  readonly contextQueueDepth: number;
  readonly maxRunningTurns: number;
  /** Of one subject. Default: none. */
  readonly subjectRunningTurns?: number;
  readonly subjectQueuedTurns?: number;
  readonly subjectStoredBytes?: number;
  readonly turnTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly leaseMs: number;
  /** How long a replay may go without meeting a recorded call before the turn is held. */
  readonly replayStallMs: number;
}

/** Where the engine says what operators should know. */
export interface EngineLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Entropy {
  /** A new opaque id. */
  id(): string;
  /** Random bytes, as lower-case hex. */
  hex(bytes: number): string;
  /** 16 bytes or more that follow from `text` and a secret of the store, as lower-case hex: for what must be the same on every replay. */
  derive(text: string): string;
  /** Lower-case hex, without a secret: to compare contents. */
  hash(text: string): string;
}

/** Keeps the files of turns. What it is asked for twice, for the same entry, it does twice with the same end. */
export interface Files {
  /** Resolves when the bytes are where they stay. Rejects with an error whose `code` authors are told. */
  keep(place: Place, content: FileContent, options: KeepOptions): Promise<KeptFile>;
  /** The hash is that of the list of files, the size their sum. */
  keepFolder(place: Place, entries: FolderEntries, options: Pick<KeepOptions, "signal">): Promise<KeptFile>;
  /** Rejects with the code `file.notFetched` and a message that says why, after "it", to whoever sent the part. */
  fetch(place: Place, part: UrlPart, options: Pick<KeepOptions, "signal">): Promise<KeptFile>;
  /** The bytes that a part brings itself. */
  readonly decode: (part: RawPart) => Uint8Array<ArrayBuffer>;
  /** What the turn has kept or fetched, opened when it is first read from. */
  readonly stream: (key: TurnKey, sha256: string) => ReadableStream<Uint8Array>;
}

/** An entry of a turn's journal. */
export interface Place extends TurnKey {
  readonly of: number;
}

export interface KeepOptions {
  readonly path: string;
  readonly mediaType?: string | undefined;
  readonly signal: AbortSignal;
}

export interface KeptFile {
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  readonly mediaType: string;
}

/** Which run the code that runs now belongs to, through every `await`. */
export interface AsyncContext<Value> {
  run<Result>(value: Value, code: () => Result): Result;
  get(): Value | undefined;
}

/**
 * Says how long what took, as spans of the trace that a turn belongs to. It is told ids, names and kinds; never what callers, agents
 * or effects said or gave (I10).
 */
export interface Tracer {
  begin(span: SpanBegin): Span;
}

export interface SpanBegin {
  readonly name: string;
  readonly kind: "internal" | "server";
  /** W3C traceparent of what it is part of; undefined: it begins a trace. */
  readonly parent: string | undefined;
  readonly attributes: SpanAttributes;
  /** Traceparent of what else brought it about. */
  readonly link?: string | undefined;
  /** When it began, in milliseconds since 1970. Default: now. */
  readonly at?: number;
}

export interface SpanEnd {
  readonly attributes?: SpanAttributes;
  /** It failed: the kind of error. */
  readonly error?: string | undefined;
  /** When it ended, in milliseconds since 1970. Default: now. */
  readonly at?: number;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** For what is part of it; undefined when nothing is traced. */
  readonly traceparent: string | undefined;
  /** Runs code as a part of it, through every `await`: spans that an author's own libraries make are below it. */
  within<Result>(code: () => Result): Result;
  end(end?: SpanEnd): void;
}

export interface EngineOptions {
  readonly store: Store;
  readonly signal: Signal;
  readonly agents: readonly Agent[];
  readonly taskIds: TaskIds;
  readonly log: EngineLog;
  readonly limits: EngineLimits;
  readonly entropy: Entropy;
  readonly files: Files;
  readonly asyncContext: AsyncContext<Running>;
  /** Says what is wrong with a value by a JSON Schema; undefined when nothing is. */
  readonly misfit: (schema: object, value: unknown) => string | undefined;
  /** Agents that are not served here. Default: there are none. */
  readonly callees?: Callees;
  /** Default: the system's. */
  readonly timers?: Timers;
  /** Default: none. */
  readonly tracer?: Tracer;
}

/** The options, resolved. */
export type EnginePorts = Required<EngineOptions>;

/** What {@link AsyncContext} carries. */
export interface Running {
  /** Inside an effect's function, where calls of `turn` are refused (E7). */
  readonly effect: boolean;
  /** A promise of the agent's was rejected, and nobody looked (E17). */
  rejected(error: unknown): void;
}
