/**
 * What runs inside effects, and what becomes of it: an outcome, or none (E7-E9). Also the looks that watches take.
 */
import { EffectError, WaitExpired } from "@nylorun/agents";
import type { Effect, EffectOptions } from "@nylorun/agents";

import { checkedProgress, checkedText, checkedUsage } from "./arguments.ts";
import { standing } from "./journal.ts";
import type { Completion, EffectEnded, EffectLost, EffectResult, EffectStarted, Totals } from "./journal.ts";
import { isOutcomeUnknown, recordedError, resultOf } from "./json.ts";
import { recordLate } from "./late.ts";
import type { Entropy } from "./ports.ts";
import type { OpenWait } from "./record.ts";
import type { Run } from "./run.ts";
import { beginAttempt, endAttempt } from "./trace.ts";
import { pauseOf } from "./view.ts";

/** How often an idempotent effect is tried in all, and how long it waits in between: doubling, up to the longest. */
const attemptLimit = 10;
const firstPauseMs = 200;
const longestPauseMs = 30_000;

/** An effect that this run's function has asked for. */
interface Asked {
  readonly name: string;
  readonly run: (effect: Effect) => unknown;
  readonly options: EffectOptions;
}

/** What the function waits for. */
export interface Settler {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** What a wait was given. When it is withdrawn, it is aborted, on replay too: in the very step in which it was. */
  readonly signal: AbortSignal | undefined;
}

/** What is looked at from time to time until it is so: whether a connection is made, or a task has changed. */
export interface Watch {
  /** Looked at once, too, when it begins: it may be so already. */
  readonly atOnce?: true;
  /** @param claims How often the caller has said that it is so. */
  look(options: { readonly signal: AbortSignal; readonly claims: number }): boolean | Promise<boolean>;
}

/** A watch that this run's function waits for. */
interface Watching {
  readonly watch: Watch;
  /** Claims, and the time, at the last look. */
  claims: number;
  at: number;
  busy: boolean;
}

export class EffectRunner {
  readonly #run: Run;
  readonly #asked = new Map<number, Asked>();
  readonly #watching = new Map<number, Watching>();
  /** Effects that run now, and looks that are being taken: nothing may be parked or ended meanwhile. */
  running = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The function has asked for an effect that has no outcome yet. */
  begin(at: number, asked: Asked, isNew: boolean): void {
    this.#asked.set(at, asked);
    if (isNew) return void this.#attempt(at, 1);
    const { stage } = standing(this.#run.replay.entries, at);
    // One that may not be repeated was found lost when the run resumed.
    if (stage === "allowed" || (stage === "begun" && this.#mayRepeat(at))) this.#again(at, 0);
  }

  /** An operator allows another attempt. */
  retry(at: number): void {
    if (this.#asked.has(at) && standing(this.#run.replay.entries, at).stage === "allowed") this.#again(at, 0);
  }

  /** Watches from its opening on; or, when it was open before, with a look at once. */
  watch(at: number, watch: Watch, isNew: boolean): void {
    const looked = isNew && watch.atOnce !== true ? this.#run.ports.store.now() : 0;
    this.#watching.set(at, { watch, claims: isNew ? 0 : -1, at: looked, busy: false });
  }

  /** Looks at what was said to be so, or what it is time to look at (E13). */
  verify(waits: readonly OpenWait[]): void {
    const now = this.#run.ports.store.now();
    for (const wait of waits) {
      const watching = this.#watching.get(wait.of);
      if (watching === undefined || watching.busy) continue;
      const claims = this.#claimsOf(wait);
      if (watching.claims !== claims || now - watching.at >= (pauseOf(wait, now) ?? 0)) {
        void this.#look(wait.of, watching, claims);
      }
    }
  }

  /** How often the caller has said that this connection is made. */
  #claimsOf({ kind, of }: OpenWait): number {
    if (kind !== "connection" || this.#run.record.view.claims === undefined) return 0;
    return this.#run.replay.entries.filter((entry) => entry.kind === "heard" && entry.to === of).length;
  }

  /** Hands a completion over to the function. */
  handOver(completion: Completion, settler: Settler): void {
    if (completion.kind === "outcome") {
      const { result } = completion;
      const { name, work } = this.#run.replay.entries[completion.of] as EffectStarted;
      if (work === "read") return settler.resolve(this.#run.inputs.take(completion.of));
      if (!("error" in result)) return settler.resolve(structuredClone(result.value));
      return settler.reject(new EffectError(name, result.error));
    }
    switch (completion.how) {
      case "answered":
        return settler.resolve(structuredClone(completion.value));
      case "elapsed":
        return settler.resolve(undefined);
      case "expired":
        return settler.reject(new WaitExpired("Nobody answered in time."));
      case "withdrawn":
        return settler.reject(
          settler.signal?.aborted ? settler.signal.reason : new DOMException("The wait was withdrawn.", "AbortError"),
        );
    }
  }

  /** As it was recorded: newer code may say otherwise, of what it has not begun. */
  #mayRepeat(at: number): boolean {
    return (this.#run.replay.entries[at] as EffectStarted).idempotent === true;
  }

  #again(at: number, pauseMs: number): void {
    const { attempts } = standing(this.#run.replay.entries, at);
    if (this.#mayRepeat(at) && (attempts >= attemptLimit || this.#run.timeUp.aborted)) {
      const why = this.#run.timeUp.aborted ? "the turn's time is up" : `it was tried ${attempts} times`;
      const message = `Its outcome is unknown, and ${why}: it is not tried again.`;
      return this.#outcome(at, attempts, { error: { name: "EffectError", code: "effect.exhausted", message } });
    }
    this.running++;
    this.#run.ports.timers.after(pauseMs, () => {
      this.running--;
      if (this.#run.dropped || this.#run.cancelled) return this.#run.pump();
      this.#run.writer.write({ kind: "retry", of: at }, () => void this.#attempt(at, attempts + 1));
    });
  }

  async #attempt(at: number, attempt: number): Promise<void> {
    const { name, run, options } = this.#asked.get(at)!;
    const started = this.#run.replay.entries[at] as EffectStarted;
    const { ports } = this.#run;
    const limit = new Limit(this.#run, options.timeoutMs);
    let usage: Totals = {};
    const effect: Effect = {
      key: effectKey(ports.entropy, started.id),
      signal: limit.signal,
      say: (text) => this.#run.snapshots.showWords(checkedText(text)),
      progress: (report) => this.#run.snapshots.showProgress(checkedProgress(report)),
      usage: (used) => {
        usage = sum(usage, checkedUsage(used));
      },
    };
    this.running++;
    // The last moment at which this node can know that it still may (E7).
    if (!this.#run.lease.isSure && !(await this.#run.lease.mayAct())) {
      limit.stop();
      this.running--;
      return this.#run.pump();
    }
    const span = beginAttempt(ports, started, { attempt, parent: this.#run.span });
    let result: EffectResult | undefined;
    let why: EffectLost["why"] = "unknown";
    try {
      const context = { effect: true, rejected: (error: unknown) => this.#run.rejected(error) };
      const outcome = ports.asyncContext.run(context, () => span.within(() => invoke(run, effect)));
      outcome.catch(() => undefined);
      result = await Promise.race([outcome.then(resultOf), limit.passed]);
      if (result === undefined) {
        // It may come back after all: that resolves it, while nobody else has (E9).
        void outcome.then(
          (value) => this.#late(at, attempt, resultOf(value), usage),
          () => undefined,
        );
      }
      why = limit.why;
    } catch (error) {
      if (limit.signal.aborted) why = limit.why;
      else if (!isOutcomeUnknown(error)) result = { error: recordedError(error) };
    }
    limit.stop();
    endAttempt(span, result, why);
    this.running--;
    if (result !== undefined) return this.#outcome(at, attempt, result, usage);
    // What is not ours any more is concluded by whoever has it now, or was when it was cancelled.
    if (!this.#run.isOurs) return this.#run.pump();
    if (this.#mayRepeat(at)) return this.#again(at, Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)));
    ports.log.warn(
      { effect: name, why, task: ports.taskIds.encode(this.#run.record) },
      "The outcome of an effect is lost.",
    );
    this.#run.writer.write({ kind: "lost", of: at, at: ports.store.now(), why });
    this.#run.pump();
  }

  #outcome(at: number, attempt: number, result: EffectResult, usage: Totals = {}): void {
    const entry = this.#ended(at, result, usage);
    if (this.#run.isOurs) this.#run.writer.writeOutcome({ entry, attempt });
    else this.#recordLate(entry, attempt);
    this.#run.pump();
  }

  #late(at: number, attempt: number, result: EffectResult, usage: Totals): void {
    this.#recordLate(this.#ended(at, result, usage), attempt);
  }

  #recordLate(entry: EffectEnded, attempt: number): void {
    const { ports, record } = this.#run;
    void recordLate(ports, record, { entry, attempt });
  }

  #ended(at: number, result: EffectResult, usage: Totals): EffectEnded {
    const used = usage.tokens !== undefined || usage.costUsd !== undefined;
    const kept = this.#run.budget.fit(result);
    return { kind: "outcome", of: at, at: this.#run.ports.store.now(), result: kept, ...(used && { usage }) };
  }

  async #look(of: number, watching: Watching, claims: number): Promise<void> {
    const { ports } = this.#run;
    watching.busy = true;
    watching.claims = claims;
    watching.at = ports.store.now();
    this.running++;
    const limit = new Limit(this.#run, undefined);
    let isSo = false;
    try {
      const context = { effect: true, rejected: (error: unknown) => this.#run.rejected(error) };
      const look = async () => watching.watch.look({ signal: limit.signal, claims });
      const looking = ports.asyncContext.run(context, look);
      looking.catch(() => undefined);
      isSo = (await Promise.race([looking, limit.passed])) === true;
    } catch (error) {
      ports.log.warn(
        { error, task: ports.taskIds.encode(this.#run.record) },
        "What a turn waits for could not be looked at; it is looked at again.",
      );
    }
    limit.stop();
    this.running--;
    watching.busy = false;
    if (isSo && this.#run.isOurs) this.#run.waits.end(of, { how: "answered", value: true });
    this.#run.pump();
  }
}

/** What an effect's code is given to make its requests known by: the same on every attempt. */
export function effectKey(entropy: Entropy, id: string): string {
  return entropy.derive(`effect ${id}`).slice(0, 32);
}

async function invoke(run: Asked["run"], effect: Effect): Promise<unknown> {
  return run(effect);
}

/** How long something may take: as long as its turn goes on and runs, or less. Keeps nothing alive once it is stopped. */
class Limit {
  /** Resolves, with nothing, when it is waited for no longer: what ignores its signal is left behind. */
  readonly passed: Promise<undefined>;
  readonly stop: () => void;
  readonly #controller = new AbortController();
  #timedOut = false;

  constructor(run: Run, ms: number | undefined) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.passed = promise;
    const abort = () => this.#controller.abort(run.signal.reason);
    // A cancelled turn waits for what its effects say (E16); one that is out of time does not.
    const pass = () => resolve(undefined);
    const stopTimer =
      ms === undefined
        ? undefined
        : run.ports.timers.after(ms, () => {
            this.#timedOut = true;
            this.#controller.abort(new DOMException(`It took longer than ${ms} ms.`, "TimeoutError"));
            pass();
          });
    if (run.signal.aborted) abort();
    if (run.timeUp.aborted) pass();
    run.signal.addEventListener("abort", abort);
    run.timeUp.addEventListener("abort", pass);
    this.stop = () => {
      stopTimer?.();
      run.signal.removeEventListener("abort", abort);
      run.timeUp.removeEventListener("abort", pass);
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get why(): "timeout" | "aborted" {
    return this.#timedOut ? "timeout" : "aborted";
  }
}

function sum(one: Totals, other: Totals): Totals {
  const add = (a: number | undefined, b: number | undefined) => (a === undefined ? b : a + (b ?? 0));
  const tokens = add(one.tokens, other.tokens);
  const costUsd = add(one.costUsd, other.costUsd);
  return { ...(tokens !== undefined && { tokens }), ...(costUsd !== undefined && { costUsd }) };
}
