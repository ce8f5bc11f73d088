/** What A2A 1.0 requires of a client, seen by servers that are asked; and what a client of A2A 0.3 is told by ours. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { LegacyJsonRpcTransport } from "@a2a-js/sdk/compat/v0_3/client";
import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient, A2aClientError } from "@nylorun/agents/a2a";

import { actor } from "./agents.ts";
import { serve } from "./wire.ts";

/** Signed by itself, for localhost and 127.0.0.1, in a test that wants nobody to trust it. */
const STRANGER = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEbcdAxbLMHS6xEbW
x8YW9ToOIGpcHptMyg3osKG7xLShRANCAATwTdHnRCgt8JkCOtucvnNlGHvHMVNj
hWn3pZRvcHUCjSTmiPeaqhkx5siW84wRtIY07YDCZuvWGDNeOKZgAApP
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmTCCAT+gAwIBAgIUTLCKqH4IqSOKq2PzHC8B7CFni98wCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIc3RyYW5nZXIwIBcNMjYxMTMwMTQ0MDQzWhgPMjEyNjExMDYx
NDQwNDNaMBMxETAPBgNVBAMMCHN0cmFuZ2VyMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE8E3R50QoLfCZAjrbnL5zZRh7xzFTY4Vp96WUb3B1Ao0k5oj3mqoZMebI
lvOMEbSGNO2Awmbr1hgzXjimYAAKT6NvMG0wHQYDVR0OBBYEFGz+S+Nnm58qZ9TT
Jvae0U04psHaMB8GA1UdIwQYMBaAFGz+S+Nnm58qZ9TTJvae0U04psHaMA8GA1Ud
EwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49
BAMCA0gAMEUCIQCQgLqlju5P32GI4cCqUa9vHUJfQyF9vmDOj2bnZkS0xwIgPLes
A0f8ZlluE9p7AdbtF6fYR6mph7LHNR6lKSYYbpY=
-----END CERTIFICATE-----
`,
};

interface Asked {
  readonly path: string;
  readonly method: string;
  readonly params: { readonly [field: string]: any };
  readonly headers: IncomingMessage["headers"];
}

/** An agent that says what card and what answers a test wants, and remembers what it was asked. */
class Agent implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** Of tasks, one for each time that it is asked, and the last one from then on. */
  states: string[] = ["TASK_STATE_COMPLETED"];
  card: object = {};
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
    server.on("request", this.#answer);
  }

  static async start(): Promise<Agent> {
    const server = createHttp();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Agent(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  client(): Promise<A2aClient> {
    return createA2aClient({ url: `${this.url}/`, auth: "secret", pollMs: 20 });
  }

  readonly #answer: RequestListener = (request, response) => {
    void (async () => {
      response.setHeader("content-type", "application/json");
      const body = Buffer.concat(await request.toArray()).toString();
      if (request.url!.includes(".well-known")) {
        response.end(JSON.stringify({ ...CARD, ...this.card }));
        return;
      }
      const isRest = !body.includes('"jsonrpc"');
      const { id, method, params } = isRest
        ? { id: 1, method: `${request.method} ${request.url}`, params: body === "" ? {} : JSON.parse(body) }
        : JSON.parse(body);
      this.asked.push({ path: request.url!, method, params, headers: request.headers });
      const state = this.states.length > 1 ? this.states.shift()! : this.states[0]!;
      const task = { id: "t", contextId: "the server's", status: { state, timestamp: "2026-10-14T02:00:00.000Z" } };
      const result = /Send|send/.test(method) ? { task } : task;
      response.end(JSON.stringify(isRest ? result : { jsonrpc: "2.0", id, result }));
    })();
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

const CARD = {
  name: "An agent",
  description: "For a test.",
  version: "1.0.0",
  capabilities: {},
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
};

const at = (url: string, protocolBinding: string, more: object = {}) => ({
  url,
  protocolBinding,
  protocolVersion: "1.0",
  ...more,
});

describe("the client", () => {
  // keeps: a2a-client-version
  it("sends A2A-Version with each request", async () => {
    await using agent = await Agent.start();
    agent.card = { supportedInterfaces: [at(`${agent.url}/rpc`, "JSONRPC")] };
    agent.states = ["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"];
    const client = await agent.client();
    await (await client.send("Hello")).done();
    assert.ok(agent.asked.length >= 2);
    for (const { headers } of agent.asked) assert.equal(headers["a2a-version"], "1.0");
  });

  // keeps: a2a-client-no-version-fallback
  it("takes interfaces of 1.0 alone: one of 0.3 is passed over, and is not fallen back to", async () => {
    await using agent = await Agent.start();
    const old = at(`${agent.url}/old`, "JSONRPC", { protocolVersion: "0.3" });
    agent.card = { supportedInterfaces: [old, at(`${agent.url}/new`, "JSONRPC")] };
    await (await (await agent.client()).send("Hello")).done();
    assert.deepEqual(new Set(agent.asked.map(({ path }) => path)), new Set(["/new"]));
    agent.card = { supportedInterfaces: [old] };
    await assert.rejects(agent.client(), ({ code }: A2aClientError) => code.startsWith("card."));
    assert.ok(agent.asked.every(({ path }) => path === "/new"));
  });

  // keeps: a2a-client-interface
  it("takes the first interface that it can use, at its very URL", async () => {
    await using agent = await Agent.start();
    const [rpc, rest] = [at(`${agent.url}/deep/rpc`, "JSONRPC"), at(`${agent.url}/deep/rest`, "HTTP+JSON")];
    agent.card = { supportedInterfaces: [rpc, rest] };
    await (await agent.client()).send("Hello");
    assert.deepEqual(
      agent.asked.map(({ path }) => path),
      ["/deep/rpc"],
    );
    agent.card = { supportedInterfaces: [rest, rpc] };
    await (await agent.client()).send("Hello");
    assert.match(agent.asked.at(-1)!.path, /^\/deep\/rest\//);
  });

  // keeps: a2a-client-fallback
  it("falls back to another binding when the preferred one is none of its own", async () => {
    await using agent = await Agent.start();
    agent.card = { supportedInterfaces: [at("grpc.example.com:443", "GRPC"), at(`${agent.url}/rpc`, "JSONRPC")] };
    await (await agent.client()).send("Hello");
    assert.deepEqual(
      agent.asked.map(({ path }) => path),
      ["/rpc"],
    );
  });

  // keeps: a2a-client-tenant
  it("says the tenant of the interface in every request, and none where there is none", async () => {
    await using agent = await Agent.start();
    for (const tenant of ["acme", undefined]) {
      agent.card = { supportedInterfaces: [at(`${agent.url}/rpc`, "JSONRPC", tenant === undefined ? {} : { tenant })] };
      agent.states = ["TASK_STATE_WORKING", "TASK_STATE_WORKING"];
      const before = agent.asked.length;
      const client = await agent.client();
      const task = await client.send("Hello");
      await client.task(task.id!);
      await task.cancel();
      const asked = agent.asked.slice(before);
      assert.deepEqual([...new Set(asked.map(({ method }) => method))], ["SendMessage", "GetTask", "CancelTask"]);
      for (const { method, params } of asked) assert.equal(params["tenant"] || undefined, tenant, method);
    }
  });

  // keeps: a2a-client-opaque-context
  it("hands back the server's contextId as it is, and makes none of its own", async () => {
    await using agent = await Agent.start();
    agent.card = { supportedInterfaces: [at(`${agent.url}/rpc`, "JSONRPC")] };
    const conversation = (await agent.client()).context();
    await conversation.send("one");
    await conversation.send("two");
    const contexts = agent.asked.filter(({ method }) => method === "SendMessage");
    assert.deepEqual(
      contexts.map(({ params }) => params["message"].contextId || undefined),
      [undefined, "the server's"],
    );
  });

  // keeps: a2a-client-in-task-polling, a2a-client-text-is-no-credential
  it("goes on looking while a task waits for an authorization, and takes it for none until the agent goes on", async () => {
    await using agent = await Agent.start();
    agent.card = { supportedInterfaces: [at(`${agent.url}/rpc`, "JSONRPC")] };
    agent.states = [...Array.from({ length: 4 }, () => "TASK_STATE_AUTH_REQUIRED"), "TASK_STATE_COMPLETED"];
    const states: string[] = [];
    const task = await (await agent.client()).send("Hello");
    for await (const { state } of task.updates()) states.push(state);
    assert.deepEqual(states, ["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_COMPLETED"]);
    assert.equal(agent.asked.filter(({ method }) => method === "SendMessage").length, 1, "and says nothing meanwhile");
  });

  // deviates: a2a-client-card-signature
  it("does not look at signatures of cards: one that signs nothing does not stop it", async () => {
    await using agent = await Agent.start();
    const signatures = [{ protected: btoa('{"alg":"ES256","kid":"none"}'), signature: "bm9uc2Vuc2U" }];
    agent.card = { supportedInterfaces: [at(`${agent.url}/rpc`, "JSONRPC")], signatures };
    await (await agent.client()).send("Hello");
    assert.equal(agent.asked.length, 1);
  });

  // keeps: a2a-client-server-identity
  it("sends nothing to a server whose certificate nobody vouches for", async () => {
    const server = createHttps(STRANGER);
    let asked = 0;
    server.on("request", (_, response) => {
      asked++;
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      await assert.rejects(createA2aClient({ url, auth: "secret", patienceMs: 0 }), (error: A2aClientError) => {
        assert.equal(error.code, "agent.unreachable");
        return true;
      });
      assert.equal(asked, 0);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

describe("the official SDK's client for A2A 0.3", () => {
  // keeps: profile-serves-the-0.3-client
  it("is refused as a client of another version, and told which one is served", async () => {
    await using served = await serve({ agents: [actor] });
    const wire = await served.as("ada");
    const answers: string[] = [];
    const fetchImpl: typeof fetch = async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set("authorization", `Bearer ${wire.key}`);
      const response = await fetch(input, { ...init, headers });
      answers.push(await response.clone().text());
      return response;
    };
    const client = new LegacyJsonRpcTransport({ endpoint: `${wire.url}/v1/a2a/agents/actor/`, fetchImpl });
    await assert.rejects(client.getTask({ tenant: "", id: "x", historyLength: undefined }), (error: unknown) => {
      assert.match(`${(error as Error).name} ${(error as Error).message}`, /version/i);
      return true;
    });
    const { error } = JSON.parse(answers[0]!);
    assert.equal(error.code, -32009);
    assert.equal(error.data[0].metadata.supportedVersions, "1.0");
    assert.equal((await wire.list("actor")).totalSize, 0);
  });
});
