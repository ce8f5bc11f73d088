/** Coding agents that report without knowing: Claude Code by its hooks, and any agent that speaks ACP. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

import { AcpProgress } from "../../src/cli/adapters/acp-progress.ts";
import { BIN, Place } from "./nylorun.ts";
import { briefOf, recordsOf } from "./sink-of.ts";

describe("nylorun hook claude-code", () => {
  const SESSION = "1fb6500d-25ba-48c6-af00-5f92024644d0";

  interface Session {
    readonly hook: (event: string, fields?: object) => Promise<void>;
    /** A tool's two events. */
    readonly tool: (name: string, input: object, response?: object) => Promise<void>;
  }

  function sessionIn(place: Place): Session {
    const hook = (event: string, fields: object = {}): Promise<void> =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [BIN, "hook", "claude-code"], {
          env: place.environment({ XDG_STATE_HOME: join(place.folder, "state") }),
          stdio: ["pipe", "pipe", "pipe"],
        });
        let said = "";
        child.stdout.on("data", (chunk) => (said += chunk));
        child.stderr.on("data", (chunk) => (said += chunk));
        child.on("close", (code) => (code === 0 && said === "" ? resolve() : reject(new Error(`${code}: ${said}`))));
        const common = {
          session_id: SESSION,
          transcript_path: "/x.jsonl",
          cwd: "/home/ada/shop",
          permission_mode: "default",
        };
        child.stdin.end(JSON.stringify({ ...common, hook_event_name: event, ...fields }));
      });
    return {
      hook,
      tool: async (name, input, response = {}) => {
        await hook("PreToolUse", { tool_name: name, tool_input: input, tool_use_id: "toolu_1" });
        await hook("PostToolUse", {
          tool_name: name,
          tool_input: input,
          tool_response: response,
          tool_use_id: "toolu_1",
        });
      },
    };
  }

  it("reports a session from its list, its tools and its end", async () => {
    await using place = new Place();
    const { hook, tool } = sessionIn(place);
    await hook("SessionStart", { source: "startup" });
    await hook("UserPromptSubmit", { prompt: "Refactor the token store" });
    await tool("Bash", { command: "npm test", description: "Run the tests" });
    await tool(
      "TaskCreate",
      { subject: "Read the code", description: "d", activeForm: "Reading the code" },
      { task: { id: "1", subject: "Read the code" } },
    );
    await tool("TaskCreate", { subject: "Change it", description: "d" }, { task: { id: "2", subject: "Change it" } });
    await tool("TaskUpdate", { taskId: "1", status: "in_progress", activeForm: "Reading the code" });
    await hook("PreToolUse", { tool_name: "Read", tool_input: { file_path: "/home/ada/shop/store.ts" } });
    await hook("Notification", { notification_type: "permission_prompt", message: "Claude needs your permission" });
    await tool("TaskUpdate", { taskId: "1", status: "completed" });
    await hook("Stop", { stop_hook_active: false });
    await hook("UserPromptSubmit", { prompt: "Go on" });
    await tool("TaskUpdate", { taskId: "2", status: "completed" });
    await hook("Stop", { stop_hook_active: false });
    await hook("SessionEnd", { reason: "prompt_input_exit" });

    const all = recordsOf(place);
    assert.deepEqual(all.map(briefOf), [
      "0 started Thinking",
      "0 running Bash: Run the tests",
      "0 running Bash: Run the tests",
      "0 running Planning",
      "0 running Planning",
      "0 running Planning",
      "0 running Planning",
      "0 running Planning",
      "0 running Reading the code (Planning)",
      "0 running Reading the code (Read: store.ts)",
      "0 paused Waiting for permission",
      "0 running Reading the code (Planning)",
      "50 running Planning",
      "50 paused Waiting for you",
      "50 started Thinking",
      "50 running Planning",
      "100 running Planning",
      "100 done Finished",
    ]);
    assert.deepEqual(
      new Set(all.map(({ task_id, agent, session_id }) => [task_id, agent, session_id].join())),
      new Set([`claude-code:shop-1fb6500d,claude-code,${SESSION}`]),
    );
  });

  it("follows the whole list of TodoWrite and of TaskList, and ends what a session left open", async () => {
    await using place = new Place();
    const { hook, tool } = sessionIn(place);
    await hook("UserPromptSubmit");
    const todos = (...statuses: string[]) => ({
      todos: statuses.map((status, index) => ({ content: `Step ${index}`, activeForm: `Doing step ${index}`, status })),
    });
    await tool("TodoWrite", todos("completed", "in_progress", "pending", "pending"));
    assert.equal(briefOf(recordsOf(place).at(-1)!), "25 running Doing step 1 (Planning)");
    await tool(
      "TaskList",
      {},
      {
        tasks: [
          { id: "7", subject: "Other", status: "completed" },
          { id: "8", subject: "Last", status: "pending" },
        ],
      },
    );
    assert.equal(briefOf(recordsOf(place).at(-1)!), "50 running Planning");
    await tool("TaskUpdate", { taskId: "8", status: "deleted" });
    assert.equal(briefOf(recordsOf(place).at(-1)!), "100 running Planning");
    await tool("TodoWrite", todos("completed", "in_progress", "pending"));
    // A subagent has a list of its own.
    await hook("PostToolUse", { tool_name: "TodoWrite", tool_input: todos("completed"), agent_id: "a1" });
    assert.equal(Math.floor(recordsOf(place).at(-1)!.percent), 33);
    await hook("SessionEnd", { reason: "other" });
    assert.equal(briefOf(recordsOf(place).at(-1)!), "33 error Doing step 1 (The session ended with 1 of 3 steps done)");
    await hook("SessionEnd", { reason: "other" });
    assert.equal(recordsOf(place).filter(({ status }) => status === "error").length, 1);
  });

  it("loses no change of hooks that run at once", async () => {
    await using place = new Place();
    const { hook } = sessionIn(place);
    await hook("UserPromptSubmit");
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        hook("PostToolUse", {
          tool_name: "TaskCreate",
          tool_input: { subject: `Step ${index}` },
          tool_response: { task: { id: String(index), subject: `Step ${index}` } },
        }),
      ),
    );
    await Promise.all(
      [0, 1, 2].map((taskId) =>
        hook("PostToolUse", { tool_name: "TaskUpdate", tool_input: { taskId, status: "completed" } }),
      ),
    );
    await hook("PreToolUse", { tool_name: "Bash", tool_input: {} });
    assert.equal(recordsOf(place).at(-1)!.percent, 50);
  });

  it("never gets in the agent's way, whatever it is given", async () => {
    await using place = new Place();
    const environment = place.environment({ XDG_STATE_HOME: join(place.folder, "state") });
    for (const input of [
      "",
      "nonsense",
      "[]",
      "null",
      "{}",
      '{"session_id": 7}',
      '{"session_id":"../../x","hook_event_name":"UserPromptSubmit"}',
    ]) {
      const child = spawn(process.execPath, [BIN, "hook", "claude-code"], {
        env: environment,
        stdio: ["pipe", "pipe", "ignore"],
      });
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stdin.end(input);
      assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0, input);
      assert.equal(said, "");
    }
    assert.deepEqual(readdirSync(join(place.folder, "state", "nylorun", "claude-code")), ["x.jsonl"]);
    assert.ok(!existsSync(join(place.folder, "x.jsonl")));
  });

  it("prints the settings that have Claude Code run it", async () => {
    await using place = new Place();
    const { stdout } = await place.run(["hook", "claude-code", "--settings"]);
    const { hooks } = JSON.parse(stdout);
    assert.deepEqual(Object.keys(hooks), [
      "UserPromptSubmit",
      "PreToolUse",
      "PostToolUse",
      "Notification",
      "Stop",
      "StopFailure",
      "SessionEnd",
    ]);
    assert.deepEqual(hooks.Stop, [{ hooks: [{ type: "command", command: "nylorun hook claude-code", timeout: 10 }] }]);
  });
});

describe("nylorun acp", () => {
  const AGENT = fileURLToPath(new URL("acp-agent.ts", import.meta.url));

  /** Prompts the agent through us as an editor would, and returns how the turn ended and the exit code. */
  async function prompt(place: Place, text: string, { cancel = false } = {}) {
    const child = spawn(process.execPath, [BIN, "acp", "--", process.execPath, AGENT], {
      env: place.environment(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
    const updates: string[] = [];
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin),
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    );
    const result = await client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update.sessionUpdate))
      .onRequest(methods.client.session.requestPermission, () => ({
        outcome: { outcome: "selected", optionId: "yes" },
      }))
      .connectWith(stream, async (context) => {
        await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
        const { sessionId } = await context.request(methods.agent.session.new, {
          cwd: "/home/ada/shop",
          mcpServers: [],
        });
        const turn = context.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
        if (cancel) await context.notify(methods.agent.session.cancel, { sessionId });
        return (await turn).stopReason;
      })
      .catch((error: unknown) => error);
    child.stdin.end();
    return { result, updates, code: await ended };
  }

  it("stands between an editor and an agent unnoticed, and reports the plan to its end", async () => {
    await using place = new Place();
    const { result, updates, code } = await prompt(place, "go");
    assert.deepEqual([result, code], ["end_turn", 0]);
    assert.deepEqual(updates, ["plan", "plan", "tool_call", "plan"]);
    const all = recordsOf(place);
    assert.equal(briefOf(all[0]!), "0 started Thinking");
    assert.ok(all.map(briefOf).includes("33 running Change it (Edit events.ts)"), all.map(briefOf).join("\n"));
    assert.equal(briefOf(all.at(-1)!), "100 done Finished");
    assert.deepEqual(
      new Set(all.map(({ task_id, agent, session_id }) => [task_id, agent, session_id].join())),
      new Set(["planner:shop-0123456789ab,planner,0123456789abcdef"]),
    );
  });

  it("shows a question of permission, a turn that is cancelled, and an agent that ends in the middle", async () => {
    await using place = new Place();
    assert.equal((await prompt(place, "ask")).result, "end_turn");
    assert.ok(recordsOf(place).map(briefOf).includes("33 paused Waiting for permission (Edit events.ts)"));
    assert.equal((await prompt(place, "cancel", { cancel: true })).result, "cancelled");
    assert.equal(briefOf(recordsOf(place).at(-1)!), "33 error Change it (Canceled)");
    const { result, code } = await prompt(place, "crash");
    assert.ok(result instanceof Error);
    assert.equal(code, 7);
    assert.equal(briefOf(recordsOf(place).at(-1)!), "0 error  (The agent ended)");
  });

  it("passes on what is no message at all, byte for byte", async () => {
    await using place = new Place();
    const child = spawn(process.execPath, [BIN, "acp", "--", "cat"], {
      env: place.environment(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * 11) % 256));
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stdin.end(bytes);
    assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0);
    assert.ok(Buffer.concat(chunks).equals(bytes));
    const missing = await place.run(["acp", "--", "no-such-agent"]);
    assert.deepEqual(
      [missing.code, missing.stderr],
      [127, "nylorun: no-such-agent cannot be run: there is no such command.\n"],
    );
  });

  it("understands version 2 of the protocol, where turns end with a state", () => {
    const progress = new AcpProgress(undefined, "/usr/bin/some agent");
    const brief = (report: ReturnType<AcpProgress["fromAgent"]>): string | undefined =>
      report &&
      `${report.task} ${Math.floor(report.progress.percent)} ${report.progress.status} ${report.progress.stage}`;
    const update = (fields: object) =>
      brief(
        progress.fromAgent({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s1", update: fields } }),
      );
    progress.fromClient({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
    progress.fromAgent({ jsonrpc: "2.0", id: 0, result: { protocolVersion: 2, info: { name: "Some Agent" } } });
    progress.fromClient({ jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: "/x/shop" } });
    progress.fromAgent({ jsonrpc: "2.0", id: 1, result: { sessionId: "s1" } });
    assert.equal(
      brief(progress.fromClient({ jsonrpc: "2.0", id: 2, method: "session/prompt", params: { sessionId: "s1" } })),
      "Some-Agent:shop-s1 0 started Thinking",
    );
    assert.equal(brief(progress.fromAgent({ jsonrpc: "2.0", id: 2, result: { messageId: "m" } })), undefined);
    assert.equal(update({ sessionUpdate: "state_update", state: "running" }), "Some-Agent:shop-s1 0 running Working");
    const entries = [
      { content: "One", status: "completed" },
      { content: "Two", status: "in_progress" },
    ];
    assert.equal(
      update({ sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries } }),
      "Some-Agent:shop-s1 50 running Two",
    );
    assert.equal(
      update({ sessionUpdate: "state_update", state: "requires_action" }),
      "Some-Agent:shop-s1 50 paused Waiting for you",
    );
    assert.equal(update({ sessionUpdate: "agent_message", content: [] }), undefined);
    assert.equal(
      update({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }),
      "Some-Agent:shop-s1 100 done Finished",
    );
    assert.equal(update({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }), undefined);
    assert.deepEqual(progress.ended(), []);
  });
});
