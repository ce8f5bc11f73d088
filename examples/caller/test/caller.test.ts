/** The examples of docs/a2a/client.md, run against a Runtime. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, mock, test } from "node:test";

import { defineAgent, refuse } from "@nylorun/agents";
import { createA2aClient } from "@nylorun/agents/a2a";
import type { ProgressEvent } from "@nylorun/agents/a2a";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";

import { refunds } from "../../agents/refunds.ts";
import { Shop } from "../../agents/refunds/shop.ts";
import { refund } from "../refund.ts";
import { answerAll, converse, outcome, partners, progressOf, save, sendOnce, takeUp, waiting } from "../snippets.ts";

const words = defineAgent({
  id: "words",
  name: "Words",
  description: "For a test.",
  version: "1.0.0",
  skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
  async run(turn) {
    if (turn.text === "ask") return turn.ask({ prompt: "Which day?", choices: ["Mon", "Tue"] });
    if (turn.text === "refuse") refuse("Not today.");
    if (turn.text.startsWith("Which number")) return turn.history[0]?.text ?? "none";
    return turn.text;
  },
});

describe("the caller's examples", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-caller-"));
  const cwd = process.cwd();
  let runtime: Runtime;
  let key: string;
  before(async () => {
    process.chdir(folder);
    mock.method(console, "log", () => undefined);
    runtime = await startRuntime({
      agents: [refunds(new Shop(folder)), words],
      home: join(folder, "home"),
      port: 0,
      logLevel: "silent",
    });
    key = await runtime.addKey({ role: "subject", subject: "ada" });
  });
  after(async () => {
    await runtime?.stop();
    process.chdir(cwd);
    rmSync(folder, { recursive: true });
  });

  const client = (agent: string) =>
    createA2aClient({ url: `${runtime.url}/v1/a2a/agents/${agent}/`, auth: key, pollMs: 100 });

  test("the walk-through pays once a person has approved, and does not when not", async () => {
    const agent = await client("refunds");
    const { output, totals } = await refund(
      agent,
      "Refund order 1001",
      async ({ prompt }) => prompt === "Refund 42.00 EUR to Ada?",
    );
    assert.match(String(output), /^Refunded 42\.00 EUR to Ada/);
    assert.equal(totals?.costUsd, 0.25);
    assert.equal((await refund(agent, "Refund order 1003", async () => false)).output, "Not refunded.");
  });

  test("the walk-through is a program, which asks at the terminal and takes the key that npm start leaves", async () => {
    mkdirSync(".nylorun");
    writeFileSync(".nylorun/local.key", `${key}\n`);
    const { NYLORUN_KEY: _, ...env } = process.env;
    const child = spawn(process.execPath, [join(import.meta.dirname, "../refund.ts"), "Refund order 1003"], {
      cwd: folder,
      env: { ...env, NYLORUN_URL: runtime.url },
      stdio: ["pipe", "pipe", "inherit"],
      timeout: 30_000,
    });
    let said = "";
    for await (const chunk of child.stdout) {
      const asked = said.includes("Type yes");
      said += String(chunk);
      if (!asked && /Refund 120\.50 .*\? Type yes to approve: /.test(said)) child.stdin.write("yes\n");
    }
    assert.match(said, /Refunded 120\.50 /);
  });

  test("a message that is sent again is the same task, and is taken up after a restart", async () => {
    const agent = await client("refunds");
    const first = await sendOnce(agent, "1002");
    assert.equal((await sendOnce(agent, "1002")).id, first.id);
    assert.equal(readFileSync("tasks.txt", "utf8"), `${first.id}\n${first.id}\n`);
    const [task] = await takeUp(await client("refunds"));
    const [prompt] = await waitingUntilThere(agent);
    assert.equal(prompt, "Refund 19.99 USD to Grace?");
    await answerAll(task!);
    assert.match(String(task!.output), /^Refunded 19\.99 USD/);
  });

  async function waitingUntilThere(agent: Awaited<ReturnType<typeof client>>): Promise<string[]> {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await new Promise((go) => setTimeout(go, 50))) {
      const prompts = await waiting(agent);
      if (prompts.length > 0) return prompts;
    }
    return [];
  }

  test("a conversation remembers, and a question is answered by choice", async () => {
    const agent = await client("words");
    assert.deepEqual(await converse(agent), ["Remember the number 7.", "Remember the number 7."]);
    const task = await agent.send("ask");
    await answerAll(task);
    assert.equal(task.output, "Mon");
  });

  test("what goes wrong is told apart", async () => {
    const agent = await client("words");
    assert.equal(await outcome(agent, "Hello"), "Hello");
    assert.equal(await outcome(agent, "refuse"), "It will not: Not today.");
  });

  test("every update is a progress event", async () => {
    const events: ProgressEvent[] = [];
    for await (const event of progressOf(await (await client("words")).send("Hello"))) events.push(event);
    assert.deepEqual([events.at(-1)?.status, events.at(-1)?.percent], ["done", 100]);
  });

  test("a file is written as it comes", async () => {
    const chunks: Uint8Array[] = [];
    const file = { stream: async () => new Blob([Uint8Array.of(1, 2)]).stream() };
    await save(file as never, new WritableStream({ write: (chunk: Uint8Array) => void chunks.push(chunk) }));
    assert.deepEqual(chunks, [Uint8Array.of(1, 2)]);
  });

  test("partners are told to say who they are", async () => {
    const handler = await partners(
      runtime.url,
      generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }) as never,
    );
    const response = await handler(new Request("https://app.example.com/a2a/refunds/", { method: "POST", body: "{}" }));
    assert.equal(response.status, 401);
  });
});
