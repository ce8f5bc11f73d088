/**
 * Page tokens of ListTasks: the last row of a page, encrypted, so that a caller can read nothing from one (how many turns
 * there are is nobody's business), and sealed together with whose list it is and what it was filtered by, so that it is no good
 * for any other one.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import type { Store } from "../store/store.ts";

/** Where a page ended. */
export interface PageEnd {
  readonly statusAt: number;
  readonly turn: number;
}

export interface PageTokens {
  /** @param list What the list is of: any text, the same for each of its pages. */
  seal(end: PageEnd, list: string): Promise<string>;
  /** Undefined for anything that `seal` did not make for this very list. */
  open(token: string, list: string): Promise<PageEnd | undefined>;
}

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const END_BYTES = 16;
const TAG_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{59}$/;

/** The key is the store's: tokens hold across restarts, and between nodes. */
export function createPageTokens(store: Store): PageTokens {
  let key: Uint8Array | undefined;
  const secret = async () => (key ??= await store.secret("page-token", () => randomBytes(KEY_BYTES)));
  return {
    async seal({ statusAt, turn }, list) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, await secret(), nonce).setAAD(Buffer.from(list));
      const end = Buffer.alloc(END_BYTES);
      end.writeDoubleBE(statusAt, 0);
      end.writeDoubleBE(turn, 8);
      return Buffer.concat([nonce, cipher.update(end), cipher.final(), cipher.getAuthTag()]).toString("base64url");
    },

    async open(token, list) {
      if (!TOKEN.test(token)) return undefined;
      const bytes = Buffer.from(token, "base64url");
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, await secret(), nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(list))
        .setAuthTag(bytes.subarray(NONCE_BYTES + END_BYTES));
      const end = decipher.update(bytes.subarray(NONCE_BYTES, NONCE_BYTES + END_BYTES));
      try {
        decipher.final();
      } catch {
        return undefined;
      }
      return { statusAt: end.readDoubleBE(0), turn: end.readDoubleBE(8) };
    },
  };
}
