/** How `nylorun watch` shows what it follows: drawn on a terminal, else in lines. */
import { dayOf, daysBefore, RETENTION_DAYS, SinkReader } from "@nylorun/progress";

import { localSinkFolder } from "../../node/sink.ts";
import { terminalFeatures } from "../../node/terminal.ts";

export interface WatchOptions {
  readonly all: boolean;
  readonly once: boolean;
  readonly plain: boolean;
  readonly json: boolean;
}

/** Watches until it is ended by a signal, a key, or a reader that is gone. */
export async function watch({ all, once, plain, json }: WatchOptions): Promise<void> {
  // From the beginning, for how long things usually take.
  const from = daysBefore(dayOf(Date.now()), RETENTION_DAYS);
  using reader = new SinkReader({ folder: localSinkFolder(), from });
  const stop = new AbortController();
  const { signal } = stop;
  const end = (): void => stop.abort();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, end);
  process.stdout.on("error", end);
  const features = terminalFeatures();
  if (process.stdout.isTTY && features.draws && !plain && !json && !once) {
    const { watchLive } = await import("./live.ts");
    await watchLive({ reader, all, features, stop });
    return;
  }
  const { printChanges, printOnce } = await import("./lines.ts");
  if (once) printOnce({ reader, all, json, signal });
  else await printChanges({ reader, all, json, signal });
}
