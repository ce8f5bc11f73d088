/**
 * Knows what an agent's function awaits that is not `turn`'s: every timer, socket, file, … that is begun in its own code, outside of
 * effects. A function that is dropped while it waits (E11) leaves them behind, and what they wake runs on unheard.
 *
 * Async hooks see all of it, whichever module it was imported from; replacing the global functions would not.
 */
import { AsyncLocalStorage, createHook } from "node:async_hooks";

/** Not begun outside: promises, and what runs before anything outside can happen. */
const inside = new Set(["PROMISE", "Microtask", "TickObject"]);

/** A timer of Node's, or an immediate. */
interface Timer {
  hasRef(): boolean;
  /** It has gone off, or was called off. Node has no other way to tell. */
  readonly _destroyed?: boolean;
}

/** One call of an agent's `run`. Code that it calls through `turn` is not its own. */
const own = new AsyncLocalStorage<Foreign>();

let users = 0;
// To be told when something ends would cost each promise more than it does.
const hook = createHook({
  init(_id, type, _trigger, resource) {
    if (!inside.has(type)) own.getStore()?.begin(type, resource);
  },
});

/** Nothing is known of what was begun before, or after it is disposed of. */
export function watchForeign(): Disposable {
  if (users++ === 0) hook.enable();
  return {
    [Symbol.dispose]() {
      if (--users === 0) hook.disable();
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
  readonly #timers: Timer[] = [];
  /** Nobody tells when they end: what they wake may come at any time. */
  #others = false;

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
    return this.#others || this.pendingTimers > 0;
  }

  /** Timers that have not gone off and keep the process alive. */
  get pendingTimers(): number {
    return this.#timers.filter((timer) => timer._destroyed !== true && timer.hasRef()).length;
  }

  /** So that they do not keep the test's process. */
  clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer as ReturnType<typeof setTimeout>);
  }

  begin(type: string, resource: object): void {
    if (type === "Timeout" || type === "Immediate") this.#timers.push(resource as Timer);
    else this.#others = true;
  }
}
