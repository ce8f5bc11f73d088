/**
 * What a program comes to when nothing interrupts it: the same program, handed what the journal says that it was handed, in that order,
 * by the simplest means there are. It knows nothing of the engine's replay.
 */
import { setImmediate } from "node:timers/promises";

import { perform, told } from "./program.ts";
import type { Ground, Program } from "./program.ts";

/** What the journal says of a run, by the paths of its calls. */
export interface Recorded {
  /** The calls. One that waited for something that is not turn's is among them, or came too late. */
  readonly called: ReadonlySet<string>;
  /** What they were handed, in order. */
  readonly handed: readonly Handed[];
  /** What the branches saw of what cannot be known here: time and chance. */
  readonly saw: ReadonlyMap<string, unknown>;
}

export interface Handed {
  readonly path: string;
  readonly result: { readonly value: unknown } | { readonly error: Error };
}

export interface Expected {
  /** Undefined when the program goes on after all that was handed to it. */
  readonly end: { readonly value: unknown } | { readonly threw: string } | undefined;
  /** What the branches were handed, in order. */
  readonly saw: readonly (readonly [path: string, what: unknown])[];
  /** Effects and waits that were called, by path. */
  readonly called: ReadonlySet<string>;
}

export async function expected(program: Program, recorded: Recorded): Promise<Expected> {
  const ground = new Bare(recorded);
  let end: Expected["end"];
  void perform(program, "p", ground).then(
    (value) => (end = { value }),
    (error: unknown) => (end = { threw: told(error) }),
  );
  await setImmediate();
  for (const handed of recorded.handed) {
    if (end !== undefined) break;
    ground.hand(handed);
    await setImmediate();
  }
  return { end, saw: ground.events, called: ground.called };
}

interface Settler {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

class Bare implements Ground {
  readonly events: [string, unknown][] = [];
  readonly called = new Set<string>();
  readonly #pending = new Map<string, Settler>();
  readonly #recorded: Recorded;

  constructor(recorded: Recorded) {
    this.#recorded = recorded;
  }

  hand({ path, result }: Handed): void {
    const settler = this.#pending.get(path);
    if ("error" in result) settler?.reject(result.error);
    else settler?.resolve(result.value);
  }

  effect(path: string): Promise<unknown> {
    return this.#call(path);
  }

  wait(path: string): Promise<unknown> {
    return this.#call(path);
  }

  /** The turn began under this very code. */
  mark(_: string, mark: "say" | "usage" | "patch" | "plan"): unknown {
    return mark === "patch" || mark;
  }

  draw(path: string): unknown {
    return this.#recorded.saw.get(path);
  }

  async detour(path: string): Promise<void> {
    if (!this.#recorded.called.has(path)) await new Promise(() => {});
  }

  saw(path: string, what: unknown): void {
    this.events.push([path, what]);
  }

  #call(path: string): Promise<unknown> {
    this.called.add(path);
    const promise = new Promise((resolve, reject) => this.#pending.set(path, { resolve, reject }));
    promise.catch(() => undefined);
    return promise;
  }
}
