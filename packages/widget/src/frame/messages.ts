/** What the page and the frame say to each other by `postMessage`. Each is an object with a `type`; others are ignored. */
import type { ProgressEvent } from "@nylorun/protocol";

/** How the page looks where the frame is, so that the frame looks as if it were a part of it. */
export interface Look {
  readonly colorScheme: string;
  readonly color: string;
  readonly direction: string;
  readonly fontFamily: string;
  readonly fontSize: string;
}

export type ToFrame =
  /** The first word. The frame answers `ready`, to each one. */
  | { readonly type: "agent-progress:hello"; readonly look: Look }
  | { readonly type: "agent-progress:event"; readonly event: ProgressEvent }
  /** Milliseconds since 1970 by the clock that stamps the events. */
  | { readonly type: "agent-progress:now"; readonly now: number };

export type FromFrame =
  | { readonly type: "agent-progress:ready" }
  /** Of the content, in whole pixels. */
  | { readonly type: "agent-progress:height"; readonly height: number }
  /** An event that is none: what was expected and what came. */
  | { readonly type: "agent-progress:refused"; readonly reason: string };

/** Of this conversation, as far as its type tells. */
export function isMessage(data: unknown): boolean {
  const { type } = (data ?? {}) as { readonly type?: unknown };
  return typeof type === "string" && type.startsWith("agent-progress:");
}
