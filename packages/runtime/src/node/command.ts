/**
 * Does one command's work on a home: through the process that serves it, else in this process, which then has the home to itself
 * for that time.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { Operations } from "../http/operations.ts";
import { connectControl, findServing } from "./control-client.ts";
import { RuntimeError } from "./errors.ts";
import { isHome, missingHome, readOwner, takeHome } from "./home.ts";
import type { Home } from "./home.ts";
import type { Settings } from "./settings.ts";

/** How long to wait for a home that is held but takes no commands yet, or no more, in milliseconds. */
const PATIENCE = 5_000;
const PAUSE = 50;

/**
 * @param options.make Make the home if there is none.
 * @throws RuntimeError `home.missing`, `home.taken`, `home.unusable`, `control.failed`. OperationError.
 */
export async function withOperations<T>(
  settings: Settings,
  work: (operations: Operations) => Promise<T>,
  options: { readonly make?: boolean } = {},
): Promise<T> {
  if (options.make !== true && !isHome(settings.home)) throw missingHome(settings.home);
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const control = readOwner(settings.home)?.control;
    if (control !== undefined && (await findServing(control)) !== undefined) return work(connectControl(control));
    const home = await tryHome(settings.home, performance.now() < deadline);
    if (home !== undefined) return withStore(home, settings, work);
    await delay(PAUSE);
  }
}

async function tryHome(folder: string, mayBeTaken: boolean): Promise<Home | undefined> {
  try {
    return await takeHome(folder, { purpose: "command", patienceMs: 0 });
  } catch (error) {
    if (mayBeTaken && error instanceof RuntimeError && error.code === "home.taken") return undefined;
    throw error;
  }
}

async function withStore<T>(home: Home, settings: Settings, work: (operations: Operations) => Promise<T>): Promise<T> {
  using _ = home;
  const [{ openCore }, { createLog }] = await Promise.all([import("./core.ts"), import("./log.ts")]);
  // Nothing is run: the engine is not started, so it needs no agents.
  await using core = await openCore({ home, settings, agents: [], log: createLog(settings.logLevel) });
  return await work(core.operations);
}
