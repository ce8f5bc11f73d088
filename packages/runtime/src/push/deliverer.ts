/**
 * Brings deliveries to their webhooks: claims what is due, makes attempts with a bounded number of workers, and says what came of each.
 * Nothing of it is on the way of a request. A config has one attempt at a time, and it is read anew for each.
 *
 * Who fails is tried again (retries.ts); which origin may have how many attempts under way, origins.ts says.
 */
import type { Dialler } from "../dial/dialler.ts";
import type { Delivery, DeliveryOutcome } from "../store/push.ts";
import type { Signal } from "../store/signal.ts";
import type { Store } from "../store/store.ts";
import type { Timers } from "../turn/timers.ts";
import { attempt } from "./attempt.ts";
import type { Answer, AttemptOptions } from "./attempt.ts";
import { Origins } from "./origins.ts";
import { retryAt } from "./retries.ts";
import type { Signer } from "./signer.ts";

export interface DelivererOptions {
  readonly store: Pick<Store, "push" | "now">;
  readonly signal: Signal;
  readonly timers: Timers;
  readonly dialler: Dialler;
  readonly sign: Signer;
  readonly render: AttemptOptions["render"];
  readonly mayBeTold: AttemptOptions["mayBeTold"];
  readonly userAgent: string;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly log: DelivererLog;
  /** Told what came of each attempt. */
  readonly onAttempt?: (outcome: DeliveryOutcome["kind"]) => void;
  /** Attempts that may be under way at once. Default: 64. */
  readonly workers?: number;
}

export interface DelivererLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For one attempt, in milliseconds: from the look-up to the answer's status. */
const ATTEMPT_MS = 15_000;
/** A process that has not said by then what came of an attempt is gone. */
const LEASE_MS = 30_000;
/** What is due is looked up at least this often, should a signal be lost (I9). */
const LONGEST_NAP = 30_000;
/**
 * What has come to be due within this time, and was not claimed, may have been in somebody else's hands just then, or be due by this node's
 * clock alone: it is looked for again soon. Nobody else may tell of it.
 */
const OVERLOOKED_MS = 5_000;
const SOON_MS = 250;
/** How long what the store refuses waits before it is tried again. */
const RETRY_MS = 1_000;
const WORKERS = 64;

export class Deliverer implements AsyncDisposable {
  readonly #options: DelivererOptions;
  readonly #origins: Origins;
  readonly #underWay = new Set<AbortController>();
  readonly #unlisten: () => void;
  #stopNap: (() => void) | undefined;
  #looking = false;
  #lookAgain = false;
  #stopping = false;
  readonly #idle = Promise.withResolvers<undefined>();

  /** Begins at once. */
  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#origins = new Origins(options.workers ?? WORKERS);
    this.#unlisten = options.signal.onAnnounced(() => this.#look());
    this.#look();
  }

  /** Gives attempts that are under way so long, in milliseconds; those that are not over then are made again later. */
  async stop(graceMs: number): Promise<void> {
    if (!this.#stopping) {
      this.#stopping = true;
      this.#unlisten();
      this.#stopNap?.();
      this.#settleIdle();
    }
    const timer = setTimeout(() => {
      for (const controller of this.#underWay) controller.abort();
    }, graceMs);
    await this.#idle.promise;
    clearTimeout(timer);
    await this.#options.dialler[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(0);
  }

  #settleIdle(): void {
    if (this.#stopping && !this.#looking && this.#underWay.size === 0) this.#idle.resolve(undefined);
  }

  #look(): void {
    if (this.#stopping) return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = true;
    this.#stopNap?.();
    void this.#claim().finally(() => {
      this.#looking = false;
      this.#settleIdle();
      if (!this.#lookAgain) return;
      this.#lookAgain = false;
      this.#look();
    });
  }

  async #claim(): Promise<void> {
    const { store, log } = this.#options;
    try {
      // What comes to be due while this looks must not be passed over.
      const since = store.now();
      const claims = this.#origins.claims();
      const found = await Promise.all(claims.map((claim) => store.push.claim({ ...claim, leaseMs: LEASE_MS })));
      for (const delivery of found.flat()) void this.#deliver(delivery);
      // Whoever ends makes room, and looks again.
      if (claims.some(({ limit }, place) => found[place]!.length === limit)) return this.#napFor(LONGEST_NAP);
      const next = (await store.push.nextDue(since - OVERLOOKED_MS)) ?? since + LONGEST_NAP;
      this.#napFor(next <= since ? SOON_MS : Math.min(Math.max(next - store.now(), 0), LONGEST_NAP));
    } catch (error) {
      log.error({ error }, "What is to be pushed could not be looked up; trying again.");
      this.#napFor(RETRY_MS);
    }
  }

  #napFor(ms: number): void {
    if (!this.#stopping) this.#stopNap = this.#options.timers.after(ms, () => this.#look());
  }

  /** Never rejects. */
  async #deliver(delivery: Delivery): Promise<void> {
    const { store, timers } = this.#options;
    const { origin } = delivery.target;
    const controller = new AbortController();
    this.#underWay.add(controller);
    this.#origins.begin(origin);
    const stopTimer = timers.after(ATTEMPT_MS, () => controller.abort());
    let answer: Answer;
    try {
      answer = await attempt({ ...this.#options, now: () => store.now() }, delivery, controller.signal);
    } finally {
      stopTimer();
    }
    // An attempt that the stop has cut short says nothing of its origin.
    await this.#settle(delivery, this.#outcomeOf(delivery, answer));
    this.#origins.end(origin, answer.kind !== "failed" || answer.answered);
    this.#underWay.delete(controller);
    this.#settleIdle();
    this.#look();
  }

  #outcomeOf(delivery: Delivery, answer: Answer): DeliveryOutcome {
    if (answer.kind === "taken") return { kind: "delivered" };
    if (answer.kind === "gone") return { kind: "gone" };
    const now = this.#options.store.now();
    const { error, retryAfterMs } = answer;
    const { createdAt, failures } = delivery;
    const at = retryAt({ createdAt, failures, now, retryAfterMs, chance: this.#options.random() });
    if (this.#stopping) return { kind: "failed", error, retryAt: now };
    return at === undefined ? { kind: "givenUp", error } : { kind: "failed", error, retryAt: at };
  }

  async #settle(delivery: Delivery, outcome: DeliveryOutcome): Promise<void> {
    const { store, timers, log, onAttempt } = this.#options;
    const { id, attempts, target, turn } = delivery;
    const fields = { delivery: id, attempts, origin: target.origin, agent: turn.agent };
    onAttempt?.(outcome.kind);
    if (outcome.kind === "givenUp") log.warn({ ...fields, why: outcome.error }, "A webhook was not told: given up.");
    if (outcome.kind === "gone") log.info(fields, "A webhook is gone (410): its config has ended.");
    if (outcome.kind === "failed")
      log.debug({ ...fields, why: outcome.error }, "A webhook was not told; trying again.");
    for (;;) {
      try {
        await store.push.settle(delivery, outcome);
        return;
      } catch (error) {
        // When it cannot be said, the lease ends, and the delivery comes again.
        log.error({ error, ...fields }, "What came of a delivery could not be written.");
        if (this.#stopping) return;
        await new Promise<void>((resolve) => timers.after(RETRY_MS, resolve));
      }
    }
  }
}
