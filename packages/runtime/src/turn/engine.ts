/** Placeholder of the engine's face, so that the rooms around it can be built against its types. */
import type { Agent } from "@nylorun/agents";

import type { Signal } from "../store/signal.ts";
import type { Store } from "../store/store.ts";

export interface EngineOptions {
  readonly store: Store;
  readonly signal: Signal;
  readonly agents: readonly Agent[];
}

export interface Engine extends AsyncDisposable {
  start(): Promise<void>;
  /** Takes no new work, gives running turns `graceMs` to end, and lets the rest go so that the next start resumes them. */
  stop(options: { readonly graceMs: number }): Promise<void>;
}
