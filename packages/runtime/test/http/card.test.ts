import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { after, before, describe, it, mock } from "node:test";

import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { EXTENSIONS } from "@nylorun/protocol";
import type { AgentCard, AgentCardSignature } from "@nylorun/protocol";
import { createLocalJWKSet, flattenedVerify, importJWK } from "jose";
import type { JSONWebKeySet, JWK } from "jose";

import { readCardKeys } from "../../src/access/card-keys.ts";
import { echo, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

const CARD = ".well-known/agent-card.json";
const full = makeAgent("full", () => "", {
  name: "Everything",
  description: "Has all there is to say.",
  version: "2.1.0",
  skills: [
    { id: "one", name: "One", description: "The first.", tags: ["a", "b"], examples: ["Do one."] },
    { id: "two", name: "Two", description: "The second.", tags: ["c"] },
  ],
  inputModes: ["text/*", "image/png"],
  outputModes: ["application/json"],
});

describe("an Agent Card", async () => {
  const served = await serve({ agents: [full, echo], settings: { publicUrl: "https://agents.example.com/base" } });
  after(() => served[Symbol.asyncDispose]());
  const path = `/v1/a2a/agents/full/${CARD}`;

  it("says what the agent is, where it is, what it can do and how to be let in, without credentials (A2A 4.4, 8)", async () => {
    const response = await served.get(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const { capabilities, ...card } = (await response.json()) as AgentCard;
    assert.deepEqual(card, {
      name: "Everything",
      description: "Has all there is to say.",
      supportedInterfaces: [
        {
          url: "https://agents.example.com/base/v1/a2a/agents/full/",
          protocolBinding: "JSONRPC",
          protocolVersion: "1.0",
        },
      ],
      version: "2.1.0",
      securitySchemes: {
        bearer: {
          httpAuthSecurityScheme: { scheme: "Bearer", description: "A key that the Runtime's operator made." },
        },
      },
      securityRequirements: [{ schemes: { bearer: {} } }],
      defaultInputModes: ["text/*", "image/png"],
      defaultOutputModes: ["application/json"],
      skills: full.skills,
    });
    const { extensions, ...rest } = capabilities;
    assert.deepEqual(rest, { streaming: false, pushNotifications: false, extendedAgentCard: false });
    assert.ok(extensions!.length > 0);
    for (const { uri, required, description } of extensions!) {
      assert.ok((Object.values(EXTENSIONS) as string[]).includes(uri));
      assert.equal(required, false, `${uri}: a plain client is served too`);
      assert.ok(description);
    }
  });

  // keeps: profile-extensions-not-required
  it("declares the extensions that a request can activate, and those alone", async () => {
    const { capabilities } = (await (await served.get(path)).json()) as AgentCard;
    const header = Object.values(EXTENSIONS).join(",");
    const { headers } = await served.call("ListTasks", {}, { headers: { "a2a-extensions": header } });
    assert.equal(headers.get("a2a-extensions"), capabilities.extensions!.map(({ uri }) => uri).join(", "));
  });

  it("is found from the agent's own address, as clients resolve it", async () => {
    const { supportedInterfaces } = (await (await served.get(path)).json()) as AgentCard;
    assert.equal(new URL(CARD, supportedInterfaces[0]!.url).pathname, `/base${path}`);
  });

  it("is cached for a while, and told apart by tag and date (A2A 8.6, RFC 9110)", async () => {
    const { headers } = await served.get(path);
    assert.match(headers.get("cache-control") ?? "", /^public, max-age=\d+$/);
    const tag = headers.get("etag")!;
    assert.match(tag, /^"[\w-]+"$/, "a strong one");
    const modified = headers.get("last-modified")!;
    assert.ok(Math.abs(Date.parse(modified) - Date.now()) < 60_000);
    assert.notEqual((await served.get(`/v1/a2a/agents/echo/${CARD}`)).headers.get("etag"), tag);

    const conditional = async (given: Record<string, string>) => (await served.get(path, given)).status;
    assert.equal(await conditional({ "if-none-match": tag }), 304);
    assert.equal(await conditional({ "if-none-match": `"other", W/${tag}` }), 304);
    assert.equal(await conditional({ "if-none-match": "*" }), 304);
    assert.equal(await conditional({ "if-none-match": '"other"' }), 200);
    assert.equal(await conditional({ "if-modified-since": modified }), 304);
    assert.equal(await conditional({ "if-modified-since": new Date(Date.parse(modified) - 1000).toUTCString() }), 200);
    assert.equal(await conditional({ "if-modified-since": "yesterday" }), 200);
    assert.equal(
      await conditional({ "if-none-match": '"other"', "if-modified-since": modified }),
      200,
      "the tag decides",
    );

    const unchanged = await served.get(path, { "if-none-match": tag });
    assert.equal(await unchanged.text(), "");
    for (const name of ["etag", "last-modified", "cache-control"]) {
      assert.equal(unchanged.headers.get(name), headers.get(name));
    }
  });

  it("has the same tag after a restart, if it says the same", async () => {
    const { headers } = await served.get(path);
    await using again = await serve({ agents: [full], settings: { publicUrl: "https://agents.example.com/base" } });
    assert.equal((await again.get(path)).headers.get("etag"), headers.get("etag"));
    await using moved = await serve({ agents: [full] });
    assert.notEqual((await moved.get(path)).headers.get("etag"), headers.get("etag"));
  });

  it("of an agent that is not there is the 404 of the endpoint", async () => {
    const response = await served.get(`/v1/a2a/agents/nobody/${CARD}`);
    assert.equal(response.status, 404);
    assert.deepEqual(await response.json(), (await served.call("ListTasks", {}, { agent: "nobody" })).body);
  });
});

describe("the server's own card", () => {
  const nameOf = async (response: Response) => ((await response.json()) as AgentCard).name;

  it("is the only agent's", async () => {
    await using served = await serve();
    assert.equal(await nameOf(await served.get(`/${CARD}`)), echo.name);
  });

  it("is that of the agent which the settings name", async () => {
    await using served = await serve({ agents: [full, echo], settings: { defaultAgent: "echo" } });
    assert.equal(await nameOf(await served.get(`/${CARD}`)), echo.name);
  });

  it("is none when there are several, and says where the cards are", async () => {
    await using served = await serve({ agents: [full, echo] });
    const response = await served.get(`/${CARD}`);
    assert.equal(response.status, 404);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, "agent.noDefault");
    assert.match(error.message, /\/v1\/agents/);
  });
});

describe("a signed Agent Card (A2A 8.4)", () => {
  // The SDK prints each signature that does not fit.
  before(() => mock.method(console, "debug", () => undefined));
  after(() => mock.restoreAll());
  const PUBLIC = "https://agents.example.com";
  const settings = {
    publicUrl: PUBLIC,
    providerName: "Example",
    providerUrl: "https://example.com",
    documentationUrl: "https://example.com/docs/{agent}",
    iconUrl: "https://example.com/icons/{agent}.png",
  };

  const pem = (type: "ec" | "ed25519" | "rsa"): string => {
    const { privateKey } =
      type === "ec"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : type === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync("ed25519");
    return privateKey.export({ type: "pkcs8", format: "pem" });
  };
  const served = async (key: string) => {
    const cardKeys = await readCardKeys(key);
    return serve({ agents: [full], settings, instead: () => ({ cardKeys }) });
  };
  const get = async <Value>(from: Served, path: string) => (await (await from.get(path)).json()) as Value;
  /** As A2A 8.4.3 says, and nothing of ours: the payload is given. */
  const verifies = async (signature: AgentCardSignature, payload: string, jwks: JSONWebKeySet) => {
    const jws = { ...signature, payload: Buffer.from(payload).toString("base64url") };
    return flattenedVerify(jws, createLocalJWKSet(jwks)).then(
      () => true,
      () => false,
    );
  };

  for (const [type, alg] of [
    ["ec", "ES256"],
    ["ed25519", "EdDSA"],
    ["rsa", "RS256"],
  ] as const) {
    it(`is verified by the official SDK, with the key that is published, and with no other (${alg})`, async () => {
      await using from = await served(pem(type));
      const card = await get<AgentCard>(from, `/v1/a2a/agents/full/${CARD}`);
      const { keys } = await get<{ keys: JWK[] }>(from, "/.well-known/nylorun-card-keys.json");
      assert.equal(keys.length, 1);
      assert.deepEqual(
        Object.keys(keys[0]!).filter((name) => /^(d|p|q|dp|dq|qi|k)$/.test(name)),
        [],
        "nothing private",
      );
      const [{ protected: header }] = card.signatures as [AgentCardSignature];
      assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), {
        alg,
        typ: "JOSE",
        kid: keys[0]!.kid,
        jku: `${PUBLIC}/.well-known/nylorun-card-keys.json`,
      });
      // As it came: what the SDK has parsed it cannot make the signed form of, since it parses once more and loses the schemes.
      const parsed = asSdk(card);
      await verifyAgentCardSignature(async () => importedKey(keys[0]!))(parsed);
      const other = (await readCardKeys(pem(type))).jwks.keys[0]!;
      await assert.rejects(verifyAgentCardSignature(async () => importedKey(other))(parsed));
      const forged = asSdk({ ...card, name: "Somebody else" });
      await assert.rejects(verifyAgentCardSignature(async () => importedKey(keys[0]!))(forged));
    });
  }

  // keeps: a2a-8.4-jcs, a2a-8.4-no-signatures, a2a-8.4-header
  it("has a signature of the form that the specification writes down, too", async () => {
    await using from = await served(pem("ec"));
    const { signatures = [], ...card } = await get<AgentCard>(from, `/v1/a2a/agents/full/${CARD}`);
    const jwks = await get<JSONWebKeySet>(from, "/.well-known/nylorun-card-keys.json");
    // By hand: `required: false` is a default, the three flags of capabilities are optional and stay, an entry of a map stays.
    const byHand = JSON.parse(JSON.stringify(card)) as { capabilities: { extensions: { required?: boolean }[] } };
    for (const extension of byHand.capabilities.extensions) delete extension.required;
    const payload = sorted(byHand);
    assert.ok(payload.includes('"schemes":{"bearer":{}}') && payload.includes('"streaming":false'));
    const results = await Promise.all(signatures.map((signature) => verifies(signature, payload, jwks)));
    assert.equal(results.filter(Boolean).length, 1);
  });

  // keeps: a2a-8.4-rotation
  it("is signed with each key of a set, so that keys can be changed without a gap", async () => {
    const jwks = ["ec", "ed25519"].map((type) => createPrivateKey(pem(type as "ec")).export({ format: "jwk" }));
    await using from = await served(JSON.stringify({ keys: jwks }));
    const card = await get<AgentCard>(from, `/v1/a2a/agents/full/${CARD}`);
    const { keys } = await get<{ keys: JWK[] }>(from, "/.well-known/nylorun-card-keys.json");
    assert.equal(keys.length, 2);
    for (const key of keys)
      await verifyAgentCardSignature(async (kid) => importedKey(kid === key.kid ? key : keys[0]!))(asSdk(card));
    assert.equal(new Set(card.signatures!.map(({ protected: header }) => header)).size, 2);
  });

  it("says who provides the agent, and where it is documented and pictured, when that is set", async () => {
    await using from = await served(pem("ec"));
    const card = await get<AgentCard>(from, `/v1/a2a/agents/full/${CARD}`);
    assert.deepEqual(card.provider, { organization: "Example", url: "https://example.com" });
    assert.equal(card.documentationUrl, "https://example.com/docs/full");
    assert.equal(card.iconUrl, "https://example.com/icons/full.png");
  });

  it("is not made with what is no private key; which it is, is said, and nothing of it", async () => {
    const open = createPublicKey(pem("ec")).export({ type: "spki", format: "pem" });
    const secret = JSON.stringify({ kty: "oct", k: "c2VjcmV0", d: "x" });
    for (const text of ["", "nonsense", "{}", '{"keys":[]}', open, secret]) {
      await assert.rejects(readCardKeys(text), (error: Error & { code?: string }) => {
        assert.equal(error.code, "cardKey.invalid");
        assert.ok(!error.message.includes("c2VjcmV0"));
        return true;
      });
    }
  });
});

function asSdk(card: AgentCard): Parameters<ReturnType<typeof verifyAgentCardSignature>>[0] {
  return card as unknown as Parameters<ReturnType<typeof verifyAgentCardSignature>>[0];
}

function importedKey(jwk: JWK): Promise<CryptoKey> {
  return importJWK(jwk, jwk.alg) as Promise<CryptoKey>;
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
