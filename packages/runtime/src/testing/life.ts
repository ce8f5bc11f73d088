/**
 * One process's life, as far as an agent can tell: an engine on the store, until it is dropped, or dies at a write. A process that
 * died is never answered again, and changes nothing any more: its timers are gone, and no promise of its store settles.
 */
import type { Agent } from "@nylorun/agents";

import { createTaskIds, TASK_ID_KEY_BYTES } from "../access/task-ids.ts";
import type { Blobs } from "../files/blob.ts";
import type { Fetcher } from "../files/fetcher.ts";
import { FileKeeper } from "../files/files.ts";
import { ownStream } from "../files/own-memory.ts";
import { createEntropy } from "../node/entropy.ts";
import { misfit } from "../node/schema.ts";
import { asyncContext } from "../node/unheard.ts";
import { createLocalSignal } from "../store/local-signal.ts";
import type { MemoryHome } from "../store/memory/store.ts";
import type { Commit, Committed, Store } from "../store/store.ts";
import type { Callees } from "../turn/callee.ts";
import { createEngine } from "../turn/engine.ts";
import type { Engine } from "../turn/engine.ts";
import type { EngineLimits, EngineLog, Files } from "../turn/ports.ts";
import { Foreign } from "./foreign.ts";
import type { ProcessTimers, SimulatedTime } from "./simulated-time.ts";

const hourMs = 3_600_000;

const limits: EngineLimits = {
  messageDedupeMs: 24 * hourMs,
  contextQueueDepth: 1,
  maxRunningTurns: 1,
  turnTimeoutMs: hourMs,
  cancelGraceMs: 10_000,
  leaseMs: hourMs,
  // In earnest: what stalls a replay here is what the author awaits outside.
  replayStallMs: 1000,
};

/** Bytes: what a Runtime allows when nothing else is set. */
const fileLimits = { file: 100 * 1024 ** 2, total: 10 * 1024 ** 3, subject: 10 * 1024 ** 3 };

// The same in each life, and in each run: an agent that asks for chance twice is given the same twice.
export const entropy = createEntropy(new Uint8Array(32).fill(1));
export const taskIds = createTaskIds(new Uint8Array(TASK_ID_KEY_BYTES).fill(1));

/** Where a process dies: at a write of its runner's, counted from 0 over all lives. */
export interface Crash {
  readonly write: number;
  readonly when: "before" | "after";
}

/** What the lives of one script have in common. */
export interface Lives {
  readonly home: MemoryHome;
  readonly blobs: Blobs;
  readonly fetcher: Fetcher;
  readonly time: SimulatedTime;
  readonly agent: Agent;
  /** The agents that it calls. */
  readonly callees: Callees;
  readonly crash: Crash | undefined;
  readonly log: EngineLog;
  /** A run writes: called before it does. Gives the number of the write. */
  writing(change: Commit): number;
  /** Somebody has written. */
  written(change: Commit): void;
}

export class Life {
  readonly engine: Engine;
  /** Past the death: what an honest observer sees. */
  readonly store: Store;
  /** Rejects, with nothing to say, when the process dies. */
  readonly death: Promise<never>;
  /** Whether a turn is claimed. */
  running = false;
  #asking = 0;
  #dead = false;
  readonly #die: () => void;
  readonly #lives: Lives;
  readonly #timers: ProcessTimers;

  constructor(lives: Lives) {
    const { home, time, agent, log, callees } = lives;
    const signal = createLocalSignal();
    this.#lives = lives;
    this.#timers = time.timers();
    this.store = home.open({ signal, now: () => time.now() });
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.death = promise;
    this.#die = () => {
      this.#dead = true;
      this.#timers.drop();
      void signal[Symbol.asyncDispose]();
      reject(new Error("The process has died."));
    };
    this.engine = createEngine({
      store: this.#mortal(),
      signal,
      agents: [agent],
      taskIds,
      log,
      limits,
      entropy,
      files: this.#files(),
      asyncContext,
      misfit,
      callees,
      timers: this.#timers,
    });
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Whether it waits for its store. */
  get writing(): boolean {
    return this.#asking > 0;
  }

  /** From now on, nothing comes of what it does. */
  drop(): void {
    if (!this.#dead) this.#die();
  }

  /** Files are as mortal as the store. What an author hands over is read by nobody's own code. */
  #files(): Files {
    const { blobs, fetcher } = this.#lives;
    const keeper = new FileKeeper({ store: this.store, blobs, fetcher, limits: fileLimits, hasRoom: () => true });
    const ask = <Result>(operation: () => Promise<Result>) => Foreign.outside(() => this.#ask(operation));
    return {
      decode: keeper.decode,
      keep: (...asked) => ask(() => keeper.keep(...asked)),
      keepFolder: (...asked) => ask(() => keeper.keepFolder(...asked)),
      fetch: (...asked) => ask(() => keeper.fetch(...asked)),
      stream: (...asked) => ownStream(() => ask(() => keeper.read(...asked))),
    };
  }

  /** The store as the process has it. */
  #mortal(): Store {
    const { store } = this;
    return {
      ...store,
      accept: async (accept) => {
        const accepted = await this.#ask(() => store.accept(accept));
        if (accepted.kind === "accepted" && accepted.claim) this.running = true;
        return accepted;
      },
      claimDue: async (options) => {
        const claims = await this.#ask(() => store.claimDue(options));
        if (claims.length > 0) this.running = true;
        return claims;
      },
      claimSuspect: async (options) => {
        const claim = await this.#ask(() => store.claimSuspect(options));
        if (claim !== undefined) this.running = true;
        return claim;
      },
      drained: async (key) => {
        await this.#ask(() => store.drained(key));
        this.running = false;
      },
      commit: (change) => this.#commit(change),
      findMessage: (key) => this.#ask(() => store.findMessage(key)),
      renew: (leases, leaseMs) => this.#ask(() => store.renew(leases, leaseMs)),
      nextDue: (after) => this.#ask(() => store.nextDue(after)),
      loadTurn: (key) => this.#ask(() => store.loadTurn(key)),
      loadJournal: (key, from) => this.#ask(() => store.loadJournal(key, from)),
      loadEarlier: (key, limit) => this.#ask(() => store.loadEarlier(key, limit)),
      files: {
        ...store.files,
        lastVersion: (context, path) => this.#ask(() => store.files.lastVersion(context, path)),
      },
      listTroubled: (limit, after) => this.#ask(() => store.listTroubled(limit, after)),
    };
  }

  async #commit(change: Commit): Promise<Committed> {
    const { crash } = this.#lives;
    const number = change.epoch === undefined || this.#dead ? undefined : this.#lives.writing(change);
    const dies = crash !== undefined && number === crash.write;
    if (dies && crash.when === "before") this.drop();
    const committed = await this.#ask(async () => {
      const result = await this.store.commit(change);
      if (result.kind === "committed") this.#lives.written(change);
      if (dies) this.drop();
      return result;
    });
    if (committed.kind === "committed" && change.epoch !== undefined && change.then) this.running = false;
    return committed;
  }

  async #ask<Result>(operation: () => Promise<Result>): Promise<Result> {
    if (this.#dead) return never();
    this.#asking++;
    try {
      const result = await operation();
      return this.#dead ? await never() : result;
    } catch (error) {
      if (this.#dead) return await never();
      throw error;
    } finally {
      this.#asking--;
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
