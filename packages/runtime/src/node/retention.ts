/**
 * Forgets what is past its time: message ids, deliveries that were given up, the journals of ended turns, ended turns, what they used.
 * In short steps with pauses in between, so that it takes a fifth of the writer's time at most, and no write waits for more than one step.
 */
import { setTimeout as pause } from "node:timers/promises";

import type { Forget, Store } from "../store/store.ts";
import type { Log } from "./log.ts";

export interface RetentionSettings {
  readonly turnRetentionMs: number;
  readonly journalRetentionMs: number;
  readonly usageRetentionMs: number;
  readonly giveUpRetentionMs: number;
}

export interface RetentionOptions {
  readonly store: Store;
  readonly settings: RetentionSettings;
  readonly log: Log;
  /** Told how many of what were forgotten. */
  readonly onForgotten?: (what: Forget["what"], count: number) => void;
}

/** Rows that a step looks at. */
const ROWS = 200;
/** Between two rounds, in milliseconds: a tenth of the shortest time that anything is kept, within these. */
const OFTENEST = 1_000;
const SELDOMEST = 10 * 60_000;
/** Of each step's time, how often that is paused; and at least so many milliseconds. */
const PAUSES = 4;
const BREATH = 5;

/** Goes on until it is disposed of. */
export function startRetention(options: RetentionOptions): AsyncDisposable {
  const { settings, log } = options;
  const { turnRetentionMs, journalRetentionMs, giveUpRetentionMs } = settings;
  const shortest = Math.min(
    ...[turnRetentionMs, journalRetentionMs, giveUpRetentionMs].filter((ms) => ms > 0),
    SELDOMEST * 10,
  );
  const between = Math.min(SELDOMEST, Math.max(OFTENEST, shortest / 10));
  const stopped = new AbortController();
  const { signal } = stopped;
  const rounds = async () => {
    while (!signal.aborted) {
      await pause(between, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await round(options, signal);
      } catch (error) {
        log.warn({ error }, "What is past its time could not be forgotten; it is tried again.");
      }
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

async function round({ store, settings, onForgotten }: RetentionOptions, signal: AbortSignal): Promise<void> {
  const now = store.now();
  const { turnRetentionMs, journalRetentionMs, usageRetentionMs, giveUpRetentionMs } = settings;
  const kinds: readonly (Omit<Forget, "limit" | "after"> & { readonly isOn: boolean })[] = [
    { what: "messages", before: now, isOn: true },
    { what: "giveUps", before: now - giveUpRetentionMs, isOn: giveUpRetentionMs > 0 },
    { what: "journals", before: now - journalRetentionMs, isOn: journalRetentionMs > 0 },
    { what: "turns", before: now - turnRetentionMs, isOn: turnRetentionMs > 0 },
    { what: "usage", before: now - usageRetentionMs, isOn: usageRetentionMs > 0 },
  ];
  for (const { what, before, isOn } of kinds) {
    if (!isOn) continue;
    for (let after: number | undefined; !signal.aborted;) {
      const began = performance.now();
      const step = await store.forget({ what, before, limit: ROWS, ...(after !== undefined && { after }) });
      if (step.count > 0) onForgotten?.(what, step.count);
      if (step.next === undefined) break;
      after = step.next;
      const took = performance.now() - began;
      await pause(Math.max(BREATH, took * PAUSES), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
