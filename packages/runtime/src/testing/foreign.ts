/**
 * Knows what an agent's function awaits that is not `turn`'s: every timer, socket, file, … that is begun in its own code, outside of
 * effects. A function that is dropped while it waits (E11) leaves them behind, and what they wake runs on unheard.
 *
 * Async hooks see all of it, whichever module it was imported from; replacing the global functions would not.
 */
import { AsyncLocalStorage, createHook } from "node:async_hooks";

/** Not begun outside: promises, and what runs before anything outside can happen. */
const inside = new Set(["PROMISE", "Microtask", "TickObject"]);

/** One call of an agent's `run`. Code that it calls through `turn` is not its own. */
const own = new AsyncLocalStorage<Foreign>();

let users = 0;
const begun = new Map<number, Foreign>();
const hook = createHook({
  init(id, type, _trigger, resource) {
    const foreign = own.getStore();
    if (foreign === undefined || inside.has(type)) return;
    begun.set(id, foreign);
    foreign.begin(id, type, resource);
  },
  destroy(id) {
    begun.get(id)?.end(id);
    begun.delete(id);
  },
});

/** Nothing is known of what was begun before, or after it is disposed of. */
export function watchForeign(): Disposable {
  if (users++ === 0) hook.enable();
  return {
    [Symbol.dispose]() {
      if (--users > 0) return;
      hook.disable();
      begun.clear();
    },
  };
}

/** Of code that runs now: the call of `run` whose own it is. */
export function ownRun(): Foreign | undefined {
  return own.getStore();
}

export class Foreign {
  /** The number of this call of `run`, from 0. */
  readonly call: number;
  readonly #timers = new Map<number, object>();
  #others = 0;

  constructor(call: number) {
    this.call = call;
  }

  /** Runs the function. */
  run<Result>(code: () => Result): Result {
    return own.run(this, code);
  }

  /** Runs what is not the function's own, though it asked for it. */
  static outside<Result>(code: () => Result): Result {
    return own.exit(code);
  }

  /** Whether it has begun anything that may still wake it. */
  get any(): boolean {
    return this.#others > 0 || this.pendingTimers > 0;
  }

  /** Timers that keep the process alive. */
  get pendingTimers(): number {
    return [...this.#timers.values()].filter(keepsAlive).length;
  }

  /** So that they do not keep the test's process. */
  clearTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer as ReturnType<typeof setTimeout>);
  }

  begin(id: number, type: string, resource: object): void {
    if (type === "Timeout" || type === "Immediate") this.#timers.set(id, resource);
    else this.#others++;
  }

  end(id: number): void {
    // Others end whenever the garbage is collected, or never: what they wake may come any time.
    this.#timers.delete(id);
  }
}

function keepsAlive(timer: { readonly hasRef?: () => boolean }): boolean {
  return timer.hasRef?.() !== false;
}
