import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { EXTENSIONS } from "@nylorun/protocol";
import type { AgentCard } from "@nylorun/protocol";

import { echo, makeAgent, serve } from "./served.ts";

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
