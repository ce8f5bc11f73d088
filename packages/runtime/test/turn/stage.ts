/**
 * Engines on a store, one process after another or several at once, and what stands around them: a clock that a test can put
 * forward, callers, operators, and the death of a process.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as macrotask, setTimeout } from "node:timers/promises";

import { defineAgent } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";
import { EXTENSION_URIS, EXTENSIONS, isInterrupted, isTerminal, taskStateOf } from "@nylorun/protocol";
import type { Message } from "@nylorun/protocol";

import { createTaskIds, TASK_ID_KEY_BYTES } from "../../src/access/task-ids.ts";
import type { Blobs } from "../../src/files/blob.ts";
import { chunksOf } from "../../src/files/content.ts";
import { FileError } from "../../src/files/errors.ts";
import type { Fetcher } from "../../src/files/fetcher.ts";
import { FileKeeper } from "../../src/files/files.ts";
import type { FileLimits } from "../../src/files/files.ts";
import { createMemoryBlobs } from "../../src/files/memory.ts";
import { createEntropy } from "../../src/node/entropy.ts";
import { misfit } from "../../src/node/schema.ts";
import { asyncContext } from "../../src/node/unheard.ts";
import { createLocalSignal } from "../../src/store/local-signal.ts";
import { createMemoryHome } from "../../src/store/memory/store.ts";
import type { Signal } from "../../src/store/signal.ts";
import type { Store } from "../../src/store/store.ts";
import type { Callees } from "../../src/turn/callee.ts";
import { createEngine } from "../../src/turn/engine.ts";
import type { Engine, Scope } from "../../src/turn/engine.ts";
import type { Entry } from "../../src/turn/journal.ts";
import type { EngineLimits, Entropy, Files } from "../../src/turn/ports.ts";
import type { TurnRecord } from "../../src/turn/record.ts";
import type { TaskIds } from "../../src/turn/task-id.ts";
import { systemTimers } from "../../src/turn/timers.ts";
import type { Timers } from "../../src/turn/timers.ts";
import { interactionOf } from "../../src/turn/view.ts";
import { FaultyStore } from "./faulty-store.ts";
import type { Faults } from "./faulty-store.ts";

export const limits: EngineLimits = {
  messageDedupeMs: 86_400_000,
  contextQueueDepth: 100,
  maxRunningTurns: 256,
  turnTimeoutMs: 3_600_000,
  cancelGraceMs: 10_000,
  leaseMs: 15_000,
  replayStallMs: 30_000,
};

/** What an engine is made with; tests of wrong engines bring their own. */
export type CreateEngine = typeof createEngine;

export const fileLimits: FileLimits = { file: 1024 ** 2, total: 10 * 1024 ** 2, subject: 1024 ** 3 };

export interface StageOptions {
  readonly fileLimits?: Partial<FileLimits>;
  /** Default: memory. */
  readonly store?: "memory" | "sqlite";
  readonly limits?: Partial<EngineLimits>;
  readonly createEngine?: CreateEngine;
  readonly timers?: Timers;
  /** Milliseconds since 1970. Default: the system's. */
  readonly now?: () => number;
}

export interface NodeOptions {
  /** What the engine is given in place of what keeps files. */
  readonly files?: ((files: Files) => Files) | undefined;
  readonly faults?: Faults;
  readonly limits?: Partial<EngineLimits>;
  readonly timers?: Timers;
  /** The processes that were started before live on. */
  readonly beside?: true;
  readonly callees?: Callees;
}

interface Logged {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What outlives a process: a store, and a clock. */
export class Stage implements AsyncDisposable {
  readonly log: Logged[] = [];
  readonly blobs: Blobs = createMemoryBlobs();
  /** By URL, what is fetched from there; a text that is `file.notFetched`'s is why nothing is. */
  readonly urls = new Map<string, string | Error>();
  /** What was fetched, in order. */
  readonly fetched: string[] = [];
  readonly fetcher: Fetcher = {
    fetch: async (url, _, take) => {
      this.fetched.push(url);
      const content = this.urls.get(url) ?? new FileError("file.notFetched", "its server answered 404");
      if (content instanceof Error) throw content;
      return take({ chunks: chunksOf(content), mediaType: "text/csv" });
    },
  };
  readonly #options: StageOptions;
  readonly #nodes = new Set<Node>();
  readonly #memory = createMemoryHome();
  #folder: string | undefined;
  #ahead = 0;

  constructor(options: StageOptions = {}) {
    this.#options = options;
  }

  now(): number {
    return (this.#options.now ?? Date.now)() + this.#ahead;
  }

  /** Puts the clock forward; what is due then is looked at. */
  pass(ms: number): void {
    this.#ahead += ms;
    for (const node of this.#nodes) node.signal.due();
  }

  /** Starts a process. The leases of those before it that live no more have ended. */
  async start(agents: Agent | readonly Agent[], options: NodeOptions = {}): Promise<Node> {
    const heard = createLocalSignal();
    const signal = this.#heardByAll(heard);
    const inner = await this.#open(signal, options.beside === true);
    const node = await Node.make({
      stage: this,
      inner,
      signal,
      heard,
      agents: [agents].flat(),
      faults: options.faults,
      limits: { ...limits, ...this.#options.limits, ...options.limits },
      fileLimits: { ...fileLimits, ...this.#options.fileLimits },
      files: options.files,
      timers: options.timers ?? this.#options.timers ?? systemTimers,
      createEngine: this.#options.createEngine ?? createEngine,
      callees: options.callees,
      ended: () => this.#nodes.delete(node),
    });
    this.#nodes.add(node);
    await node.engine.start();
    return node;
  }

  /** What one node signals, the others hear a little later. */
  #heardByAll(local: Signal): Signal {
    const others = (tell: (signal: Signal) => void) => {
      for (const { heard } of this.#nodes) if (heard !== local) setImmediate(() => tell(heard));
    };
    return {
      ...local,
      turnChanged(key) {
        local.turnChanged(key);
        others((other) => other.turnChanged(key));
      },
      due() {
        local.due();
        others((other) => other.due());
      },
    };
  }

  async #open(signal: Signal, beside: boolean): Promise<Store> {
    const now = () => this.now();
    if (this.#options.store === "sqlite") {
      this.#folder ??= mkdtempSync(join(tmpdir(), "nylorun-turn-"));
      const { openSqliteStore } = await import("../../src/store/sqlite/store.ts");
      return openSqliteStore({ file: join(this.#folder, "nylorun.db"), signal, now });
    }
    if (!beside) this.#memory.endLeases(now());
    return this.#memory.open({ signal, now });
  }

  /** What was logged with this code or message. */
  logged(pattern: RegExp): readonly Logged[] {
    return this.log.filter(({ message, fields }) => pattern.test(message) || pattern.test(String(fields["code"])));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of [...this.#nodes]) await node.kill();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
  }
}

interface NodeParts {
  readonly stage: Stage;
  readonly inner: Store;
  readonly signal: Signal;
  readonly heard: Signal;
  readonly agents: readonly Agent[];
  readonly faults: Faults | undefined;
  readonly limits: EngineLimits;
  readonly fileLimits: FileLimits;
  readonly files: NodeOptions["files"];
  readonly timers: Timers;
  readonly createEngine: CreateEngine;
  readonly callees: Callees | undefined;
  readonly ended: () => void;
}

/** A process that runs turns, as far as the store can tell. */
export class Node implements AsyncDisposable {
  readonly engine: Engine;
  readonly blobs: Blobs;
  /** Past all faults: what an honest observer sees. */
  readonly inner: Store;
  readonly signal: Signal;
  /** What it hears, its own and the others'. */
  readonly heard: Signal;
  readonly faulty: FaultyStore;
  /** Another process's engine on the same store, that runs nothing: what answers and cancels "from another node" go through. */
  readonly other: Engine;
  readonly taskIds: TaskIds;
  readonly entropy: Entropy;
  readonly #agent: string;
  readonly #ended: () => void;
  #messages = 0;

  static async make(parts: NodeParts): Promise<Node> {
    const { inner } = parts;
    const key = await inner.secret("task-id", () => randomBytes(TASK_ID_KEY_BYTES));
    const seed = await inner.secret("turn-seed", () => randomBytes(32));
    return new Node(parts, { key, seed });
  }

  private constructor(parts: NodeParts, secrets: { readonly key: Uint8Array; readonly seed: Uint8Array }) {
    const { stage, inner, signal, agents } = parts;
    this.inner = inner;
    this.signal = signal;
    this.heard = parts.heard;
    this.faulty = new FaultyStore(inner, parts.faults);
    this.taskIds = createTaskIds(secrets.key);
    this.entropy = createEntropy(secrets.seed);
    this.#agent = agents[0]!.id;
    this.#ended = parts.ended;
    const note = (level: Logged["level"]) => (fields: object, message: string) =>
      void stage.log.push({ level, message, fields: { ...fields } });
    const rest = {
      signal,
      agents,
      taskIds: this.taskIds,
      log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
      limits: parts.limits,
      timers: parts.timers,
      entropy: this.entropy,
      asyncContext,
      misfit,
      ...(parts.callees && { callees: parts.callees }),
    };
    const { blobs, fetcher } = stage;
    this.blobs = blobs;
    const filesOn = (store: Store) =>
      new FileKeeper({ store, blobs, fetcher, limits: parts.fileLimits, hasRoom: () => true });
    this.engine = parts.createEngine({
      store: this.faulty.store,
      files: parts.files?.(filesOn(this.faulty.store)) ?? filesOn(this.faulty.store),
      ...rest,
    });
    this.other = parts.createEngine({ store: inner, files: filesOn(inner), ...rest });
  }

  scope(subject = "ada"): Scope {
    return { subject, agent: this.#agent };
  }

  async send(text = "Hello", rest: Partial<Message> & { readonly as?: string } = {}): Promise<TurnRecord> {
    const { as, ...message } = rest;
    return this.engine.send({
      ...this.scope(as),
      message: {
        messageId: `m-${++this.#messages}-${Math.random()}`,
        role: "ROLE_USER",
        parts: [{ text }],
        ...message,
      },
      active: new Set(EXTENSION_URIS),
      traceparent: undefined,
    });
  }

  taskId(turn: TurnRecord): string {
    return this.taskIds.encode(turn);
  }

  /** Answers the interaction that is open, through the extension, from another node. */
  async answer(
    turn: TurnRecord,
    answer: object,
    rest: Partial<Message> & { readonly as?: string } = {},
  ): Promise<TurnRecord> {
    const { as, ...message } = rest;
    const open = interactionOf((await this.load(turn)).view);
    const data = { interactionId: open?.id ?? "none", ...answer };
    return this.other.send({
      ...this.scope(as),
      message: {
        messageId: `a-${++this.#messages}-${Math.random()}`,
        role: "ROLE_USER",
        parts: [{ text: "(answered)" }],
        taskId: this.taskId(turn),
        metadata: { [EXTENSIONS.interactions]: data },
        extensions: [EXTENSIONS.interactions],
        ...message,
      },
      active: new Set(EXTENSION_URIS),
      traceparent: undefined,
    });
  }

  async load(turn: TurnRecord): Promise<TurnRecord> {
    return (await this.inner.loadTurn(turn))!;
  }

  async journal(turn: TurnRecord): Promise<readonly Entry[]> {
    return this.inner.loadJournal(turn, 0);
  }

  /** Kinds of the journal's entries, completions with how they came out: `effect outcome approval end:answered`. */
  async told(turn: TurnRecord): Promise<string> {
    const journal = await this.journal(turn);
    return journal
      .map((entry) =>
        entry.kind === "end" ? `end:${entry.how}` : entry.kind === "lost" ? `lost:${entry.why}` : entry.kind,
      )
      .join(" ");
  }

  /** The turn once it is as asked. Bounded, though a busy machine is given time. */
  async until(turn: TurnRecord, is: (turn: TurnRecord) => boolean, what = String(is)): Promise<TurnRecord> {
    const deadline = performance.now() + 20_000;
    for (;;) {
      const now = await this.load(turn);
      if (is(now)) return now;
      if (performance.now() > deadline) {
        throw new Error(`After 20 s the turn is not ${what}: ${JSON.stringify(now)}\n${await this.told(turn)}`);
      }
      await setTimeout(2);
    }
  }

  async ended(turn: TurnRecord): Promise<TurnRecord> {
    return this.until(turn, ({ state }) => isTerminal(taskStateOf(state)), "ended");
  }

  async interrupted(turn: TurnRecord): Promise<TurnRecord> {
    return this.until(turn, ({ state, view }) => isInterrupted(taskStateOf(state, view.waitsFor)), "interrupted");
  }

  async inState(turn: TurnRecord, state: TurnRecord["state"]): Promise<TurnRecord> {
    return this.until(turn, (now) => now.state === state, state);
  }

  /** This node runs the turn no more: it is parked, held, or has ended. */
  async letGo(turn: TurnRecord): Promise<TurnRecord> {
    return this.until(turn, () => !this.faulty.holds(turn), "let go");
  }

  /** The process dies as it is; nothing of it writes again. */
  async kill(): Promise<void> {
    this.faulty.bury();
    this.#ended();
    await this.engine.stop({ graceMs: 0 });
    await this.inner[Symbol.asyncDispose]();
  }

  async stop(graceMs = 0): Promise<void> {
    this.#ended();
    await this.engine.stop({ graceMs });
    await this.inner[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

export function agent(run: AgentDefinition["run"], rest: Partial<AgentDefinition> = {}): Agent {
  return defineAgent({
    id: "agent",
    name: "Agent",
    description: "For tests.",
    version: "1.0.0",
    skills: [{ id: "work", name: "Work", description: "Works.", tags: ["test"] }],
    run,
    ...rest,
  });
}

/** The text or JSON that a completed turn returned. */
export function output(turn: TurnRecord): unknown {
  if (turn.state !== "completed") throw new Error(`The turn is not completed: ${JSON.stringify(turn)}`);
  const part = turn.view.artifacts?.[0]?.parts[0];
  return part?.data ?? part?.text;
}

export function nameOf(error: unknown): string {
  return (error as Error).name;
}

export function messageOf(error: unknown): string {
  return (error as Error).message;
}

export function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

/** Lets everything that is ready happen. */
export async function settle(times = 20): Promise<void> {
  for (let n = 0; n < times; n++) await macrotask();
}
