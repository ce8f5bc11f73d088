/** What stores name in the same way, whichever they are. */
import { hash, randomUUID } from "node:crypto";

import type { MessageKey } from "./store.ts";

/** Of what makes a message one of its own: its subject, agent, context and id. */
export function messageDigest({ subject, agent, contextId, messageId }: MessageKey): string {
  return hash("sha256", JSON.stringify([subject, agent, contextId ?? null, messageId]), "base64url").slice(0, 22);
}

/** Of a new context: a UUIDv7, random, yet in the order of time, so that the index on it grows at its right edge. */
export function newContextName(now: number): string {
  const time = now.toString(16).padStart(12, "0");
  const random = randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
