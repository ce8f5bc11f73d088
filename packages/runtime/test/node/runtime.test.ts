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
