/**
 * Tokens of issuers that the operator trusts: JWTs, checked against the issuer's published keys (RFC 7519, RFC 7517). Each has to
 * name the issuer, be meant for this Runtime, and end. Whose it is, is what the issuer's template makes of its claims; the issuer's
 * name stands before it, so that two issuers' "alice" are two.
 */
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose";

import type { Authenticate } from "./api-keys.ts";
import { bearerToken } from "./bearer.ts";
import { AccessError } from "./errors.ts";
import { checkSubject } from "./subject.ts";

/** One issuer, as the setting `jwtIssuers` has it. */
export interface JwtIssuer {
  /** What stands before its subjects. */
  readonly name: string;
  /** `iss`. */
  readonly issuer: string;
  /** `aud`. */
  readonly audience: string;
  /** Where its public keys are; or the keys themselves. */
  readonly jwksUrl?: string | undefined;
  readonly jwks?: JSONWebKeySet | undefined;
  /** The subject, with claims in braces. Default: `<name>:{sub}`. */
  readonly subject?: string | undefined;
}

/** Asymmetric ones alone: who could check a shared secret could also sign with it. */
const ALGORITHMS = ["RS256", "ES256", "EdDSA", "Ed25519"];
/** How far an issuer's clock may be off, in seconds. */
const CLOCK_TOLERANCE = 30;
/** For the issuer's keys, in milliseconds. */
const KEYS_TIMEOUT = 5_000;
/** Characters. A longer token carries more than who somebody is. */
const LONGEST = 8_192;

/** Reads `Authorization: Bearer <token>`. What is no token of these issuers is undefined; it throws when their keys are not to be had. */
export function authenticateByJwt(issuers: readonly JwtIssuer[]): Authenticate {
  const known = issuers.map((issuer) => ({ issuer, keys: keysOf(issuer) }));
  return async (request) => {
    const token = bearerToken(request.headers.get("authorization"));
    if (token === undefined || token.length > LONGEST) return undefined;
    const claimed = issuerIn(token);
    for (const { issuer, keys } of known) {
      if (issuer.issuer !== claimed) continue;
      const claims = await verify(token, issuer, keys);
      const subject = claims && subjectOf(claims, issuer);
      if (subject !== undefined) return { role: "subject", subject };
    }
    return undefined;
  };
}

function keysOf({ jwks, jwksUrl }: JwtIssuer): JWTVerifyGetKey {
  if (jwks !== undefined) return createLocalJWKSet(jwks);
  return createRemoteJWKSet(new URL(jwksUrl!), { timeoutDuration: KEYS_TIMEOUT });
}

/** Who the token says made it: nothing is believed of it, it only tells whose keys to try. */
function issuerIn(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

async function verify(
  token: string,
  { issuer, audience }: JwtIssuer,
  keys: JWTVerifyGetKey,
): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp"],
      clockTolerance: CLOCK_TOLERANCE,
    });
    return payload;
  } catch (error) {
    // The token is at fault. What else goes wrong (the keys cannot be fetched) says nothing about it.
    if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) throw error;
    if (error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC") return undefined;
    throw error;
  }
}

/** undefined: a claim that the template needs is missing or no text, or what comes of it is no subject. */
function subjectOf(claims: JWTPayload, { name, subject = `${name}:{sub}` }: JwtIssuer): string | undefined {
  let complete = true;
  const text = subject.replaceAll(/\{([^{}]+)\}/g, (_, claim: string) => {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value === "string" && value !== "") return value;
    complete = false;
    return "";
  });
  if (!complete) return undefined;
  try {
    return checkSubject(text);
  } catch (error) {
    if (error instanceof AccessError) return undefined;
    throw error;
  }
}
