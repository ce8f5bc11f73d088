/** Everything that reports on one machine comes together, and a Runtime's tasks with it: what docs/progress/ draws, as processes. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { isProgressEvent } from "@nylorun/protocol";

import { startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";

const MCP_SERVER = fileURLToPath(new URL("../../packages/mcp-server/bin/mcp-server.js", import.meta.url));
const AGENTS = JSON.stringify(import.meta.resolve("@nylorun/agents"));
/** For whatever is waited for, in milliseconds. */
const PATIENCE = 15_000;

const AGENT = `
import { setTimeout as delay } from "node:timers/promises";
import { defineAgent } from ${AGENTS};
export default defineAgent({
  id: "refunds", name: "Refunds", description: "For a test.", version: "1.0.0",
  skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
  async run(turn) {
    const plan = turn.plan(["Find the order", "Ask", "Refund"]);
    plan.start(0);
    await turn.effect("find", () => delay(50));
    plan.start(1);
    await turn.approve({ prompt: "Refund?" });
    plan.start(2);
    return "Refunded.";
  },
});`;

/** One person's machine. */
class Machine implements AsyncDisposable {
  readonly folder: string;
  readonly events: string;
  readonly #nodes: Nodes;

  /** With a Runtime that serves the agent on it. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<Machine> {
    const folder = mkdtempSync(join(tmpdir(), "nylorun-machine-"));
    const events = join(folder, "events");
    const agents = join(folder, "refunds.ts");
    writeFileSync(agents, AGENT);
    try {
      const person = { HOME: folder, AGENT_PROGRESS_EVENTS_DIR: events };
      return new Machine(folder, events, await startNodes({ folder, agents, env: { ...person, ...env } }));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(folder: string, events: string, nodes: Nodes) {
    this.folder = folder;
    this.events = events;
    this.#nodes = nodes;
  }

  get url(): string {
    return this.#nodes.url;
  }

  /** Of one process: what is reported to it, it shows itself. */
  get nodeUrl(): string {
    return this.#nodes.urls[0]!;
  }

  key(subject: string): Promise<string> {
    return this.#nodes.key(subject);
  }

  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#nodes.run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** What `watch` shows, by task, as soon as it is as it should be. */
  async watched(isRight: (tasks: ReadonlyMap<string, any>) => boolean): Promise<ReadonlyMap<string, any>> {
    for (const deadline = Date.now() + PATIENCE; ; await delay(50)) {
      const lines = (await this.run("watch", "--once", "--json")).split("\n").slice(0, -1);
      const tasks = new Map(lines.map((line) => JSON.parse(line)).map((record) => [record.task_id as string, record]));
      if (isRight(tasks)) return tasks;
      assert.ok(Date.now() < deadline, lines.join("\n"));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nodes[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function send(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/a2a/agents/refunds/`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] } },
    }),
  });
  return (await response.json()).result.task.id;
}

describe("Progress on one machine", { timeout: 60_000 }, () => {
  it("comes together from an agent over MCP, a command, a script and a Runtime, and is seen by all of them", async () => {
    await using machine = await Machine.start();
    const key = await machine.key("ada");
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MCP_SERVER],
      env: { PATH: process.env["PATH"]!, HOME: machine.folder, AGENT_PROGRESS_EVENTS_DIR: machine.events },
    });
    const agent = new Client({ name: "test", version: "1.0.0" });
    await agent.connect(transport);
    const report = { task_id: "claude:summarize", percent: 42, stage: "Reasoning", status: "running" };
    await agent.callTool({ name: "report_progress", arguments: report });
    await machine.run("report", "backup:photos", "--percent", "40", "--stage", "Copying");
    await machine.run("run", "--task", "ci:test", "--", "true");
    const task = `refunds:${await send(machine.url, key)}`;
    const posted = await fetch(`${machine.nodeUrl}/v1/progress`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ task_id: "web:import", percent: 7, stage: "Importing", status: "running" }),
    });
    assert.equal((await posted.json()).persisted, true);

    const tasks = await machine.watched((found) => found.get(task)?.status === "paused");
    const seen = [...tasks.values()].map(
      ({ task_id, agent: label, percent, status }) => `${task_id} ${label} ${Math.floor(percent)} ${status}`,
    );
    assert.deepEqual(seen.toSorted(), [
      "backup:photos backup 40 running",
      "ci:test ci 100 done",
      "claude:summarize claude 42 running",
      `${task} refunds 33 paused`,
      "web:import web 7 running",
    ]);
    for (const record of tasks.values()) assert.ok(isProgressEvent(record));

    const idsIn = (answer: any): string[] => answer.tasks.map(({ task_id }: { task_id: string }) => task_id);
    // The agent sees everybody, too.
    const { structuredContent } = await agent.callTool({ name: "get_status", arguments: {} });
    assert.deepEqual(idsIn(structuredContent).toSorted(), [...tasks.keys()].toSorted());
    // Over HTTP there is what is the caller's own.
    const mine = await fetch(`${machine.nodeUrl}/v1/progress`, { headers: { authorization: `Bearer ${key}` } });
    assert.deepEqual(idsIn(await mine.json()).toSorted(), [task, "web:import"].toSorted());
    await agent.close();
    assert.match(await machine.run("doctor"), /✔ Nothing is wrong/);
  });

  // keeps: progress-http-local
  it("is not that of a Runtime that serves others: its tasks stay with it", async () => {
    await using machine = await Machine.start({ NYLORUN_PUBLIC_URL: "https://agents.example.com" });
    const key = await machine.key("ada");
    const task = `refunds:${await send(machine.url, key)}`;
    for (const deadline = Date.now() + PATIENCE; ; await delay(50)) {
      const response = await fetch(`${machine.url}/v1/progress?task=${task}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const [found] = (await response.json()).tasks;
      if (found?.status === "paused") break;
      assert.ok(Date.now() < deadline);
    }
    await delay(100);
    assert.deepEqual(existsSync(machine.events) ? readdirSync(machine.events) : [], []);
  });
});
