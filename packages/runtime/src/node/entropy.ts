import { createHmac, hash, randomBytes } from "node:crypto";

import type { Entropy } from "../turn/ports.ts";

/** @param secret What derived values follow from: a row of the store, so that they are the same after a restart. */
export function createEntropy(secret: Uint8Array): Entropy {
  return {
    id: () => randomBytes(16).toString("base64url"),
    derive: (text) => createHmac("sha256", secret).update(text).digest("hex"),
    hash: (text) => hash("sha256", text, "hex"),
  };
}
