/** What was used, by agent and day. */
import { call } from "./session.ts";

export interface Usage {
  readonly agent: string;
  /** UTC, such as `2026-10-14`. */
  readonly day: string;
  /** Turns that ended. */
  readonly turns: number;
  readonly tokens?: number;
  readonly costUsd?: number;
}

/** @param query Such as `&as=operator`. */
export async function usageOf(days: number, query: string): Promise<readonly Usage[]> {
  return ((await call("GET", `v1/usage?days=${days}${query}`)) as { readonly usage: readonly Usage[] }).usage;
}
