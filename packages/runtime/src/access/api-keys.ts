/**
 * API keys: `nyl_` and 256 random bits in base 62, so that a double click selects a key whole and a scanner finds one that
 * leaked. A key is shown once, when it is made; only its SHA-256 is stored. The hash needs no salt and no slowness, because
 * nobody can go through 256 bits.
 */
import { hash, randomBytes } from "node:crypto";

import type { KeyHolder, KeyRecord, KeyStore } from "../store/store.ts";
import { bearerToken } from "./bearer.ts";
import type { Principal } from "./principal.ts";
import { checkSubject } from "./subject.ts";

const PREFIX = "nyl_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Base-62 digits of 256 bits. */
const DIGITS = 43;
const SHAPE = /^nyl_[0-9A-Za-z]{43}$/;

/** Who a request comes from; undefined when it does not prove to come from anybody. */
export type Authenticate = (request: Request) => Promise<Principal | undefined>;

/**
 * Makes a key. The text returned is the only copy there is.
 *
 * @throws AccessError `subject.invalid`.
 */
export async function issueApiKey(
  store: KeyStore,
  holder: KeyHolder,
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  const checked: KeyHolder =
    holder.role === "subject" ? { role: "subject", subject: checkSubject(holder.subject) } : { role: "operator" };
  const key = makeApiKey();
  return { key, record: await store.add({ hash: hashApiKey(key), holder: checked }) };
}

/**
 * Reads `Authorization: Bearer <key>`. The key is looked up on every request, so a revoked one is refused from the
 * next request on. Anything that cannot be a key is refused without asking the store.
 */
export function authenticateByApiKey(store: KeyStore): Authenticate {
  return async (request) => {
    const key = bearerToken(request.headers.get("authorization"));
    if (key === undefined || !SHAPE.test(key)) return undefined;
    return (await store.find(hashApiKey(key)))?.holder;
  };
}

function makeApiKey(): string {
  let rest = BigInt(`0x${randomBytes(32).toString("hex")}`);
  let digits = "";
  for (let place = 0; place < DIGITS; place++) {
    digits = ALPHABET[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return PREFIX + digits;
}

/** What the store keeps of a key: 43 characters of base64url. */
function hashApiKey(key: string): string {
  return hash("sha256", key, "base64url");
}
