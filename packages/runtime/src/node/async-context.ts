import { AsyncLocalStorage } from "node:async_hooks";

import type { AsyncContext, Running } from "../turn/ports.ts";

export function createAsyncContext<Value>(): AsyncContext<Value> {
  const storage = new AsyncLocalStorage<Value>();
  return { run: (value, code) => storage.run(value, code), get: () => storage.getStore() };
}

/**
 * A promise that an agent's code leaves rejected fails its turn, and nothing else (E17): Node reports it in the context that the
 * promise was made in.
 *
 * @returns Stops that.
 */
export function catchRejections(context: AsyncContext<Running>): () => void {
  const onRejection = (reason: unknown) => {
    const running = context.get();
    // Nobody's: then it is a fault of ours, which ends the process as Node has it.
    if (running === undefined) throw reason;
    running.rejected(reason);
  };
  process.on("unhandledRejection", onRejection);
  return () => process.off("unhandledRejection", onRejection);
}
