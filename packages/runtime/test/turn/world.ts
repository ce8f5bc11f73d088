/**
 * What is outside of a turn: the things that its effects do, the people that answer it, the operator who looks what happened. It
 * remembers everything, and finds out whatever does not fit.
 */
import { setImmediate } from "node:timers/promises";

import { OutcomeUnknown } from "@nylorun/agents";
import type { Turn } from "@nylorun/agents";

import type { EffectPlan, Ground, WaitPlan } from "./program.ts";

/** Fractions of a second that mark sleeps, downwards: a due time is a whole second and its sleep's mark. */
const firstMark = 999;

interface Attempt {
  readonly path: string;
  readonly life: number;
  readonly finish: () => void;
}

/** One run of the function. */
export interface Trace {
  readonly events: (readonly [path: string, what: unknown])[];
}

export class World {
  /** Effects that were begun and have not come back. */
  readonly pending = new Set<Attempt>();
  readonly traces: Trace[] = [];
  /** What each wait was answered with. */
  readonly answers = new Map<string, unknown>();
  readonly connected = new Set<string>();
  readonly looked = new Set<string>();
  /** How often each effect was begun, and whether it was done. */
  readonly begun = new Map<string, number>();
  readonly done = new Map<string, { readonly of: string; readonly attempt: number }>();
  /** How often an operator allowed another attempt. */
  readonly allowed = new Map<string, number>();
  /** Promises that were broken in effects. */
  readonly broken: string[] = [];
  readonly #paths = new Map<string, string>();
  readonly #marks = new Map<string, number>();

  /** The path of an effect, by its key. */
  pathOf(key: string): string | undefined {
    return this.#paths.get(key);
  }

  /** The path of a sleep, by when it ends. */
  sleeper(until: number): string | undefined {
    return [...this.#marks].find(([, mark]) => mark === until % 1000)?.[0];
  }

  markOf(path: string): number {
    const mark = this.#marks.get(path) ?? firstMark - this.#marks.size;
    this.#marks.set(path, mark);
    return mark;
  }

  /** An effect's code. */
  attempt(path: string, plan: EffectPlan, { key, life }: { readonly key: string; readonly life: number }): unknown {
    const attempt = (this.begun.get(path) ?? 0) + 1;
    this.begun.set(path, attempt);
    this.#expect((this.#paths.get(key) ?? path) === path, "two effects have one key");
    for (const [other, of] of this.#paths) this.#expect(of !== path || other === key, "an effect has two keys");
    this.#paths.set(key, path);
    const allowed = plan.idempotent ? Infinity : 1 + (this.allowed.get(path) ?? 0);
    this.#expect(attempt <= allowed, `${path} was begun ${attempt} times (I4)`);
    const finish = () => {
      const value = { of: path, attempt };
      // Whether it was done before the line broke is not known to who called.
      if (attempt <= plan.unknown) {
        if (attempt === 1) this.done.set(path, value);
        throw new OutcomeUnknown();
      }
      if (plan.fails) throw new Error(`failed at ${path}`);
      this.done.set(path, value);
      return value;
    };
    if (plan.prompt) return finish();
    return new Promise((resolve, reject) => {
      const pending: Attempt = {
        path,
        life,
        finish: () => {
          this.pending.delete(pending);
          try {
            resolve(finish());
          } catch (error) {
            reject(error);
          }
        },
      };
      this.pending.add(pending);
    });
  }

  /** What is thrown in an effect is its outcome, and may well be caught: what may not be is told at the end. */
  #expect(so: boolean, otherwise: string): void {
    if (!so) this.broken.push(otherwise);
  }

  /** What a process did when it died is never heard of again. */
  forget(life: number): void {
    for (const attempt of this.pending) if (attempt.life === life) this.pending.delete(attempt);
  }

  /** A run of the function, in one of its lives. */
  ground(turn: Turn, life: number): Ground {
    const trace: Trace = { events: [] };
    this.traces.push(trace);
    return new OnTurn({ world: this, turn, life, trace });
  }
}

interface Parts {
  readonly world: World;
  readonly turn: Turn;
  readonly life: number;
  readonly trace: Trace;
}

class OnTurn implements Ground {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  effect(path: string, plan: EffectPlan, { keyed }: { readonly keyed: boolean }): Promise<unknown> {
    const { world, turn, life } = this.#parts;
    return turn.effect(plan.name, ({ key }) => world.attempt(path, plan, { key, life }), {
      ...(keyed && { key: path }),
      ...(plan.idempotent && { idempotent: true }),
      ...(plan.timed && { timeoutMs: 10_000 }),
    });
  }

  wait(
    path: string,
    plan: WaitPlan,
    { keyed, signal }: { readonly keyed: boolean; readonly signal?: AbortSignal },
  ): Promise<unknown> {
    const { world, turn } = this.#parts;
    const options = { ...(keyed && { key: path }), ...(signal && { signal }) };
    const asked = { ...options, prompt: path, ...(plan.expires && { expiresInMs: 30_000 }) };
    switch (plan.kind) {
      case "approve":
        return turn.approve(asked);
      case "ask":
        return turn.ask(asked);
      case "connect":
        return turn.connect({
          ...asked,
          provider: "p",
          verify: () => {
            world.looked.add(path);
            return world.connected.has(path);
          },
        });
      case "sleep":
        return turn.sleep(1000 * (1 + (path.length % 5)) + world.markOf(path), options).then(() => "slept");
    }
  }

  mark(path: string, mark: "say" | "usage" | "patch" | "plan"): unknown {
    const { turn } = this.#parts;
    switch (mark) {
      case "say":
        turn.say(path);
        return mark;
      case "usage":
        turn.usage({ tokens: 1 });
        return mark;
      case "plan":
        turn.plan([path.slice(-100)]).start(0);
        return mark;
      case "patch":
        return turn.patch(path);
    }
  }

  draw(): unknown {
    const { turn } = this.#parts;
    return [turn.now().getTime(), turn.random(), turn.uuid()];
  }

  async detour(_: string, ticks: number): Promise<void> {
    for (let tick = 0; tick < ticks; tick++) await setImmediate();
  }

  saw(path: string, what: unknown): void {
    this.#parts.trace.events.push([path, structuredClone(what)]);
  }
}
