/**
 * The keys that Agent Cards are signed with (A2A 1.0, section 8.4): a caller who knows the public ones can tell a card that was changed
 * on its way, or made by somebody else.
 */
import { createPrivateKey } from "node:crypto";

import { calculateJwkThumbprint, FlattenedSign, importJWK } from "jose";
import type { JWK } from "jose";

import { AccessError } from "./errors.ts";

/** One signature of a card (A2A 1.0, section 4.4.7). */
export interface CardSignature {
  readonly protected: string;
  readonly signature: string;
}

export interface CardKeys {
  /** Signs a card in its canonical form, once with each key. @param jku Where the public keys are. */
  sign(payload: string, jku: string): Promise<readonly CardSignature[]>;
  /** The public halves, as callers are given them. */
  readonly jwks: { readonly keys: readonly JWK[] };
}

/** What each kind of key is used with, unless it says itself. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  "EC P-256": "ES256",
  "EC P-384": "ES384",
  "OKP Ed25519": "EdDSA",
  "RSA ": "RS256",
};

/**
 * Reads private keys: one as PEM (PKCS #8) or JWK, or several as a JWK set, each of which signs: the next one beside the present one,
 * while callers learn of it.
 *
 * @throws AccessError `cardKey.invalid`: what is wrong.
 */
export async function readCardKeys(text: string): Promise<CardKeys> {
  const keys = await Promise.all(jwksOf(text).map(readKey));
  if (keys.length === 0) throw invalid("it holds none");
  return {
    async sign(payload, jku) {
      const bytes = new TextEncoder().encode(payload);
      return Promise.all(
        keys.map(async ({ alg, kid, key }) => {
          const header = { alg, typ: "JOSE", kid, jku };
          const signed = await new FlattenedSign(bytes).setProtectedHeader(header).sign(key);
          return { protected: signed.protected!, signature: signed.signature };
        }),
      );
    },
    jwks: { keys: keys.map(({ open }) => open) },
  };
}

function jwksOf(text: string): readonly JWK[] {
  if (text.trimStart().startsWith("-----BEGIN")) {
    try {
      return [createPrivateKey(text).export({ format: "jwk" }) as JWK];
    } catch (error) {
      throw invalid(`it looks like PEM, and is no private key without a password (${(error as Error).message})`);
    }
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("it is neither PEM nor JSON");
  }
  const { keys } = value as { keys?: unknown };
  return (Array.isArray(keys) ? keys : [value]) as readonly JWK[];
}

async function readKey(jwk: JWK) {
  const { kty, crv, d } = jwk;
  const alg = jwk.alg ?? ALGORITHMS[`${kty} ${crv ?? ""}`];
  if (typeof d !== "string") throw invalid("a key in it is not a private one");
  if (alg === undefined) throw invalid(`a key in it is of the kind ${kty} ${crv ?? ""}`);
  try {
    const kid = jwk.kid ?? (await calculateJwkThumbprint(jwk));
    const key = await importJWK(jwk, alg);
    const { x, y, n, e } = jwk;
    // Named one by one: what is not known to be public does not get out.
    const open: JWK = Object.fromEntries(
      Object.entries({ kty, crv, x, y, n, e, alg, kid, use: "sig" }).filter(([, part]) => part !== undefined),
    );
    return { alg, kid, key, open };
  } catch (error) {
    throw invalid(`a key in it cannot be used (${(error as Error).message})`);
  }
}

function invalid(why: string): AccessError {
  return new AccessError(
    "cardKey.invalid",
    `The key that signs cards must be a private one, EC (P-256, P-384), Ed25519 or RSA, as PEM, JWK or a JWK set; ${why}.`,
  );
}
