/**
 * Links to files: each is the permission to have one content of one task, for a few minutes, and needs no other. It is signed with a key
 * that only the Runtime has, and that changes by itself: a key signs for one period, and is still taken during the next.
 *
 * A link says which bytes by their hash, so that it can never come to mean others; and dies with its task, which is looked up when it is used.
 */
import { randomBytes } from "node:crypto";

import { errors, jwtVerify, SignJWT } from "jose";

export interface LinkOptions {
  /** Rows of the store: see `Store.secret`. */
  readonly secret: (name: string, make: () => Uint8Array) => Promise<Uint8Array>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long a link is good for, in milliseconds. */
  readonly ms: number;
  /** Where the Runtime is, as callers reach it; without a slash at the end. */
  readonly publicUrl: string;
}

/** What a link leads to. */
export interface Linked {
  readonly taskId: string;
  readonly sha256: string;
  /** What it is called where it is saved. */
  readonly name: string;
  readonly mediaType: string;
  /** It is the list of a folder's files, to be given out with links to them. */
  readonly isFolder?: true;
}

export interface FileLinks {
  make(linked: Linked): Promise<string>;
  /** `expired`: it was one of ours. Undefined: it is none. */
  open(token: string): Promise<Linked | "expired" | undefined>;
}

/** Where links lead. */
export const FILES_PATH = "/v1/files";

/** How long a key signs, in milliseconds. Longer than any link is good for. */
export const keyPeriodMs = 30 * 86_400_000;

const ISSUER = "nylorun";
const AUDIENCE = "files";
const ALGORITHM = "HS256";
const KEY_BYTES = 32;

export function createFileLinks({ secret, now, ms, publicUrl }: LinkOptions): FileLinks {
  const keys = new Map<number, Promise<Uint8Array>>();
  const keyOf = (period: number): Promise<Uint8Array> => {
    let key = keys.get(period);
    if (key === undefined) {
      // A store that does not answer is asked again next time.
      key = secret(`file-links-${period}`, () => randomBytes(KEY_BYTES));
      key.catch(() => keys.delete(period));
      keys.set(period, key);
      for (const old of keys.keys()) if (old < period - 2) keys.delete(old);
    }
    return key;
  };
  const periodOf = (time: number) => Math.floor(time / keyPeriodMs);

  return {
    async make({ taskId, sha256, name, mediaType, isFolder }) {
      const time = now();
      const period = periodOf(time);
      const token = await new SignJWT({ sha256, name, type: mediaType, ...(isFolder && { folder: true }) })
        .setProtectedHeader({ alg: ALGORITHM, kid: String(period) })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(taskId)
        .setExpirationTime(Math.ceil((time + ms) / 1000))
        .sign(await keyOf(period));
      return `${publicUrl}${FILES_PATH}/${token}/${encodeURIComponent(name)}`;
    },

    async open(token) {
      const time = now();
      const current = periodOf(time);
      try {
        const { payload } = await jwtVerify(
          token,
          async ({ kid }) => {
            // The next one's, should another node's clock be ahead. No other key is looked for, whatever a token says.
            const period = [current, current - 1, current + 1].find((one) => String(one) === kid);
            if (period === undefined)
              throw new errors.JOSEError("The key of this link is none of those that are in use.");
            return keyOf(period);
          },
          { algorithms: [ALGORITHM], issuer: ISSUER, audience: AUDIENCE, currentDate: new Date(time) },
        );
        const { sub, sha256, name, type, folder } = payload;
        return {
          taskId: String(sub),
          sha256: String(sha256),
          name: String(name),
          mediaType: String(type),
          ...(folder === true && { isFolder: true }),
        };
      } catch (error) {
        // Its signature was checked before its time.
        if (error instanceof errors.JWTExpired) return "expired";
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}
