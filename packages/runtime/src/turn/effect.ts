/**
 * What runs inside effects, and what becomes of it: an outcome, or none (E7-E9). Also the looks that a connection's `verify` takes.
 */
import { EffectError, WaitExpired } from "@nylorun/agents";
import type { Connection, Effect, EffectOptions } from "@nylorun/agents";

import type { Completion, EffectLost, EffectResult, EffectStarted, Totals } from "./journal.ts";
import { isOutcomeUnknown, recordedError, resultOf } from "./json.ts";
import type { OpenWait } from "./record.ts";
import type { Run } from "./run.ts";
import type { Timers } from "./timers.ts";

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

/** An open connection that this run's function waits for. */
interface Verifying {
  readonly verify: Connection["verify"];
  readonly pollMs: number;
  /** `view.claims` and the time at the last look. */
  claims: number;
  at: number;
  busy: boolean;
}

/** Where an effect stands, by the last of its entries. */
type Stage = "begun" | "lost" | "allowed" | "done";

export class EffectRunner {
  readonly #run: Run;
  readonly #asked = new Map<number, Asked>();
  readonly #connections = new Map<number, Verifying>();
  /** Effects that run now, and looks that are being taken: nothing may be parked or ended meanwhile. */
  running = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Effects that were begun, by a process that died, and have neither an outcome nor been found lost. */
  dangling(): { readonly at: number; readonly idempotent: boolean }[] {
    if (this.#run.entries.length === 0) return [];
    return this.#run.entries.flatMap((entry, at) =>
      entry.kind === "effect" && this.#stage(at) === "begun" ? [{ at, idempotent: entry.idempotent === true }] : [],
    );
  }

  /** The function has asked for an effect that has no outcome yet. */
  begin(at: number, asked: Asked, isNew: boolean): void {
    this.#asked.set(at, asked);
    if (isNew) return void this.#attempt(at, 1);
    const stage = this.#stage(at);
    // One that may not be repeated was found lost when the run resumed.
    if (stage === "allowed" || (stage === "begun" && asked.options.idempotent === true)) this.#again(at, 0);
  }

  /** An operator allows another attempt. */
  retry(at: number): void {
    if (this.#asked.has(at) && this.#stage(at) === "allowed") this.#again(at, 0);
  }

  /** Watches a connection: from its opening, or, when it was open before, with a look at once. */
  watch(at: number, connection: Connection, isNew: boolean): void {
    const { view } = this.#run.record;
    this.#connections.set(at, {
      verify: connection.verify,
      pollMs: connection.pollMs ?? 60_000,
      claims: isNew ? (view.claims ?? 0) : -1,
      at: isNew ? this.#run.ports.store.now() : 0,
      busy: false,
    });
  }

  /** Looks at the open connections that were said to be made, or that it is time to look at (E13). */
  verify(waits: readonly OpenWait[]): void {
    const now = this.#run.ports.store.now();
    const claims = this.#run.record.view.claims ?? 0;
    for (const { of } of waits) {
      const connection = this.#connections.get(of);
      if (connection === undefined || connection.busy) continue;
      if (connection.claims !== claims || now - connection.at >= connection.pollMs) void this.#look(of, connection);
    }
  }

  /** Hands a completion over to the function. */
  handOver(completion: Completion, settler: { resolve(value: unknown): void; reject(error: unknown): void }): void {
    if (completion.kind === "outcome") {
      const { result } = completion;
      if (!("error" in result)) return settler.resolve(structuredClone(result.value));
      const { name } = this.#run.entries[completion.of] as EffectStarted;
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
        return settler.reject(new DOMException("The wait was withdrawn.", "AbortError"));
    }
  }

  #again(at: number, pauseMs: number): void {
    const attempts =
      1 + this.#run.entries.filter((entry) => entry.kind === "retry" && entry.of === at && !entry.by).length;
    if (attempts >= attemptLimit && this.#asked.get(at)?.options.idempotent === true) {
      const message = `Its outcome was unknown ${attempts} times; it is not tried again.`;
      return this.#outcome(at, { error: { name: "EffectError", code: "effect.exhausted", message } });
    }
    this.running++;
    this.#run.ports.timers.after(pauseMs, () => {
      this.running--;
      if (this.#run.dropped || this.#run.cancelled) return this.#run.pump();
      this.running++;
      this.#run.write({ kind: "retry", of: at }, () => {
        this.running--;
        void this.#attempt(at, attempts + 1);
      });
    });
  }

  async #attempt(at: number, attempt: number): Promise<void> {
    const { name, run, options } = this.#asked.get(at)!;
    const started = this.#run.entries[at] as EffectStarted;
    const { ports } = this.#run;
    const { signal: timeout, stop } = deadline(ports.timers, options.timeoutMs);
    const signal = timeout ? AbortSignal.any([this.#run.signal, timeout]) : this.#run.signal;
    // A cancelled turn waits for what its effects say (E16); one that is out of time does not.
    const timeUp = timeout ? AbortSignal.any([this.#run.timeUp, timeout]) : this.#run.timeUp;
    let usage: Totals = {};
    const effect: Effect = {
      key: ports.entropy.derive(`effect ${started.id}`).slice(0, 32),
      signal,
      say: (text) => this.#run.showWords(text),
      progress: (report) => this.#run.showProgress(report),
      usage: (used) => {
        usage = {
          ...((used.tokens ?? usage.tokens) !== undefined && { tokens: (usage.tokens ?? 0) + (used.tokens ?? 0) }),
          ...((used.costUsd ?? usage.costUsd) !== undefined && { costUsd: (usage.costUsd ?? 0) + (used.costUsd ?? 0) }),
        };
      },
    };
    this.running++;
    // The last moment at which this node can know that it still may (E7).
    if (ports.timers.now() >= this.#run.leaseUntil && !(await this.#run.mayAct())) {
      stop();
      this.running--;
      return this.#run.pump();
    }
    let result: EffectResult | undefined;
    let why: EffectLost["why"] = "unknown";
    try {
      const context = { effect: true, rejected: (error: unknown) => this.#run.rejected(error) };
      const outcome = ports.asyncContext.run(context, () => invoke(run, effect));
      outcome.catch(() => undefined);
      const first = await Promise.race([outcome.then(resultOf), aborted(timeUp)]);
      if (first === undefined)
        void outcome.then(
          (value) => this.#late(at, resultOf(value)),
          () => undefined,
        );
      else result = first;
      why = timeout?.aborted ? "timeout" : "aborted";
    } catch (error) {
      if (signal.aborted) why = timeout?.aborted ? "timeout" : "aborted";
      else if (!isOutcomeUnknown(error)) result = { error: recordedError(error) };
    }
    stop();
    this.running--;
    if (result !== undefined) return this.#outcome(at, result, usage);
    if (options.idempotent === true && !this.#run.cancelled) {
      return this.#again(at, Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)));
    }
    ports.log.warn(
      { effect: name, why, task: ports.taskIds.encode(this.#run.record) },
      "The outcome of an effect is lost.",
    );
    this.#record({ kind: "lost", of: at, at: ports.store.now(), why });
  }

  #outcome(at: number, result: EffectResult, usage: Totals = {}): void {
    const used = usage.tokens !== undefined || usage.costUsd !== undefined;
    this.#record({ kind: "outcome", of: at, at: this.#run.ports.store.now(), result, ...(used && { usage }) });
  }

  #record(entry: Completion | EffectLost): void {
    if (this.#run.isOurs) this.#run.write(entry);
    else void this.#run.recordLate(entry);
    this.#run.pump();
  }

  /** It has come back after all, after its time was up: that resolves it, while nobody else has (E9). */
  #late(at: number, result: EffectResult): void {
    if (!this.#run.isOurs || this.#stage(at) === "lost") this.#outcome(at, result);
  }

  async #look(of: number, connection: Verifying): Promise<void> {
    const { ports } = this.#run;
    connection.busy = true;
    connection.claims = this.#run.record.view.claims ?? 0;
    connection.at = ports.store.now();
    this.running++;
    let connected = false;
    try {
      const context = { effect: true, rejected: (error: unknown) => this.#run.rejected(error) };
      const verify = async () => connection.verify({ signal: this.#run.signal });
      connected = await ports.asyncContext.run(context, verify);
    } catch (error) {
      ports.log.warn(
        { error, task: ports.taskIds.encode(this.#run.record) },
        "A connection could not be verified; it is looked at again.",
      );
    }
    this.running--;
    connection.busy = false;
    if (connected && this.#run.isOurs) this.#run.endWait(of, { how: "answered", value: true });
    this.#run.pump();
  }

  #stage(at: number): Stage {
    let stage: Stage = "begun";
    for (const entry of this.#run.entries) {
      if ((entry.kind !== "outcome" && entry.kind !== "lost" && entry.kind !== "retry") || entry.of !== at) continue;
      if (entry.kind === "outcome") return "done";
      stage = entry.kind === "lost" ? "lost" : entry.by === "operator" ? "allowed" : "begun";
    }
    return stage;
  }
}

async function invoke(run: Asked["run"], effect: Effect): Promise<unknown> {
  return run(effect);
}

/** Aborted after `ms`, if any; until it is stopped. */
function deadline(
  timers: Timers,
  ms: number | undefined,
): { readonly signal?: AbortSignal; readonly stop: () => void } {
  if (ms === undefined) return { stop: () => undefined };
  const controller = new AbortController();
  const expired = () => controller.abort(new DOMException(`It took longer than ${ms} ms.`, "TimeoutError"));
  return { signal: controller.signal, stop: timers.after(ms, expired) };
}

/** Resolves, with nothing, when the signal is aborted: an effect that ignores it is not waited for. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
