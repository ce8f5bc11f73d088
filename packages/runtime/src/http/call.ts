/** One A2A call, once everything that is the same for every method has been checked. */
import type { Agent } from "@nylorun/agents";
import type { ExtensionUri } from "@nylorun/protocol";

import type { Scope } from "../turn/engine.ts";

export interface Call {
  /** Who calls, and which agent: what the caller sees is this scope's alone (I7). */
  readonly scope: Scope;
  readonly agent: Agent;
  /** The extensions that the request activated. */
  readonly active: ReadonlySet<ExtensionUri>;
  /** W3C trace context of the request. */
  readonly traceparent: string | undefined;
  readonly request: Request;
}
