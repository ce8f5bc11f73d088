/** A deliverer on a store of its own, whose time passes when it is told to; what it calls is real. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createTaskIds } from "../../src/access/task-ids.ts";
import { createDialler } from "../../src/dial/dialler.ts";
import { HostList } from "../../src/dial/host-list.ts";
import type { Lookup } from "../../src/dial/lookup.ts";
import { Deliverer } from "../../src/push/deliverer.ts";
import { createWebhookKeys } from "../../src/push/keys.ts";
import type { WebhookKeys } from "../../src/push/keys.ts";
import { createSigner } from "../../src/push/signer.ts";
import { createLocalSignal } from "../../src/store/local-signal.ts";
import type { DeliveryOutcome, PushTarget } from "../../src/store/push.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import type { TurnRecord, TurnView } from "../../src/turn/record.ts";
import { streamResponseOf } from "../../src/turn/task.ts";
import { Clock } from "../turn/clock.ts";

export interface PostOptions {
  readonly hosts: readonly string[];
  readonly lookup?: Lookup;
  readonly workers?: number;
  /** From 0 up to 1; default: no jitter. */
  readonly random?: () => number;
}

const taskIds = createTaskIds(randomBytes(16));

export class Post implements AsyncDisposable {
  readonly clock = new Clock();
  readonly outcomes: DeliveryOutcome["kind"][] = [];
  secrets: readonly string[] = [`whsec_${randomBytes(24).toString("base64")}`];
  /** Whether subjects may know of their tasks. */
  mayBeTold = true;
  /** So many claims find nothing, as if somebody else had it in hand. */
  overlooks = 0;
  store!: Store;
  keys!: WebhookKeys;
  #deliverer!: Deliverer;
  #rendered = 0;
  #turns = 0;
  #settled = 0;
  readonly #start = Date.now();
  readonly #options: PostOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), "nylorun-post-"));

  static async open(options: PostOptions): Promise<Post> {
    const post = new Post(options);
    await post.#open();
    return post;
  }

  private constructor(options: PostOptions) {
    this.#options = options;
  }

  readonly now = (): number => this.#start + this.clock.timers.now();

  /** The store alone: nothing is delivered until {@link start}. */
  async #open(): Promise<void> {
    this.#signal = createLocalSignal();
    this.store = await openSqliteStore({ file: join(this.#folder, "nylorun.db"), signal: this.#signal, now: this.now });
    this.keys = createWebhookKeys(this.store);
    this.start();
  }

  #signal = createLocalSignal();

  start(): void {
    const { hosts, lookup, workers, random = () => 0.5 } = this.#options;
    const list = HostList.parse(hosts)!;
    const silent = () => undefined;
    const { push } = this.store;
    const settle: typeof push.settle = async (...attempt) => {
      const settled = await push.settle(...attempt);
      this.#settled++;
      return settled;
    };
    const claim: typeof push.claim = async (what) =>
      this.overlooks > 0 && this.overlooks-- > 0 ? [] : push.claim(what);
    this.#deliverer = new Deliverer({
      store: { now: this.now, push: { ...push, settle, claim } },
      signal: this.#signal,
      timers: this.clock.timers,
      dialler: createDialler({ trustOf: (origin) => list.trustOf(origin), ...(lookup && { lookup }) }),
      sign: createSigner({ secrets: () => this.secrets, keys: () => this.keys.current() }),
      render: async ({ turn, change }) => {
        const { artifactUpdate, ...other } = streamResponseOf(turn, change, { taskIds, active: new Set() });
        // Another body each time, as links make it.
        return artifactUpdate === undefined
          ? other
          : { artifactUpdate: { ...artifactUpdate, metadata: { rendered: ++this.#rendered } } };
      },
      mayBeTold: () => this.mayBeTold,
      userAgent: "a test",
      random,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      onAttempt: (outcome) => this.outcomes.push(outcome),
      ...(workers !== undefined && { workers }),
    });
  }

  stop(): Promise<void> {
    return this.#deliverer.stop(1000);
  }

  /** Ends the process, so to say, and begins the next one. */
  async restart(): Promise<void> {
    await this.#deliverer.stop(0);
    await this.store[Symbol.asyncDispose]();
    await this.#open();
  }

  /** A turn that a webhook hears of. */
  async listen(url: string, target: Partial<PushTarget> = {}): Promise<TurnRecord> {
    const { origin } = new URL(url);
    const accepted = await this.store.accept({
      key: { subject: "ada", agent: "echo", contextId: `talk-${++this.#turns}`, messageId: "m" },
      contentHash: "",
      message: { messageId: "m", parts: [{ text: "Hello" }] },
      agentVersion: "1.0.0",
      traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
      whenBusy: "queue",
      queueDepth: 10,
      dedupeMs: 0,
      push: { id: "one", url, origin, extensions: [], ...target },
      claim: { leaseMs: 30_000 },
    });
    if (accepted.kind !== "accepted") throw new Error(`The message is ${accepted.kind}.`);
    return accepted.turn;
  }

  /** Something to tell of: the turn makes a new version of its output; or it ends. */
  async change(turn: TurnRecord, text: string, state: "running" | "completed" = "running"): Promise<void> {
    const view: TurnView = { artifacts: [{ artifactId: "output", parts: [{ text }] }] };
    const committed = await this.store.commit({ key: turn, length: 0, state, view });
    if (committed.kind !== "committed") throw new Error(`The change is ${committed.kind}.`);
  }

  /** Waits until something is so, while no time passes. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!(await isSo())) {
      if (performance.now() > deadline)
        throw new Error(`After 20 s it is not so that ${what}; ${this.outcomes.join(" ")}.`);
      await new Promise((resolve) => setTimeout(resolve, 2));
      // Timers that were set for no time at all.
      this.clock.pass(0);
    }
  }

  get isTried(): boolean {
    return this.#settled > 0;
  }

  /** Waits until so many attempts are over, and written down. */
  async attempts(count: number): Promise<void> {
    await this.until(`${count} attempts were made`, () => this.#settled >= count);
  }

  /** When the next attempt is to be made, while none is under way. */
  async nextDue(): Promise<number | undefined> {
    return this.store.push.nextDue(this.now());
  }

  /** Lets time pass until then; none when it is to be made now. */
  async passToNext(): Promise<void> {
    const next = await this.nextDue();
    if (next !== undefined) this.clock.pass(next - this.now());
  }

  async waiting(): Promise<number> {
    return (await this.store.measure()).deliveries.waiting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deliverer.stop(0);
    await this.store[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
