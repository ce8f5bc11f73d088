/**
 * Removes blobs that nobody needs any more. The Store says which: from that moment on, nobody is given them. A collector that dies
 * leaves them condemned, and the next one begins with them.
 */
import { setTimeout as pause } from "node:timers/promises";

import type { FileStore } from "../store/files.ts";
import type { EngineLog } from "../turn/ports.ts";
import type { Blobs } from "./blob.ts";

export interface CollectorOptions {
  readonly store: { readonly files: FileStore };
  readonly blobs: Blobs;
  readonly log: Pick<EngineLog, "warn">;
  /** Told how many were removed. */
  readonly onRemoved?: ((count: number) => void) | undefined;
}

/** Between two rounds, in milliseconds: what was deleted on request is gone soon after. */
const EVERY = 10_000;
/** Blobs that are removed in one go. */
const AT_ONCE = 100;

/** Goes on until it is disposed of. */
export function startCollector({ store, blobs, log, onRemoved }: CollectorOptions): AsyncDisposable {
  const stopped = new AbortController();
  const { signal } = stopped;
  const round = async () => {
    for (;;) {
      const condemned = await store.files.condemn(AT_ONCE);
      if (condemned.length === 0 || signal.aborted) return;
      await blobs.remove(condemned);
      await store.files.gone(condemned.map(({ blob }) => blob));
      onRemoved?.(condemned.length);
    }
  };
  const rounds = async () => {
    while (!signal.aborted) {
      await round().catch((error: unknown) => {
        if (!signal.aborted) log.warn({ error }, "Files that nobody needs could not be removed; it is tried again.");
      });
      await pause(EVERY, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  const over = rounds();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await over;
    },
  };
}
