/**
 * Tokens, and the keys that an issuer's server answers: changed, cut, too long, of other kinds. What is taken is a token that the issuer has
 * signed, as whom it says; what a server cannot be asked is said by a name; and the next issuer's tokens are taken all the while.
 */
import { constants, createHmac, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

import * as fc from "fast-check";

import { authenticateByJwt } from "../../../packages/runtime/src/access/jwt.ts";
import { latin1, near, nearBytes } from "../edit.ts";
import type { Input, StartTarget } from "../target.ts";

interface Attempt {
  /** The parts of the token before they are signed. */
  readonly header: unknown;
  readonly claims: unknown;
  /** What signs it: one of the keys, a secret that everybody knows, or nothing. */
  readonly signer: string;
  /** What becomes of the token after it was signed; one character a byte. */
  readonly token?: string;
  /** What the issuer's server answers; `@ES256:x` stands for that member of that key. */
  readonly keys: unknown;
  readonly bytes?: string;
  readonly status: number;
  readonly failing?: "refuses" | "breaks off" | "goes on for ever";
}

const ISSUER = "https://id.example.com";
const OTHER = "https://other.example.com";
const AUDIENCE = "nylorun";

interface Pair {
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, string>>;
}

function pairsOf(): ReadonlyMap<string, Pair> {
  const made = {
    RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    EdDSA: generateKeyPairSync("ed25519"),
    short: generateKeyPairSync("rsa", { modulusLength: 1024 }),
    ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
    stranger: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  };
  return new Map(
    Object.entries(made).map(([name, { privateKey, publicKey }]) => [
      name,
      {
        privateKey,
        jwk: { ...(publicKey.export({ format: "jwk" }) as Record<string, string>), kid: name, use: "sig" },
      },
    ]),
  );
}

const NAMES = ["RS256", "ES256", "EdDSA"] as const;
const SIGNERS = [...NAMES, ...NAMES, "short", "ES384", "stranger", "secret", "nothing"];
const ALGORITHMS: Readonly<Record<string, string>> = {
  short: "RS256",
  stranger: "ES256",
  secret: "HS256",
  nothing: "none",
};

const claims = fc.record(
  {
    iss: fc.constantFrom(ISSUER, ISSUER, ISSUER, OTHER, `${ISSUER}/`),
    aud: fc.constantFrom<unknown>(AUDIENCE, AUDIENCE, [AUDIENCE], ["x", AUDIENCE], "x", []),
    sub: fc.oneof(
      fc.constantFrom<unknown>("alice", "alice", "{sub}", "", 7, null, ["alice"]),
      fc.string({ maxLength: 10 }),
    ),
    // From now on, in seconds.
    exp: fc.constantFrom<unknown>(60, 60, 60, -3600, "60", null, 1e308),
    nbf: fc.constantFrom<unknown>(-60, 3600, "x"),
  },
  { requiredKeys: ["iss", "aud", "sub", "exp"] },
);

/** As JSON has it. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null");

/** By their names: the keys themselves are new ones each time, and what found something finds it again. */
function named(name: string, members: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(members.map((member) => [member, `@${name}:${member}`]));
}

/** Most are good in all but one thing. */
const seldom = <T>(what: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: what });

function inputsOf(): fc.Arbitrary<Attempt> {
  const ec = ["kty", "crv", "x", "y", "kid", "use"];
  const rsa = ["kty", "n", "e", "kid", "use"];
  const jwks = [
    named("RS256", rsa),
    named("ES256", ec),
    named("EdDSA", ["kty", "crv", "x", "kid", "use"]),
    named("short", rsa),
    named("ES384", ec),
  ];
  const sets = fc
    .array(
      fc.oneof(
        fc.constantFrom(...jwks),
        fc.constantFrom(...jwks).map((jwk) => ({ ...jwk, kid: undefined, use: undefined })),
      ),
      { maxLength: 6 },
    )
    .map((keys) => ({ keys }));
  const all = fc.constant({ keys: jwks });
  return fc
    .record({
      signer: fc.constantFrom(...SIGNERS),
      header: fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            { kid: "../../x" },
            { kid: 7 },
            { kid: null },
            { kid: "ES256" },
            { crit: ["b64"], b64: false },
            { alg: "none" },
            { alg: "HS256" },
            { alg: "RS512" },
            { jku: "https://evil.example/" },
            { jwk: jwks[1] },
          ),
        },
        { weight: 1, arbitrary: near(fc.constant({ alg: "ES256", kid: "ES256" })) },
      ),
      claims: fc.oneof({ weight: 4, arbitrary: claims }, { weight: 1, arbitrary: near(claims) }),
      token: seldom(nearBytes(fc.constant("@"), 2)),
      keys: fc
        .oneof(
          { weight: 3, arbitrary: all },
          { weight: 1, arbitrary: sets },
          { weight: 2, arbitrary: near(fc.oneof(all, sets)) },
        )
        .map(plain),
      bytes: seldom(fc.oneof(nearBytes(fc.constant("@"), 3), fc.string({ unit: "binary", maxLength: 20 }).map(latin1))),
      status: fc.constantFrom(200, 200, 200, 200, 200, 201, 302, 404, 500),
      failing: seldom(fc.constantFrom("refuses", "breaks off", "goes on for ever")),
    })
    .map((attempt) => plain(attempt) as Attempt);
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? "").toString("base64url");

/** Not more than this of an answer without an end is asked for, in bytes. */
const MOST = 4 * 1024 * 1024;

export const startJwt: StartTarget = async () => {
  const pairs = pairsOf();
  const issuers = [
    { name: "app", issuer: ISSUER, audience: AUDIENCE, jwksUrl: "https://id.example.com/keys" },
    {
      name: "other",
      issuer: OTHER,
      audience: AUDIENCE,
      jwks: { keys: [{ ...pairs.get("ES384")!.jwk }, { ...pairs.get("EdDSA")!.jwk }] },
    },
  ] as never;
  const signed = (attempt: Pick<Attempt, "signer" | "header" | "claims">): string => {
    const { signer } = attempt;
    const given = { alg: ALGORITHMS[signer] ?? signer, kid: signer, ...(attempt.header as object) };
    const now = Math.floor(Date.now() / 1000);
    const from = (value: unknown) => (typeof value === "number" ? now + value : value);
    const { exp, nbf, ...rest } = Object(attempt.claims) as Record<string, unknown>;
    const body = {
      ...rest,
      ...(exp !== undefined && { exp: from(exp) }),
      ...(nbf !== undefined && { nbf: from(nbf) }),
    };
    const text = `${encode(given)}.${encode(body)}`;
    if (signer === "nothing") return `${text}.`;
    // Everybody knows the public key, so it is no secret.
    if (signer === "secret")
      return `${text}.${createHmac("sha256", JSON.stringify(pairs.get("ES256")!.jwk))
        .update(text)
        .digest("base64url")}`;
    const key = pairs.get(signer)!.privateKey;
    const hash = signer === "EdDSA" ? null : signer === "ES384" ? "sha384" : "sha256";
    const options = {
      key,
      dsaEncoding: "ieee-p1363" as const,
      ...(key.asymmetricKeyType === "rsa" && { padding: constants.RSA_PKCS1_PADDING }),
    };
    return `${text}.${sign(hash, Buffer.from(text), options).toString("base64url")}`;
  };
  const fill = (keys: unknown): string =>
    JSON.stringify(keys).replaceAll(
      /@(\w+):(\w+)/g,
      (text, name: string, member: string) => pairs.get(name)?.jwk[member] ?? text,
    );
  const others = { iss: OTHER, aud: AUDIENCE, sub: "carol", exp: 60 };
  return {
    inputs: inputsOf(),
    async check(input: Input) {
      const attempt = input as Attempt;
      let asked = 0;
      const fetch = async (): Promise<Response> => {
        const { failing, status, bytes } = attempt;
        if (failing === "refuses") throw new TypeError("fetch failed");
        const body = Buffer.from((bytes ?? "@").replaceAll("@", latin1(fill(attempt.keys))), "latin1");
        let first = true;
        const stream = new ReadableStream<Uint8Array>({
          pull(controller) {
            asked += 65_536;
            if (first) controller.enqueue(body);
            else if (failing === undefined) controller.close();
            else if (failing === "breaks off") controller.error(new TypeError("terminated"));
            else if (asked > MOST) controller.error(new Error("more than anybody should read"));
            else controller.enqueue(new Uint8Array(65_536).fill(0x20));
            first = false;
          },
        });
        return new Response(stream, { status });
      };
      const authenticate = authenticateByJwt(issuers, { fetch });
      const ask = async (token: string) => {
        const headers = new Headers();
        try {
          headers.set("authorization", `Bearer ${token}`);
        } catch {
          return undefined; // No such header comes in.
        }
        return authenticate({ headers } as Request);
      };
      const good = signed(attempt);
      const sent = attempt.token?.replaceAll("@", good) ?? good;
      try {
        const who = await ask(sent);
        if (who !== undefined) checkTaken(attempt, who);
      } catch (error) {
        const { name, code } = error as Error & { code?: string };
        if (name !== "AccessError" || code !== "issuer.unreachable") throw error;
      }
      if (asked > MOST) throw new Error("reads an answer that has no end");
      const next = await ask(signed({ signer: "EdDSA", header: {}, claims: others }));
      if (next?.role !== "subject" || next.subject !== "other:carol")
        throw new Error("then another issuer's token is not taken");
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** @throws When the token is not one that the issuer has signed, for us, for a time that has not passed. */
function checkTaken({ signer, claims: claimed, keys }: Attempt, who: object): void {
  const { iss, aud, sub, exp, nbf } = claimed as Record<string, unknown>;
  const wrong = (why: string) => new Error(`${why}, and is taken as ${JSON.stringify(who)}`);
  if (!NAMES.some((name) => name === signer)) throw wrong("it is signed by none of the issuer's");
  const name = iss === OTHER ? "other" : "app";
  const isPublished = name === "other" ? signer === "EdDSA" : JSON.stringify(keys).includes(`@${signer}:`);
  if (!isPublished) throw wrong("its key is none that the issuer has published");
  if (iss !== ISSUER && iss !== OTHER) throw wrong("it is another issuer's");
  if (![aud].flat().includes(AUDIENCE)) throw wrong("it is for somebody else");
  if (typeof exp !== "number" || exp <= 0) throw wrong("it has no end, or has ended");
  if (nbf !== undefined && (typeof nbf !== "number" || nbf > 30)) throw wrong("it has not begun");
  const subject = `${name}:${String(sub)}`;
  if (JSON.stringify(who) !== JSON.stringify({ role: "subject", subject })) throw wrong(`it is ${subject}'s`);
}
