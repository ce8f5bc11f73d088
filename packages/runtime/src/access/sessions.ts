/**
 * Browsers that are signed in. A session is a random token, which the browser has in a cookie; the store has its hash and, sealed under
 * a key that is made of the token, the credentials that the person signed in with. So what the database holds opens nothing, and
 * what the browser holds ends with one row.
 *
 * The credentials are looked at again at each request: a session ends with its key, its token or its issuer.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";

import type { SessionStore } from "../store/store.ts";

/** Bearer tokens: of a subject, of an operator, or of both. */
export interface Credentials {
  readonly subject?: string;
  readonly operator?: string;
}

export interface OpenSession {
  readonly credentials: Credentials;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface Sessions {
  /** Begins a session. The token returned is the only copy there is. */
  begin(credentials: Credentials): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Undefined: there is none (any more). */
  find(token: string): Promise<OpenSession | undefined>;
  end(token: string): Promise<void>;
}

/** How long a browser stays signed in, in milliseconds. */
const LIFETIME = 30 * 24 * 60 * 60_000;
/** 256 bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** @param now Default: the system's clock. The store's, where there is one. */
export function createSessions(store: SessionStore, now: () => number = Date.now): Sessions {
  return {
    async begin(credentials) {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = now() + LIFETIME;
      await store.add({ hash: hashOf(token), sealed: seal(token, JSON.stringify(credentials)), expiresAt });
      return { token, expiresAt };
    },
    async find(token) {
      if (!TOKEN.test(token)) return undefined;
      const session = await store.find(hashOf(token));
      if (session === undefined) return undefined;
      const credentials = JSON.parse(unseal(token, session.sealed)) as Credentials;
      return { credentials, expiresAt: session.expiresAt };
    },
    async end(token) {
      if (TOKEN.test(token)) await store.remove(hashOf(token));
    },
  };
}

/** Sessions of a process that keeps nothing. */
export function createPassingSessions(): Sessions {
  const sessions = new Map<string, OpenSession>();
  return {
    async begin(credentials) {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = Date.now() + LIFETIME;
      sessions.set(hashOf(token), { credentials, expiresAt });
      return { token, expiresAt };
    },
    find: async (token) => sessions.get(hashOf(token)),
    end: async (token) => void sessions.delete(hashOf(token)),
  };
}

/** Sign-in links that open once: for whoever reads them on this machine, in place of a key to be typed. */
export class SignInLinks {
  readonly #waiting = new Map<string, OpenSession>();

  /** @returns What the link carries. */
  make(credentials: Credentials): string {
    const code = randomBytes(16).toString("base64url");
    this.#waiting.set(hashOf(code), { credentials, expiresAt: Date.now() + LINK_LIFETIME });
    return code;
  }

  /** Undefined: there is no such link, it was used, or its time is over. */
  use(code: string): Credentials | undefined {
    const key = hashOf(code);
    const link = this.#waiting.get(key);
    this.#waiting.delete(key);
    return link !== undefined && link.expiresAt > Date.now() ? link.credentials : undefined;
  }
}

/** In milliseconds. It was printed in the morning, and is clicked on in the evening. */
const LINK_LIFETIME = 24 * 60 * 60_000;

function hashOf(token: string): string {
  return hash("sha256", `nylorun session ${token}`, "base64url");
}

/** A token is used for one session, and its key seals one text. */
function keyOf(token: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", token, "", "nylorun session credentials", 32));
}

function seal(token: string, text: string): Uint8Array {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(token), iv);
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return new Uint8Array(Buffer.concat([iv, cipher.getAuthTag(), body]));
}

/** @throws When it was not sealed with this token. */
function unseal(token: string, sealed: Uint8Array): string {
  const decipher = createDecipheriv("aes-256-gcm", keyOf(token), sealed.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const body = sealed.subarray(IV_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
}
