import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { defineAgent } from "@nylorun/agents";
import { startRuntime } from "@nylorun/runtime";

const folder = mkdtempSync(join(tmpdir(), "nylorun-runtime-"));
after(() => rmSync(folder, { recursive: true }));

let homes = 0;
const echo = defineAgent({
  id: "echo",
  name: "Echo",
  description: "Says it again.",
  version: "1.0.0",
  skills: [{ id: "echo", name: "Echo", description: "Says it again.", tags: ["text"] }],
  run: (turn) => turn.text,
});
const options = () => ({ agents: [echo], home: join(folder, `${++homes}`), port: 0, logLevel: "silent" as const });

async function send(url: string, headers: Record<string, string>): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "Hello" }] };
  return fetch(`${url}/v1/a2a/agents/echo/`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
  });
}

describe("startRuntime", () => {
  it("serves from within a program, to the holders of its keys, and leaves the program's globals alone", async () => {
    const globals = [globalThis.Request, globalThis.Response, process.listenerCount("uncaughtException")];
    await using runtime = await startRuntime(options());
    assert.deepEqual([globalThis.Request, globalThis.Response, process.listenerCount("uncaughtException")], globals);
    assert.match(runtime.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.deepEqual(runtime.agents, [echo]);
    const key = await runtime.addKey({ role: "subject", subject: "ada" });
    const answer = (await (await send(runtime.url, { authorization: `bEaReR ${key}` })).json()) as {
      result: { task: { artifacts: unknown[] } };
    };
    assert.equal(answer.result.task.artifacts.length, 1);
    for (const authorization of [
      "",
      key,
      `Bearer ${key}x`,
      `Basic ${key}`,
      `Bearer nyl_${"0".repeat(43)}`,
      `Bearer ${key}, Bearer ${key}`,
    ]) {
      assert.equal((await send(runtime.url, { authorization })).status, 401, authorization);
    }
    assert.equal((await send(runtime.url, {})).status, 401);
    await assert.rejects(runtime.addKey({ role: "subject", subject: "" }), { code: "subject.invalid" });
  });

  it("takes the program's own word for who calls, within the rule for subjects", async () => {
    await using runtime = await startRuntime({
      ...options(),
      authenticate: async (request) => {
        const subject = request.headers.get("x-user");
        return subject === null ? undefined : { role: "subject", subject };
      },
    });
    assert.equal((await send(runtime.url, { "x-user": "ada" })).status, 200);
    assert.equal((await send(runtime.url, {})).status, 401);
    assert.equal((await send(runtime.url, { "x-user": "ada lovelace" })).status, 500);
  });

  const schemes = { key: { apiKeySecurityScheme: { location: "header", name: "X-User" } } } as const;

  it("says in cards, and to strangers, how callers of the program's own check authenticate", async () => {
    const authenticate = async ({ headers }: Request) => {
      const subject = headers.get("x-user");
      return subject === null ? undefined : ({ role: "subject", subject } as const);
    };
    const cardOf = async (url: string) =>
      (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Record<string, unknown>;
    const securityRequirements = [{ schemes: { key: {} } }];
    const challenge = 'ApiKey realm="agents"';
    const given = { ...options(), authenticate, securitySchemes: schemes, securityRequirements, challenge };
    await using runtime = await startRuntime(given);
    const card = await cardOf(runtime.url);
    assert.deepEqual([card["securitySchemes"], card["securityRequirements"]], [schemes, securityRequirements]);
    const routes = ["/v1/agents", "/v1/usage", "/v1/progress", "/v1/progress/events", "/v1/operator/keys", "/metrics"];
    const refused = [await send(runtime.url, {})];
    for (const route of routes) refused.push(await fetch(runtime.url + route));
    refused.push(await fetch(`${runtime.url}/v1/progress`, { method: "POST" }));
    for (const { status, headers, url } of refused)
      assert.deepEqual([status, headers.get("www-authenticate")], [401, challenge], url);
    const { error } = (await refused[0]!.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, "request.unauthenticated");
    assert.doesNotMatch(error.message, /nylorun keys|Bearer/);

    await using silent = await startRuntime({ ...options(), authenticate });
    const said = await cardOf(silent.url);
    assert.ok(!("securitySchemes" in said) && !("securityRequirements" in said));
    assert.equal((await send(silent.url, {})).headers.get("www-authenticate"), "Bearer");

    await using keys = await startRuntime(options());
    assert.match(JSON.stringify((await cardOf(keys.url))["securitySchemes"]), /A key that the Runtime's operator made/);
  });

  it("refuses to say how callers authenticate what cannot be so, in a sentence", async () => {
    const authenticate = async () => undefined;
    const requirements = [{ schemes: { key: {} } }];
    const wrong: readonly (readonly [given: object, message: RegExp])[] = [
      [{ challenge: "Bearer" }, /^challenge says how callers of your own authenticate do it: pass authenticate/],
      [{ securitySchemes: schemes, securityRequirements: requirements }, /^securitySchemes says how/],
      [{ authenticate, challenge: "Bearer\r\nX: y" }, /^challenge must be the text of a WWW-Authenticate header/],
      [{ authenticate, challenge: "" }, /^challenge must be/],
      [{ authenticate, securitySchemes: schemes }, /securityRequirements is missing/],
      [{ authenticate, securityRequirements: requirements }, /securitySchemes is missing/],
      [{ authenticate, securitySchemes: {}, securityRequirements: requirements }, /^securitySchemes must be an object/],
      [
        { authenticate, securitySchemes: { key: { type: "http" } }, securityRequirements: requirements },
        /^securitySchemes\.key must hold exactly one of apiKeySecurityScheme, .*; it is \{"type":"http"\}\.$/,
      ],
      [{ authenticate, securitySchemes: schemes, securityRequirements: [] }, /not empty: nobody is anonymous/],
      [
        { authenticate, securitySchemes: schemes, securityRequirements: [{ schemes: {} }] },
        /^securityRequirements\[0\]/,
      ],
      [
        {
          authenticate,
          securitySchemes: schemes,
          securityRequirements: [...requirements, { schemes: { toString: {} } }],
        },
        /^securityRequirements\[1\]\.schemes must name some of securitySchemes \(key\); it is "toString"\.$/,
      ],
    ];
    for (const [given, message] of wrong)
      await assert.rejects(startRuntime({ ...options(), ...given }), { code: "setting.invalid", message });
  });

  it("stops once, however often it is asked to, and can be started again", async () => {
    const given = options();
    const first = await startRuntime(given);
    const key = await first.addKey({ role: "subject", subject: "ada" });
    assert.equal((await send(first.url, { authorization: `Bearer ${key}` })).status, 200);
    await Promise.all([first.stop(), first.stop(), first[Symbol.asyncDispose]()]);
    await first.stop();
    await assert.rejects(fetch(`${first.url}/health`));
    assert.ok(!existsSync(join(given.home, "control.sock")));
    assert.ok(!existsSync(join(given.home, "owner.json")));

    await using second = await startRuntime(given);
    assert.equal((await send(second.url, { authorization: `Bearer ${key}` })).status, 200);
  });

  it("refuses a home that a Runtime of the same process has, and leaves nothing open", async () => {
    const given = options();
    await using first = await startRuntime(given);
    await assert.rejects(startRuntime(given), { code: "home.taken" });
    assert.equal((await fetch(`${first.url}/health`)).status, 200);
  });

  it("leaves nothing open when it cannot start", async () => {
    const given = options();
    await using other = await startRuntime(options());
    const port = Number(new URL(other.url).port);
    await assert.rejects(startRuntime({ ...given, port }), { code: "listen.failed" });
    await assert.rejects(startRuntime({ ...given, port: 70_000 }), { code: "setting.invalid" });
    await assert.rejects(startRuntime({ ...given, agents: [echo, echo] }), { code: "agents.duplicate" });
    await using runtime = await startRuntime(given);
    assert.equal((await fetch(`${runtime.url}/ready`)).status, 200);
  });
});
