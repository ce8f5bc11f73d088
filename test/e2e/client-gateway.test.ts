/** Partners of an app reach a Runtime's agents through the app, each as itself and nobody else. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { serve as serveHono } from "@hono/node-server";
import { createA2aClient, createA2aHandler } from "@nylorun/agents/a2a";
import type { A2aHandler, A2aHandlerOptions } from "@nylorun/agents/a2a";
import { EXTENSIONS } from "@nylorun/protocol";
import { exportJWK, generateKeyPair } from "jose";

import { makeAgent, serve } from "./callers.ts";

/** Who the app's partners are, by the key that the app gave them. */
const PARTNERS: Readonly<Record<string, string>> = { "key-of-ada": "ada", "key-of-bob": "bob" };

const agents = [
  makeAgent("who", (turn) => turn.subject),
  makeAgent("approves", async (turn) => ((await turn.approve({ prompt: "Really?" })) ? "Approved." : "Denied.")),
  makeAgent("hidden", () => "Not for partners."),
];

const soon = () => ({ signal: AbortSignal.timeout(10_000) });

async function newKey(alg: string): Promise<Readonly<Record<string, unknown>>> {
  return { ...(await exportJWK((await generateKeyPair(alg, { extractable: true })).privateKey)) };
}

describe("the gateway", { timeout: 60_000 }, () => {
  let handler: A2aHandler;
  let url: string;
  let options: A2aHandlerOptions;
  const resources = new AsyncDisposableStack();
  /** The headers that reached the Runtime. */
  const arrived: Headers[] = [];

  before(async () => {
    const server = serveHono({ fetch: (request: Request) => handler(request), port: 0, hostname: "127.0.0.1" });
    resources.defer(() => new Promise<void>((go) => void server.close(() => go())));
    await new Promise((go) => server.once("listening", go));
    const { port } = server.address() as { port: number };
    url = `http://127.0.0.1:${port}/a2a`;
    const issuer = { name: "app", issuer: "https://app.example.com", audience: "nylorun" };
    const served = resources.use(
      await serve({ agents, jwtIssuers: [{ ...issuer, jwksUrl: `${url}/.well-known/jwks.json` }] }),
    );
    options = {
      agents: ["who", "approves"],
      runtimeUrl: served.runtime.url,
      publicUrl: url,
      subject: (request) => PARTNERS[request.headers.get("x-partner-key") ?? ""],
      signer: { issuer: issuer.issuer, audience: issuer.audience, privateKey: await newKey("EdDSA") },
      fetch: (input, init) => {
        arrived.push(new Headers(init?.headers));
        return fetch(input, init);
      },
    };
    handler = await createA2aHandler(options);
  });

  after(() => resources.disposeAsync());

  const as = (key: string, agent: string) =>
    createA2aClient({ url: `${url}/${agent}/`, auth: { "X-Partner-Key": key }, pollMs: 50 });
  const post = (path: string, init: RequestInit = {}) =>
    fetch(`${url}/${path}`, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} }),
      ...init,
      headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...(init.headers as object) },
    });

  test("acts for each partner as a subject of its own", async () => {
    for (const [key, partner] of Object.entries(PARTNERS)) {
      const task = await (await as(key, "who")).send("Who am I?");
      assert.equal((await task.done(soon())).output, `app:${partner}`);
    }
  });

  test("gives all that the profile has: a plan, typed approvals, an answer that counts", async () => {
    const client = await as("key-of-ada", "approves");
    const task = await client.send("Go");
    for await (const now of task.updates(soon())) {
      if (now.interaction?.kind === "approval") await task.approve(true);
    }
    assert.equal(task.output, "Approved.");
    assert.match(task.traceId!, /^[0-9a-f]{32}$/);
  });

  test("shows no partner another one's task", async () => {
    const { id } = await (await as("key-of-ada", "approves")).send("Go");
    const bob = await as("key-of-bob", "approves");
    await assert.rejects(bob.task(id!), { code: "a2a.taskNotFound" });
    for await (const task of bob.tasks()) assert.notEqual(task.id, id);
  });

  test("lets no partner name a subject: not by a token, a header, a query or a body", async () => {
    arrived.length = 0;
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: {
        tenant: "bob",
        metadata: { subject: "bob" },
        message: {
          messageId: crypto.randomUUID(),
          role: "ROLE_USER",
          parts: [{ text: "Who?" }],
          metadata: { subject: "bob" },
        },
      },
    });
    const response = await post("who/?subject=bob&sub=bob", {
      body,
      headers: {
        "X-Partner-Key": "key-of-ada",
        Authorization: "Bearer nyl_0000000000000000000000000000000000000000000",
        Cookie: "session=bob",
        "X-Forwarded-User": "bob",
        Forwarded: "for=1.2.3.4",
      },
    });
    const { result }: any = await response.json();
    assert.equal(result.task.artifacts[0].parts[0].text, "app:ada");
    const names = [...arrived[0]!.keys()].toSorted();
    assert.deepEqual(names, ["a2a-version", "accept", "authorization", "content-type"]);
    assert.match(arrived[0]!.get("authorization")!, /^Bearer ey/);
  });

  test("passes on the version, the extensions, and their echo", async () => {
    const key = { "X-Partner-Key": "key-of-ada" };
    const echoed = await post("who/", { headers: { ...key, "A2A-Extensions": EXTENSIONS.progress } });
    assert.equal(echoed.headers.get("a2a-extensions"), EXTENSIONS.progress);
    const old: any = await (await post("who/", { headers: { ...key, "A2A-Version": "0.3" } })).json();
    assert.equal(old.error.code, -32009);
    for (const version of ["0.3", "€", "1.0\r\nX-Evil: 1"]) {
      const response = await fetch(`${url}/who/?A2A-Version=${encodeURIComponent(version)}`, {
        method: "POST",
        headers: { ...key, "Content-Type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" }),
      });
      const { error }: any = await response.json();
      assert.deepEqual([response.status, error.code], [200, -32009], version);
    }
  });

  test("shows the card with its own address, without the Runtime's schemes, and knows its etag", async () => {
    const address = `${url}/who/.well-known/agent-card.json`;
    const response = await fetch(address);
    const card: any = await response.json();
    assert.deepEqual(
      card.supportedInterfaces.map((one: any) => one.url),
      [`${url}/who/`],
    );
    assert.equal(card.securitySchemes, undefined);
    const again = await fetch(address, { headers: { "If-None-Match": response.headers.get("etag")! } });
    assert.equal(again.status, 304);
  });

  test("shows the public half of its key, and no more", async () => {
    const { keys }: any = await (await fetch(`${url}/.well-known/jwks.json`)).json();
    assert.equal(keys.length, 1);
    assert.deepEqual(Object.keys(keys[0]).toSorted(), ["alg", "crv", "kid", "kty", "use", "x"]);
  });

  test("offers the agents that are listed, and nothing else of the Runtime", async () => {
    const headers = { "X-Partner-Key": "key-of-ada" };
    for (const path of [
      "hidden/",
      "hidden/.well-known/agent-card.json",
      "../v1/agents",
      "who/../../v1/agents",
      "who%2F..%2Fhidden/",
      "",
      "who/extra",
    ]) {
      assert.equal((await post(path, { headers })).status, 404, path);
    }
    assert.equal((await fetch(`${url}/who/`, { headers })).status, 405);
  });

  test("asks who does not say who it is to do so", async () => {
    const response = await post("who/");
    assert.equal(response.status, 401);
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
  });

  test("does not read a body without end", async () => {
    const small = await createA2aHandler({ ...options, maxBodyBytes: 10 });
    const request = new Request(`${url}/who/`, {
      method: "POST",
      body: "x".repeat(100),
      headers: { "X-Partner-Key": "key-of-ada" },
    });
    assert.equal((await small(request)).status, 413);
  });

  test("says that it is at fault when the Runtime does not trust it, or is down", async () => {
    const request = () =>
      new Request(`${url}/who/`, {
        method: "POST",
        body: "{}",
        headers: { "X-Partner-Key": "key-of-ada", "Content-Type": "application/json" },
      });
    const stranger = await createA2aHandler({
      ...options,
      signer: { ...options.signer, privateKey: await newKey("ES256") },
    });
    assert.equal((await stranger(request())).status, 502);
    const lost = await createA2aHandler({ ...options, runtimeUrl: "http://127.0.0.1:9" });
    assert.equal((await lost(request())).status, 502);
  });

  test("signs with Ed25519, P-256 and RSA keys, and with nothing else", async () => {
    for (const alg of ["EdDSA", "ES256", "RS256"]) {
      assert.ok(await createA2aHandler({ ...options, signer: { ...options.signer, privateKey: await newKey(alg) } }));
    }
    const publicHalf = { ...options.signer.privateKey, d: undefined };
    for (const privateKey of [publicHalf, {}, { kty: "oct", k: "AAAA" }, await newKey("ES384")]) {
      await assert.rejects(createA2aHandler({ ...options, signer: { ...options.signer, privateKey } }), {
        code: "call.invalid",
      });
    }
  });
});
