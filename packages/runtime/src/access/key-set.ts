/**
 * Which keys of a JWK set can check tokens here. The others are passed over (RFC 7517, section 5): one that cannot be read keeps nobody from
 * being checked by the rest.
 */
import { createPublicKey } from "node:crypto";

import type { JWK } from "jose";

/** Those that are looked at. */
const MOST_KEYS = 100;
/** Of an RSA key, in bits: less is no protection, and more only takes time. */
const RSA_BITS = { least: 2048, most: 16_384 };

/** The keys of a set that can check tokens here; undefined: it is no set. */
export function usableKeys(set: unknown): JWK[] | undefined {
  const keys = (set as { readonly keys?: unknown } | null | undefined)?.keys;
  return Array.isArray(keys) ? keys.slice(0, MOST_KEYS).filter(isUsable) : undefined;
}

function isUsable(value: unknown): value is JWK {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const jwk = value as JWK;
  // What should be the issuer's alone is nobody's proof of anything.
  if (jwk.d !== undefined) return false;
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey({ key: jwk, format: "jwk" });
    const bits = details?.modulusLength ?? 0;
    if (type === "rsa") return bits >= RSA_BITS.least && bits <= RSA_BITS.most;
    return type === "ed25519" || (type === "ec" && details?.namedCurve === "prime256v1");
  } catch {
    return false;
  }
}
