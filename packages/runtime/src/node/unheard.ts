/**
 * Errors that nobody hears: a promise that is rejected with no one awaiting it, something thrown in a timer or an event
 * listener. By Node's default they end the process. When they come from an agent's code, which the async context tells, they
 * fail that agent's turn instead (E17).
 */
import { AsyncLocalStorage } from "node:async_hooks";

import type { AsyncContext, Running } from "../turn/ports.ts";

const context = new AsyncLocalStorage<Running>();

/** Which run the code that runs now belongs to. One for the process, because so are its unheard errors. */
export const asyncContext: AsyncContext<Running> = {
  run: (value, code) => context.run(value, code),
  get: () => context.getStore(),
};

/** Fails the turn that an unheard error comes from. False when it comes from no turn. */
export function failItsTurn(error: unknown): boolean {
  const running = context.getStore();
  running?.rejected(error);
  return running !== undefined;
}

let users = 0;

/** Until it is disposed of, unheard rejections from agents' code do not end the process. Others do what they always did. */
export function hearRejections(): Disposable {
  if (users++ === 0) process.on("unhandledRejection", onRejection);
  let disposed = false;
  return {
    [Symbol.dispose]() {
      if (disposed) return;
      disposed = true;
      if (--users === 0) process.off("unhandledRejection", onRejection);
    },
  };
}

function onRejection(error: unknown): void {
  // With a listener Node leaves it at that; alone we stand in for its default, which is to throw.
  if (!failItsTurn(error) && process.listenerCount("unhandledRejection") === 1) throw error;
}
