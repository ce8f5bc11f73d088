/**
 * Stands between an agent's code and the engine: counts what runs, puts a script's code in the place of the agent's, and hears what
 * the engine only reports.
 */
import { setTimeout as delay } from "node:timers/promises";

import { AgentError, OutcomeUnknown } from "@nylorun/agents";
import type { Agent, Connection, Effect, EffectOptions, Output, Turn } from "@nylorun/agents";

import { TestingError } from "./errors.ts";
import { Foreign } from "./foreign.ts";
import type { Script } from "./script.ts";

/** How long timers that a dropped function has left behind are waited for, in real milliseconds. */
const timersMs = 250;
/** The same for everything else, which nobody tells the end of. */
const othersMs = 50;

/** Everything that is known of one effect, by the key that its code is given. */
export interface Seen {
  readonly name: string;
  readonly key: string;
  readonly idempotent: boolean;
  /** When it first ran, by simulated time. */
  readonly at: number;
  readonly attempts: Attempt[];
  /** How often it may run, if it is not idempotent. */
  allowed: number;
}

/** One call of an effect's code. */
export interface Attempt {
  /** Undefined: it is still running. */
  outcome: { readonly value: unknown } | { readonly threw: unknown } | undefined;
  /** Resolves when there is an outcome. Never rejects. */
  readonly settled: Promise<undefined>;
}

export class Observer {
  readonly #script: Script;
  readonly #now: () => number;
  readonly #seen = new Map<string, Seen>();
  #calls = 0;
  /** The call of `run` that is the turn's now. */
  #current: Foreign | undefined;
  #complaint: TestingError | undefined;
  /** What `run` threw last. */
  error: unknown;
  /** What effects said: they say it again when they run again. */
  readonly saidInEffects = new Set<string>();

  constructor(script: Script, now: () => number) {
    this.#script = script;
    this.#now = now;
  }

  /** The effects whose code ran, in the order in which they began. */
  get seen(): readonly Seen[] {
    return [...this.#seen.values()];
  }

  /** Whether code of an effect runs. */
  get busy(): boolean {
    return this.seen.some(({ attempts }) => attempts.some(({ outcome }) => outcome === undefined));
  }

  /** Whether an effect is to be tried again, and its code does not run. */
  get waitsToRetry(): boolean {
    return !this.busy && this.seen.some(({ idempotent, attempts }) => idempotent && isUnknown(attempts.at(-1)));
  }

  find(key: string): Seen | undefined {
    return this.#seen.get(key);
  }

  /** The first thing that was wrong is what the test fails with. */
  complain(error: TestingError): void {
    this.#complaint ??= error;
  }

  /** @throws TestingError */
  check(): void {
    if (this.#complaint !== undefined) throw this.#complaint;
  }

  /** The agent, with everything that it does seen. */
  watch(agent: Agent): Agent {
    return Object.freeze({ ...agent, run: (turn: Turn) => this.#run(agent, turn) });
  }

  /**
   * The function was dropped, because it waits: nothing of it may go on.
   *
   * @throws TestingError `turn.unjournaled`.
   */
  async dropped(): Promise<void> {
    const call = this.#current;
    if (call === undefined || !call.any) return;
    const began = performance.now();
    while (call.any && performance.now() - began < (call.pendingTimers > 0 ? timersMs : othersMs)) {
      await delay(1);
      this.check();
    }
    await delay(1);
    this.check();
    if (call.pendingTimers === 0) return;
    call.clearTimers();
    throw new TestingError(
      "turn.unjournaled",
      "run has begun a timer of its own, and was dropped while it waits for an answer or a sleep: what the timer wakes comes to nothing. " +
        "Use turn.sleep, expiresInMs, or the signal of an effect instead.",
    );
  }

  /** The process dies: what its effects have begun comes to its end, as far as it soon does. */
  async died(): Promise<void> {
    const running = this.seen.flatMap(({ attempts }) => attempts).filter(({ outcome }) => outcome === undefined);
    await Promise.race([Promise.all(running.map(({ settled }) => settled)), delay(othersMs)]);
  }

  async #run(agent: Agent, turn: Turn): Promise<Output> {
    const call = new Foreign(this.#calls++);
    this.#current = call;
    this.error = undefined;
    try {
      return await call.run(() => agent.run(this.#watchTurn(turn)));
    } catch (error) {
      if (call === this.#current) this.error = error;
      throw error;
    }
  }

  #watchTurn(turn: Turn): Turn {
    const members = Object.entries(turn).map(([name, member]: [string, unknown]) => {
      if (typeof member !== "function") return [name, member] as const;
      const call = member as (...args: readonly unknown[]) => unknown;
      return [name, (...args: readonly unknown[]) => this.#called(() => call(...args))] as const;
    });
    return {
      ...(Object.fromEntries(members) as unknown as Turn),
      effect: (name, run, options) =>
        this.#called(() => turn.effect(name, this.#watchCode(name, run, options), options)),
      connect: (connection) => this.#called(() => turn.connect(this.#watchConnection(connection))),
    };
  }

  #watchCode<Result>(
    name: string,
    run: (effect: Effect) => Result | Promise<Result>,
    options: EffectOptions | undefined,
  ): (effect: Effect) => Promise<Result> {
    // Checked by the engine, which says what is wrong with it.
    if (typeof run !== "function") return run;
    const code = (this.#script.effects?.[name] as typeof run | undefined) ?? run;
    return async (effect) => {
      const idempotent = options?.idempotent === true;
      const { key } = effect;
      const seen = this.#seen.get(key) ?? { name, key, idempotent, at: this.#now(), attempts: [], allowed: 1 };
      this.#seen.set(key, seen);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const attempt: Attempt = { outcome: undefined, settled: promise };
      seen.attempts.push(attempt);
      const say = (text: string) => {
        this.saidInEffects.add(text);
        effect.say(text);
      };
      try {
        const value = await code({ ...effect, say });
        attempt.outcome = { value };
        return value;
      } catch (error) {
        attempt.outcome = { threw: error };
        throw error;
      } finally {
        resolve(undefined);
      }
    };
  }

  #watchConnection(connection: Connection): Connection {
    const verify = this.#script.effects?.[connection.provider];
    return verify === undefined ? connection : { ...connection, verify: verify as Connection["verify"] };
  }

  #called<Result>(call: () => Result): Result {
    try {
      const result = Foreign.outside(call);
      if (result instanceof Promise) result.catch((error: unknown) => this.#hear(error));
      return result;
    } catch (error) {
      this.#hear(error);
      throw error;
    }
  }

  /** An author may catch it, or not look; it is wrong all the same. */
  #hear(error: unknown): void {
    if (error instanceof AgentError && error.code === "turn.unjournaled") {
      this.complain(new TestingError("turn.unjournaled", error.message, { cause: error }));
    }
  }
}

export function isUnknown(attempt: Attempt | undefined): boolean {
  const outcome = attempt?.outcome;
  if (outcome === undefined || !("threw" in outcome)) return false;
  const { threw } = outcome;
  return threw instanceof OutcomeUnknown || (threw as { readonly name?: unknown } | null)?.name === "OutcomeUnknown";
}
