/** Tokens of trusted issuers: which are taken, as whom, and which are not. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JSONWebKeySet, JWK } from "jose";

import { authenticateByJwt } from "../../src/access/jwt.ts";
import type { JwtIssuer } from "../../src/access/jwt.ts";

const ISSUER = "https://id.example.com";
const AUDIENCE = "nylorun";

interface Key {
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

async function makeKey(alg: string, kid = alg): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

interface Claims {
  readonly iss?: string;
  readonly aud?: string | undefined;
  readonly exp?: number | string | undefined;
  readonly [claim: string]: unknown;
}

function sign({ alg, privateKey, jwk }: Key, claims: Claims = {}): Promise<string> {
  const { iss = ISSUER, exp = "1m", ...rest } = claims;
  const { aud = "aud" in claims ? undefined : AUDIENCE, ...others } = rest;
  const header = { alg, ...(jwk.kid !== undefined && { kid: jwk.kid }) };
  let token = new SignJWT({ sub: "alice", ...others }).setProtectedHeader(header).setIssuer(iss);
  if (aud !== undefined) token = token.setAudience(aud);
  if (!("exp" in claims) || claims.exp !== undefined) token = token.setExpirationTime(exp);
  return token.sign(privateKey);
}

const requestWith = (token: string, scheme = "Bearer") =>
  new Request("http://127.0.0.1/", { method: "POST", headers: { authorization: `${scheme} ${token}` } });

describe("a token", () => {
  let keys: readonly Key[];
  let stranger: Key;
  let issuer: JwtIssuer;
  before(async () => {
    keys = await Promise.all(["RS256", "ES256", "EdDSA"].map((alg) => makeKey(alg)));
    stranger = await makeKey("ES256", "stranger");
    issuer = { name: "app", issuer: ISSUER, audience: AUDIENCE, jwks: { keys: keys.map(({ jwk }) => jwk) } };
  });

  const subjectOf = async (token: string, issuers: readonly JwtIssuer[] = [issuer]) => {
    const principal = await authenticateByJwt(issuers)(requestWith(token));
    return principal?.role === "subject" ? principal.subject : principal;
  };

  test("of each algorithm is taken, as the issuer's subject", async () => {
    for (const key of keys) assert.equal(await subjectOf(await sign(key)), "app:alice", key.alg);
  });

  test("of two issuers with one user's name are two subjects", async () => {
    const other: JwtIssuer = { ...issuer, name: "other", issuer: "https://other.example.com" };
    assert.equal(await subjectOf(await sign(keys[1]!, { iss: other.issuer }), [issuer, other]), "other:alice");
  });

  test("that a stranger signed, or that says so of another issuer, is nobody's", async () => {
    assert.equal(await subjectOf(await sign(stranger)), undefined);
    assert.equal(await subjectOf(await sign({ ...stranger, jwk: keys[1]!.jwk })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { iss: "https://evil.example.com" })), undefined);
  });

  test("for somebody else, without end, ended, or not yet begun, is nobody's", async () => {
    const now = Math.floor(Date.now() / 1000);
    assert.equal(await subjectOf(await sign(keys[1]!, { aud: "another" })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { aud: undefined })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { exp: undefined })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { exp: now - 120 })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { nbf: now + 120 })), undefined);
    // Clocks differ a little.
    assert.equal(await subjectOf(await sign(keys[1]!, { exp: now - 10 })), "app:alice");
  });

  test("without a signature, or with one by a shared secret, is nobody's", async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: Math.floor(Date.now() / 1000) + 60 };
    assert.equal(await subjectOf(`${encode({ alg: "none" })}.${encode(claims)}.`), undefined);
    // The public key is no secret: a token that is "signed" with it must not pass.
    const secret = new TextEncoder().encode(JSON.stringify(keys[1]!.jwk));
    const forged = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "ES256" }).sign(secret);
    assert.equal(await subjectOf(forged), undefined);
    const changed = (await sign(keys[1]!)).split(".");
    assert.equal(await subjectOf([changed[0], encode({ ...claims, sub: "bob" }), changed[2]].join(".")), undefined);
  });

  test("takes its subject from the template, whose claims must all be texts", async () => {
    const templated = [{ ...issuer, subject: "{tenant}/{sub}" }];
    assert.equal(await subjectOf(await sign(keys[1]!, { tenant: "acme" }), templated), "acme/alice");
    assert.equal(await subjectOf(await sign(keys[1]!), templated), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { tenant: 7 }), templated), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { sub: "al ice" })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { sub: "x".repeat(300) })), undefined);
    assert.equal(await subjectOf(await sign(keys[1]!, { tenant: "{sub}" }), templated), "{sub}/alice");
  });

  test("is nobody's where its claims could be two people's: what stands between two claims is in none of them", async () => {
    const templated = [{ ...issuer, subject: "{tenant}/{sub}@x" }];
    assert.equal(await subjectOf(await sign(keys[1]!, { tenant: "a", sub: "b/c" }), templated), "a/b/c@x");
    assert.equal(await subjectOf(await sign(keys[1]!, { tenant: "a/b", sub: "c" }), templated), undefined);
  });

  test("need not name its key", async () => {
    const two = await makeKey("ES256", "second");
    const jwks = {
      keys: [keys[1]!.jwk, two.jwk].map((jwk) => ({ ...jwk, kid: undefined })),
    } as unknown as JSONWebKeySet;
    const nameless = { ...two, jwk: {} };
    assert.equal(await subjectOf(await sign(nameless), [{ ...issuer, jwks }]), "app:alice");
    assert.equal(await subjectOf(await sign({ ...stranger, jwk: {} }), [{ ...issuer, jwks }]), undefined);
    assert.equal(await subjectOf(await sign(nameless, { aud: "another" }), [{ ...issuer, jwks }]), undefined);
  });

  test("is checked by the keys that are any good; one that is not is nobody's (RFC 7517, section 5)", async () => {
    const short = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const jwks = {
      keys: [
        null,
        { kty: "RSA", kid: "empty" },
        { kty: "AKP", kid: "unknown", alg: "ML-DSA-44" },
        { ...short.publicKey.export({ format: "jwk" }), kid: "short" },
        { ...(await exportJWK(stranger.privateKey)), kid: "told" },
        ...keys.map(({ jwk }) => jwk),
      ],
    } as JSONWebKeySet;
    const mixed = [{ ...issuer, jwks }];
    assert.equal(await subjectOf(await sign(keys[0]!), mixed), "app:alice");
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: Math.floor(Date.now() / 1000) + 60 };
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${encode({ alg: "RS256", kid: "short" })}.${encode(claims)}`;
    const signature = signBytes("sha256", Buffer.from(text), short.privateKey).toString("base64url");
    assert.equal(await subjectOf(`${text}.${signature}`, mixed), undefined);
    for (const kid of ["empty", "unknown", "told"]) {
      assert.equal(await subjectOf(await sign({ ...stranger, jwk: { kid } }), mixed), undefined, kid);
    }
  });

  test("that is none is nobody's", async () => {
    const authenticate = authenticateByJwt([issuer]);
    for (const token of ["x", "a.b.c", "nyl_0000000000000000000000000000000000000000000", `${"a".repeat(9000)}.b.c`]) {
      assert.equal(await authenticate(requestWith(token)), undefined);
    }
    assert.equal(await authenticate(requestWith(await sign(keys[1]!), "Basic")), undefined);
    assert.equal(await authenticate(new Request("http://127.0.0.1/")), undefined);
  });
});

describe("keys at an address", () => {
  let key: Key;
  let status = 200;
  let reads = 0;
  const server = createServer((_, response) => {
    reads++;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: [key.jwk] }));
  });
  before(async () => {
    key = await makeKey("ES256");
    await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  });
  after(() => void server.close());

  test("are read once, and kept", async () => {
    const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const authenticate = authenticateByJwt([{ name: "app", issuer: ISSUER, audience: AUDIENCE, jwksUrl }]);
    for (let call = 0; call < 3; call++) {
      assert.deepEqual(await authenticate(requestWith(await sign(key))), { role: "subject", subject: "app:alice" });
    }
    assert.equal(reads, 1);
  });

  test("that cannot be had say nothing about a token: the caller is not told that it is wrong", async () => {
    status = 500;
    const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const authenticate = authenticateByJwt([{ name: "app", issuer: ISSUER, audience: AUDIENCE, jwksUrl }]);
    await assert.rejects(authenticate(requestWith(await sign(key))), { code: "issuer.unreachable" });
    // Other issuers' tokens are not asked about.
    assert.equal(await authenticate(requestWith(await sign(key, { iss: "https://evil.example.com" }))), undefined);
  });

  test("are not asked for again at once when they could not be had: who sends tokens does not decide how often", async () => {
    let asked = 0;
    let now = 0;
    const troubles: string[] = [];
    const answers: readonly (() => Response)[] = [
      () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } }),
      () => new Response("x".repeat(2 * 1024 * 1024)),
      () => new Response("<html>"),
      () => Response.json([]),
      () => Response.json({ keys: [key.jwk] }),
    ];
    const authenticate = authenticateByJwt(
      [{ name: "app", issuer: ISSUER, audience: AUDIENCE, jwksUrl: "https://id.example.com/keys" }],
      { fetch: async () => answers[asked++]!(), now: () => now, onTrouble: ({ message }) => troubles.push(message) },
    );
    const token = await sign(key);
    for (let tries = 1; tries < answers.length; tries++, now += 5_000) {
      for (let again = 0; again < 3; again++) {
        await assert.rejects(authenticate(requestWith(token)), { code: "issuer.unreachable" });
      }
      assert.equal(asked, tries);
    }
    assert.deepEqual(
      troubles.map((text) => text.replace(/^.*keys: /, "")),
      [
        "it answers 302.",
        "the answer is longer than 1048576 bytes.",
        "the answer is not JSON.",
        "the answer is no JWK set.",
      ],
    );
    assert.deepEqual(await authenticate(requestWith(token)), { role: "subject", subject: "app:alice" });
  });
});
