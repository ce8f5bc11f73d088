import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { createHostCheck } from "../../src/http/hosts.ts";
import { echo, makeAgent, serve } from "./served.ts";

const other = makeAgent("other", () => "Something else.");

describe("the routes", async () => {
  const served = await serve({ agents: [echo, other] });
  after(() => served[Symbol.asyncDispose]());
  const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
    served.app.fetch(new Request(`http://localhost${path}`, { method, headers }));
  const errorOf = async (response: Response) =>
    ((await response.json()) as { error: { code: string; message: string } }).error;

  it("list the agents to those who may use them", async () => {
    const response = await ask("GET", "/v1/agents", { authorization: "Bearer ada" });
    const { agents } = (await response.json()) as { agents: { id: string; url: string; cardUrl: string }[] };
    assert.deepEqual(
      agents.map(({ id }) => id),
      ["echo", "other"],
    );
    assert.deepEqual(agents[0], {
      id: "echo",
      name: echo.name,
      description: echo.description,
      version: echo.version,
      url: "http://127.0.0.1:6956/v1/a2a/agents/echo/",
      cardUrl: "http://127.0.0.1:6956/v1/a2a/agents/echo/.well-known/agent-card.json",
    });
    const nobody = await ask("GET", "/v1/agents");
    assert.deepEqual([nobody.status, nobody.headers.get("www-authenticate")], [401, "Bearer"]);
    assert.equal((await ask("GET", "/v1/agents", { authorization: "Bearer operator" })).status, 403);
  });

  it("answer another method with 405, those that there are, and in JSON", async () => {
    for (const [path, allowed] of [
      ["/v1/a2a/agents/echo", "POST"],
      ["/v1/a2a/agents/echo/", "POST"],
      ["/v1/a2a/agents/echo/.well-known/agent-card.json", "GET, HEAD"],
      ["/.well-known/agent-card.json", "GET, HEAD"],
      ["/v1/agents", "GET, HEAD"],
      ["/health", "GET, HEAD"],
      ["/ready", "GET, HEAD"],
    ] as const) {
      for (const method of ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
        if (allowed.includes(method)) continue;
        const response = await ask(method, path);
        assert.deepEqual([response.status, response.headers.get("allow")], [405, allowed], `${method} ${path}`);
        assert.equal((await errorOf(response)).code, "request.wrongMethod");
      }
    }
  });

  it("answer any other path with 404, in JSON, and none with a redirect", async () => {
    for (const path of [
      "/",
      "/v1",
      "/v1/a2a/agents",
      "/v1/a2a/agents/",
      "/v1/a2a/agents/echo/x",
      "/v1/agents/",
      "//",
      "/%00",
    ]) {
      const response = await ask("GET", path);
      assert.equal(response.status, 404, path);
      assert.equal((await errorOf(response)).code, "request.noSuchPath");
    }
  });

  it("answer HEAD as GET, without the body", async () => {
    const response = await ask("HEAD", "/v1/a2a/agents/echo/.well-known/agent-card.json");
    assert.deepEqual([response.status, await response.text()], [200, ""]);
    assert.ok(response.headers.get("etag"));
  });

  it("share nothing with pages of other origins", async () => {
    const origin = { origin: "https://example.com", "access-control-request-method": "POST" };
    for (const [method, path] of [
      ["OPTIONS", "/v1/a2a/agents/echo"],
      ["GET", "/v1/agents"],
      ["GET", "/.well-known/agent-card.json"],
    ] as const) {
      const { headers } = await ask(method, path, origin);
      assert.deepEqual(
        [...headers.keys()].filter((name) => name.startsWith("access-control")),
        [],
      );
    }
  });

  it("tell that the process is up, and whether it takes work", async () => {
    await using own = await serve();
    assert.deepEqual(await (await own.get("/health")).json(), { status: "ok" });
    assert.deepEqual(await (await own.get("/ready")).json(), { status: "ready" });
    own.stop();
    assert.equal((await own.get("/health")).status, 200);
    const stopped = await own.get("/ready");
    assert.deepEqual([stopped.status, (await errorOf(stopped)).code], [503, "runtime.stopping"]);

    await using broken = await serve({
      instead: ({ store }) => ({
        store: new Proxy(store, {
          get: (target, name) =>
            name === "nextDue"
              ? () => Promise.reject(new Error("secret"))
              : (Reflect.get(target, name, target) as unknown),
        }),
      }),
    });
    const down = await broken.get("/ready");
    assert.deepEqual([down.status, (await errorOf(down)).code], [503, "store.down"]);
  });
});

describe("the host that a request names", () => {
  const answers = (settings: { host?: string; publicUrl?: string; allowedHosts?: string[] }, authority: string) =>
    createHostCheck({ host: "127.0.0.1", publicUrl: "http://127.0.0.1:6956", allowedHosts: [], ...settings })(
      `http://${authority}/v1/agents`,
    );

  it("is this machine's own on a loopback server, on any port", () => {
    for (const host of ["127.0.0.1", "localhost", "::1"]) {
      for (const authority of ["127.0.0.1", "127.0.0.1:6956", "localhost:1", "LOCALHOST", "localhost.", "[::1]:6956"]) {
        assert.equal(answers({ host }, authority), true, authority);
      }
      for (const authority of [
        "example.com",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "notlocalhost",
        "example.com:6956",
        "10.0.0.1",
        "[::2]",
      ]) {
        assert.equal(answers({ host }, authority), false, authority);
      }
    }
  });

  it("may be the public URL's, and those that are allowed", () => {
    const settings = { publicUrl: "https://Agents.example.com/base", allowedHosts: ["inner", "[fd00::1]"] };
    for (const authority of [
      "agents.example.com",
      "agents.example.com:8443",
      "inner:6956",
      "INNER",
      "[fd00::1]:6956",
    ]) {
      assert.equal(answers(settings, authority), true, authority);
    }
    assert.equal(answers(settings, "example.com"), false);
    assert.equal(answers(settings, "evil.agents.example.com"), false);
  });

  it("may be any address on a server beyond this machine, yet no name that it does not know", () => {
    const settings = { host: "0.0.0.0", publicUrl: "https://agents.example.com" };
    for (const authority of ["10.1.2.3:6956", "[fd00::1]", "127.0.0.1", "localhost", "agents.example.com"]) {
      assert.equal(answers(settings, authority), true, authority);
    }
    assert.equal(answers(settings, "rebound.example.net"), false);
  });

  it("is answered the same every time, however many were named", () => {
    const check = createHostCheck({ host: "127.0.0.1", publicUrl: "http://127.0.0.1:6956", allowedHosts: [] });
    for (let index = 0; index < 1000; index++) assert.equal(check(`http://h${index}.example.com/`), false);
    assert.equal(check("http://localhost/"), true);
    assert.equal(check("http://h1.example.com/"), false);
  });

  it("that is not answered for gets 421 on every path, with what it was", async () => {
    await using served = await serve();
    for (const path of ["/v1/a2a/agents/echo", "/.well-known/agent-card.json", "/health", "/nowhere"]) {
      const response = await served.app.fetch(
        new Request(`http://rebound.example.net:6956${path}`, { method: path.startsWith("/v1") ? "POST" : "GET" }),
      );
      assert.equal(response.status, 421, path);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.equal(error.code, "request.wrongHost");
      assert.match(error.message, /"rebound\.example\.net".*--allowed-hosts/);
    }
  });
});
