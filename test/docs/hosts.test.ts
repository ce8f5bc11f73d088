/** What docs/ and the MCP server's README have people put into the configuration of their hosts: it is in that host's format, and works. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parse as parseToml } from "smol-toml";

import { readPage, ROOT } from "./page.ts";
import type { Fence } from "./page.ts";

const events = mkdtempSync(join(tmpdir(), "nylorun-hosts-"));
after(() => rmSync(events, { recursive: true }));

/** Where each host keeps its servers. */
const KEYS: Readonly<Record<string, string>> = {
  "claude-desktop": "mcpServers",
  codex: "mcp_servers",
  cursor: "mcpServers",
  vscode: "servers",
  gemini: "mcpServers",
  zed: "context_servers",
};

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const page = readPage("docs/progress/mcp-server.md");
const readme = readPage("packages/mcp-server/README.md");

function configurationOf({ language, text }: Fence): Record<string, any> {
  return language === "toml" ? parseToml(text) : JSON.parse(text);
}

function serverOf(fence: Fence): Server {
  const { progress, ...others } = configurationOf(fence)[KEYS[fence.mark]!];
  assert.deepEqual(others, {});
  return progress;
}

/** Has a client start the server as its host would, in a clone, where npx takes the one that is there. */
async function report({ command, args, env }: Server): Promise<any> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    cwd: ROOT,
    env: { PATH: process.env["PATH"]!, HOME: events, AGENT_PROGRESS_EVENTS_DIR: events, ...env },
  });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  try {
    const input = { task_id: "x:y", percent: 42, stage: "Trying", status: "running" };
    return (await client.callTool({ name: "report_progress", arguments: input })).structuredContent;
  } finally {
    await client.close();
  }
}

describe("configurations of hosts", { timeout: 120_000 }, () => {
  it("are there for every host", () => {
    const marks = page.fences.map(({ mark }) => mark).filter((mark) => mark !== "");
    assert.deepEqual(marks.toSorted(), Object.keys(KEYS).toSorted());
  });

  for (const fence of page.fences.filter(({ mark }) => mark in KEYS)) {
    it(`start the server, that of ${fence.mark}`, async () => {
      const server = serverOf(fence);
      assert.deepEqual([server.command, ...server.args], ["npx", "-y", "@nylorun/mcp-server"]);
      const { agent, persisted } = await report(server);
      assert.equal(agent, server.env?.["UAPB_AGENT"] ?? "x");
      assert.equal(persisted, true);
    });
  }

  it("are the same in the server's own README", () => {
    const known = page.fences
      .filter(({ mark }) => mark in KEYS)
      .map((fence) => [KEYS[fence.mark], serverOf(fence)] as const);
    for (const fence of readme.fences.filter(({ language }) => language === "json" || language === "toml")) {
      const [[key, { progress }]] = Object.entries(configurationOf(fence)) as [[string, { progress: Server }]];
      const { env: _, ...server } = progress;
      assert.ok(
        known.some(
          ([itsKey, { env: __, ...itsServer }]) =>
            itsKey === key && JSON.stringify(itsServer) === JSON.stringify(server),
        ),
        fence.at,
      );
    }
  });

  it("install it in Claude Code by one line, the same everywhere", () => {
    const line = "claude mcp add progress -- npx -y @nylorun/mcp-server";
    for (const { text } of [page, readme]) assert.ok(text.includes(`\n${line}\n`));
    assert.ok(readFileSync(join(ROOT, "packages/runtime/src/cli/watch/text.ts"), "utf8").includes(line));
    assert.ok(readFileSync(join(ROOT, "packages/mcp-server/src/main.ts"), "utf8").includes(line));
  });

  it("put our command before an ACP agent's own", async () => {
    const { fences } = readPage("docs/progress/adapters.md");
    const zed = fences.find(({ mark }) => mark === "zed-acp");
    const { command, args } = JSON.parse(zed!.text).agent_servers["Gemini CLI"];
    const words = [join(ROOT, "packages/runtime/bin/nylorun.js"), ...args.slice(0, 2), "echo", ...args.slice(3)];
    assert.equal(command, "nylorun");
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: events },
    });
    assert.equal(stdout, "--experimental-acp\n");
  });
});
