/**
 * Tokens of issuers that the operator trusts: JWTs, checked against the issuer's published keys (RFC 7519, RFC 7517). Each has to
 * name the issuer, be meant for this Runtime, and end. Whose it is, is what the issuer's template makes of its claims; the issuer's
 * name stands before it, so that two issuers' "alice" are two.
 */
import { decodeJwt, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";

import type { Authenticate } from "./api-keys.ts";
import { bearerToken } from "./bearer.ts";
import { AccessError } from "./errors.ts";
import { keysAt, keysIn } from "./issuer-keys.ts";
import type { IssuerKeysOptions } from "./issuer-keys.ts";
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
/** Characters. A longer token carries more than who somebody is. */
const LONGEST = 8_192;

/**
 * Reads `Authorization: Bearer <token>`. What is no token of these issuers is undefined.
 *
 * @throws AccessError `issuer.unreachable`: their keys are not to be had, which says nothing about the token.
 */
export function authenticateByJwt(issuers: readonly JwtIssuer[], options: IssuerKeysOptions = {}): Authenticate {
  const known = issuers.map((issuer) => {
    const { jwks, jwksUrl } = issuer;
    return { issuer, keys: jwks === undefined ? keysAt(jwksUrl!, options) : keysIn(jwks) };
  });
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
  const checks: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ["exp"],
    clockTolerance: CLOCK_TOLERANCE,
  };
  try {
    return (await jwtVerify(token, keys, checks)).payload;
  } catch (error) {
    // The keys cannot be had. Whatever else goes wrong, the token is at fault.
    if (error instanceof AccessError) throw error;
    return error instanceof errors.JWKSMultipleMatchingKeys ? verifyByAny(token, error, checks) : undefined;
  }
}

/** A token need not name its key: then it is that of any one that it fits. */
async function verifyByAny(
  token: string,
  keys: AsyncIterable<CryptoKey>,
  checks: JWTVerifyOptions,
): Promise<JWTPayload | undefined> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, checks)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return undefined;
    }
  }
  return undefined;
}

/** A claim in braces, and the text up to the next one. */
const PIECE = /\{([^{}]+)\}([^{}]*)/g;

/**
 * undefined: a claim that the template needs is missing or no text, or what comes of it is no subject. A claim that holds the text that
 * stands between it and the next one is none either: `a/b` and `c` would be whom `a` and `b/c` are.
 */
function subjectOf(claims: JWTPayload, { name, subject = `${name}:{sub}` }: JwtIssuer): string | undefined {
  let complete = true;
  const text = subject.replaceAll(PIECE, (piece, claim: string, between: string, at: number) => {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    const isLast = at + piece.length === subject.length;
    if (typeof value === "string" && value !== "" && (isLast || !value.includes(between))) return value + between;
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
