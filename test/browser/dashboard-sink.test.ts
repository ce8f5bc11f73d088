/** `nylorun dashboard`: what agents on this machine report over MCP, with no Runtime. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { axeFindings } from "./accessibility.ts";
import { launchChromium } from "./chromium.ts";

const PACKAGES = join(import.meta.dirname, "../../packages");
const PATIENCE = 20_000;

const browser = await launchChromium();
const events = mkdtempSync(join(tmpdir(), "nylorun-sink-"));
after(async () => {
  await browser.close();
  rmSync(events, { recursive: true });
});

/** The command as a process; disposing of it ends it as Ctrl-C does. */
async function open(port = 0) {
  const child = spawn(
    process.execPath,
    [join(PACKAGES, "runtime/bin/nylorun.js"), "dashboard", "--port", String(port)],
    {
      env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: events },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 120_000,
    },
  );
  const exit = once(child, "exit");
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith("http://")) continue;
    return {
      link: line,
      async [Symbol.asyncDispose]() {
        child.kill("SIGINT");
        assert.deepEqual(await exit, [0, null]);
      },
    };
  }
  throw new Error("It printed no link.");
}

test(
  "an agent's report over MCP is on the page, moves there, and outlives the command",
  { timeout: 120_000 },
  async () => {
    const context = await browser.newContext({ locale: "en-US" });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const client = new Client({ name: "test", version: "1.0.0" });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(PACKAGES, "mcp-server/bin/mcp-server.js")],
      env: { AGENT_PROGRESS_EVENTS_DIR: events },
    });
    await client.connect(transport);
    const report = async (fields: object) =>
      client.callTool({
        name: "report_progress",
        arguments: { task_id: "claude:summarize", percent: 42, stage: "Reading", status: "running", ...fields },
      });
    const percent = () =>
      page.locator(".row agent-progress").first().getByRole("progressbar").getAttribute("aria-valuenow");
    const until = async (value: string) => {
      for (const deadline = performance.now() + PATIENCE; (await percent()) !== value;) {
        assert.ok(performance.now() < deadline, `it never showed ${value}`);
        await page.waitForTimeout(20);
      }
    };
    let port: number;
    {
      await using dashboard = await open();
      port = Number(new URL(dashboard.link).port);
      await page.goto(dashboard.link);
      await page.getByText("No agent has reported yet").waitFor();
      assert.deepEqual(await axeFindings(page), []);
      await report({});
      await until("42");
      await report({ percent: 60, message: "section 4 of 7" });
      await until("60");
      await page.reload();
      await until("60");
      assert.equal(await page.getByRole("link", { name: "History" }).count(), 0, "there is none to see");
      await page.locator(".row").click();
      await page.getByRole("heading", { name: "summarize" }).waitFor();
      await page.getByText("it can be watched, not steered").waitFor();
      assert.equal((await fetch(`${new URL(dashboard.link).origin}/v1/progress`)).status, 401, "only who has the link");
      const headers = { host: "evil.example", "sec-fetch-site": "same-origin" };
      assert.equal(
        (await context.request.get(`${new URL(dashboard.link).origin}/v1/progress`, { headers })).status(),
        421,
      );
    }
    await page.getByText("The Runtime does not answer").waitFor();
    await report({ percent: 100, status: "done", stage: "Written" });
    await using dashboard = await open(port);
    // Another process knows nobody; its own link opens it.
    await page.getByText("You have been signed out").waitFor();
    await page.goto("about:blank");
    await page.goto(dashboard.link);
    await page.locator(".rows-head", { hasText: "Ended lately" }).waitFor();
    await until("100");
    await client.close();
  },
);
