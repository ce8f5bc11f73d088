import { createHmac, hash, randomFillSync } from "node:crypto";

import type { Entropy } from "../turn/ports.ts";

/** Bytes that are drawn in one go: asking for few at a time costs more than using them. */
const poolBytes = 4096;

/** @param secret What derived values follow from: a row of the store, so that they are the same after a restart. */
export function createEntropy(secret: Uint8Array): Entropy {
  const pool = Buffer.alloc(poolBytes);
  let used = poolBytes;
  const draw = (bytes: number, encoding: "base64url" | "hex"): string => {
    if (used + bytes > poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    return pool.toString(encoding, used, (used += bytes));
  };
  return {
    id: () => draw(16, "base64url"),
    hex: (bytes) => draw(bytes, "hex"),
    derive: (text) => createHmac("sha256", secret).update(text).digest("hex"),
    hash: (text) => hash("sha256", text, "hex"),
  };
}
