/** Everything that reports on one machine comes together, and a Runtime's tasks with it: what docs/progress/ draws, as processes. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { isProgressEvent } from "@nylorun/protocol";

const NYLORUN = fileURLToPath(new URL("../../packages/runtime/bin/nylorun.js", import.meta.url));
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
  readonly folder = mkdtempSync(join(tmpdir(), "nylorun-machine-"));
  readonly events = join(this.folder, "events");
  readonly #children: ChildProcess[] = [];

  get environment(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      HOME: this.folder,
      AGENT_PROGRESS_EVENTS_DIR: this.events,
      NYLORUN_HOME: join(this.folder, "home"),
    };
  }

  async run(...args: string[]): Promise<string> {
    const options = { env: this.environment, cwd: this.folder };
    return (await promisify(execFile)(process.execPath, [NYLORUN, ...args], options)).stdout;
  }

  /** Serves the agent. Resolves to the address. */
  async serve(...flags: string[]): Promise<string> {
    writeFileSync(join(this.folder, "refunds.ts"), AGENT);
    const child = spawn(process.execPath, [NYLORUN, "serve", "--port", "0", ...flags, "refunds.ts"], {
      env: this.environment,
      cwd: this.folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await delay(20)) {
      const [, url] = /^Serving at (\S+) /.exec(said) ?? [];
      if (url !== undefined) return url;
    }
    return assert.fail(`it does not serve: ${said}`);
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
    await Promise.all(
      this.#children.map(async (child) => {
        child.kill("SIGKILL");
        if (child.exitCode === null && child.signalCode === null)
          await new Promise((resolve) => child.once("exit", resolve));
      }),
    );
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
    await using machine = new Machine();
    const url = await machine.serve();
    const key = (await machine.run("keys", "add", "--subject", "ada")).trim();
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
    const task = `refunds:${await send(url, key)}`;
    const posted = await fetch(`${url}/v1/progress`, {
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
    const mine = await fetch(`${url}/v1/progress`, { headers: { authorization: `Bearer ${key}` } });
    assert.deepEqual(idsIn(await mine.json()).toSorted(), [task, "web:import"].toSorted());
    await agent.close();
    assert.match(await machine.run("doctor"), /✔ Nothing is wrong/);
  });

  // keeps: progress-http-local
  it("is not that of a Runtime that serves others: its tasks stay with it", async () => {
    await using machine = new Machine();
    const url = await machine.serve("--public-url", "https://agents.example.com");
    const key = (await machine.run("keys", "add", "--subject", "ada")).trim();
    const task = `refunds:${await send(url, key)}`;
    for (const deadline = Date.now() + PATIENCE; ; await delay(50)) {
      const response = await fetch(`${url}/v1/progress?task=${task}`, { headers: { authorization: `Bearer ${key}` } });
      const [found] = (await response.json()).tasks;
      if (found?.status === "paused") break;
      assert.ok(Date.now() < deadline);
    }
    await delay(100);
    assert.deepEqual(existsSync(machine.events) ? readdirSync(machine.events) : [], []);
  });
});
