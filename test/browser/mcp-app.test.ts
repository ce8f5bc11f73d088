/** The MCP App view inside the official SDK's host side. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  getToolUiResourceUri,
  isToolVisibilityModelOnly,
  RESOURCE_MIME_TYPE,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import { MCP_APP_HTML, MCP_APP_MEDIA_TYPE } from "@nylorun/widget/mcp-app";
import type { Frame, Page } from "playwright-core";

import { event } from "./bar.ts";
import { bundle } from "./bundle.ts";
import { launchChromium } from "./chromium.ts";
import { Site } from "./site.ts";

/** A host as the SDK makes it: the view in a sandboxed frame, tool calls answered by the page. */
const HOST = await bundle(
  `import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
   globalThis.show = async ({ context, serverTools, calls }) => {
     const iframe = document.querySelector("iframe");
     const bridge = new AppBridge(null, { name: "Test host", version: "1" }, serverTools ? { serverTools: {} } : {}, { hostContext: context });
     Object.assign(globalThis, { bridge, sizes: [], called: [], latest: [] });
     bridge.onsizechange = ({ height }) => { sizes.push(height); iframe.style.height = height + "px"; };
     bridge.oncalltool = async ({ name, arguments: args }) => {
       called.push({ name, args });
       return { content: [], structuredContent: { tasks: latest, total: latest.length } };
     };
     const initialized = new Promise((resolve) => { bridge.oninitialized = resolve; });
     await bridge.connect(new PostMessageTransport(iframe.contentWindow, iframe.contentWindow));
     iframe.srcdoc = VIEW;
     await initialized;
     return bridge.getAppVersion();
   };`,
);

/** What hosts allow a view that asks for nothing. */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

interface HostGlobals {
  readonly bridge: {
    sendToolInput(params: unknown): Promise<void>;
    sendToolResult(params: unknown): Promise<void>;
    sendHostContextChange(params: unknown): Promise<void>;
    teardownResource(params: unknown): Promise<unknown>;
  };
  readonly sizes: number[];
  readonly called: { readonly name: string; readonly args: unknown }[];
  latest: unknown[];
  show(options: { readonly context: unknown; readonly serverTools: boolean }): Promise<{ readonly name: string }>;
}

const browser = await launchChromium();
after(async () => await browser.close());
const site = await Site.open({
  "/": {
    body: `<!doctype html><title>Host</title><body style="margin:0"><iframe sandbox="allow-scripts" style="border:0;width:100%;height:0"></iframe><script src="/host.js"></script>`,
    headers: { "content-security-policy": POLICY },
  },
  "/sandboxed": `<!doctype html><title>Sandbox</title><iframe sandbox="allow-scripts" src="/" width="600" height="400"></iframe>`,
  "/host.js": `const VIEW = ${JSON.stringify(MCP_APP_HTML)};\n${HOST}`,
});
after(async () => await site[Symbol.asyncDispose]());

async function open(
  options: { readonly context?: unknown; readonly serverTools?: boolean; readonly path?: string } = {},
) {
  const page = await browser.newPage({ viewport: { width: 600, height: 400 } });
  const complaints: string[] = [];
  // The SDK tells of each message, for debugging.
  page.on("console", (message) => {
    if (message.type() !== "debug") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(site.origin() + (options.path ?? "/"));
  const host = page.frames().find((frame) => frame.url() === `${site.origin()}/`)!;
  const app = await host.evaluate(async (given) => await (globalThis as unknown as HostGlobals).show(given), {
    context: options.context ?? {},
    serverTools: options.serverTools ?? false,
  });
  const view = host.childFrames()[0]!;
  return { page, host, view, app, complaints };
}

async function result(host: Page | Frame, params: unknown): Promise<void> {
  await host.evaluate(async (given) => {
    const { bridge } = globalThis as unknown as HostGlobals;
    await bridge.sendToolInput({ arguments: {} });
    await bridge.sendToolResult(given);
  }, params);
}

/** What each bar shows, as soon as there are so many. */
async function bars(view: Frame, count: number): Promise<string[]> {
  await view.waitForFunction((wanted) => document.querySelectorAll("agent-progress").length === wanted, count, {
    timeout: 5000,
  });
  return await view.evaluate(() =>
    [...document.querySelectorAll("agent-progress")].map(({ shadowRoot }) =>
      ["stage", "what", "percent"]
        .map((name) => shadowRoot!.getElementById(name)!.textContent)
        .join(" ")
        .trim(),
    ),
  );
}

test("the view is one file of the kind that hosts look for, and small", () => {
  assert.equal(MCP_APP_MEDIA_TYPE, RESOURCE_MIME_TYPE);
  assert.doesNotMatch(MCP_APP_HTML, /(?:src|href)=/);
  assert.ok(MCP_APP_HTML.length < 30_000, `${MCP_APP_HTML.length} characters`);
});

test("it introduces itself, shows the event of a report, and the host learns its height", async () => {
  const { page, view, app, complaints } = await open();
  assert.equal(app.name, "agent-progress");
  await result(page, { content: [], structuredContent: { ...event(), complete: false, persisted: true } });
  assert.deepEqual(await bars(view, 1), ["Reasoning  42%"]);
  const height = await view.evaluate(() => Math.ceil(document.querySelector("main")!.getBoundingClientRect().height));
  assert.ok(height > 50, String(height));
  await page.waitForFunction((last) => (globalThis as unknown as HostGlobals).sizes.at(-1) === last, height, {
    timeout: 5000,
  });
  await page.waitForTimeout(200);
  const sizes = await page.evaluate(() => (globalThis as unknown as HostGlobals).sizes);
  assert.equal(sizes.at(-1), height);
  assert.ok(sizes.length <= 3, `it does not follow its own frame: ${String(sizes)}`);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a host that drops structured content is read by the text", async () => {
  const { page, view } = await open();
  await result(page, { content: [{ type: "text", text: JSON.stringify(event({ stage: "From the text" })) }] });
  assert.deepEqual(await bars(view, 1), ["From the text  42%"]);
  await page.close();
});

test("the result of get_status is a bar for each task", async () => {
  const { page, view } = await open();
  const tasks = [
    event({ stage: "Newest" }),
    event({ task_id: "constructor", stage: "Second" }),
    event({ task_id: "10", status: "error", message: "Broken" }),
  ];
  await result(page, { content: [], structuredContent: { tasks, total: 3 } });
  assert.deepEqual(await bars(view, 3), ["Newest  42%", "Second  42%", "Broken 42%"]);
  await page.close();
});

test("a failed call and a hostile one show nothing, and do nothing", async () => {
  const { page, view, complaints } = await open();
  await result(page, {
    isError: true,
    content: [{ type: "text", text: "Invalid report: percent must be a finite number." }],
  });
  await page.evaluate(async (given) => await (globalThis as unknown as HostGlobals).bridge.sendToolResult(given), {
    content: [],
    structuredContent: { ...event(), percent: "<img src=x onerror=alert(1)>" },
  });
  await page.evaluate(async (given) => await (globalThis as unknown as HostGlobals).bridge.sendToolResult(given), {
    content: [],
    structuredContent: event({ stage: "<img src=x onerror=alert(1)>" }),
  });
  assert.deepEqual(await bars(view, 1), ["<img src=x onerror=alert(1)>  42%"]);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a view that is shown again asks once how its task is now, if the host lets it", async () => {
  for (const serverTools of [true, false]) {
    const { page, view } = await open({ serverTools });
    await page.evaluate(
      (one) => {
        (globalThis as unknown as HostGlobals).latest = [one];
      },
      event({ status: "done", stage: "Written" }),
    );
    await result(page, { content: [], structuredContent: event() });
    const expected = serverTools ? ["Written  100%"] : ["Reasoning  42%"];
    await view.waitForFunction(
      (percent) =>
        document.querySelector("agent-progress")?.shadowRoot?.getElementById("percent")?.textContent === percent,
      serverTools ? "100%" : "42%",
      { timeout: 5000 },
    );
    assert.deepEqual(await bars(view, 1), expected);
    const called = await page.evaluate(() => (globalThis as unknown as HostGlobals).called);
    assert.deepEqual(called, serverTools ? [{ name: "get_status", args: { task_id: "claude:summarize-report" } }] : []);
    await page.close();
  }
});

test("with the server itself: what it serves is shown, and says how the task is later", async () => {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-view-"));
  const client = new Client({ name: "test", version: "1.0.0" });
  try {
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(import.meta.dirname, "../../packages/mcp-server/bin/mcp-server.js")],
        env: { AGENT_PROGRESS_EVENTS_DIR: folder },
      }),
    );
    const { tools } = await client.listTools();
    for (const tool of tools) assert.equal(getToolUiResourceUri(tool), "ui://agent-progress/bar.html", tool.name);
    assert.deepEqual(tools.map(isToolVisibilityModelOnly), [true, false]);
    const { resources } = await client.listResources();
    assert.deepEqual(
      resources.map(({ uri, mimeType }) => [uri, mimeType]),
      [["ui://agent-progress/bar.html", RESOURCE_MIME_TYPE]],
    );
    const { contents } = await client.readResource({ uri: "ui://agent-progress/bar.html" });
    assert.deepEqual(
      contents.map((content) => "text" in content && content.text),
      [MCP_APP_HTML],
    );

    const report = async (fields: object) =>
      await client.callTool({
        name: "report_progress",
        arguments: { task_id: "test:view", percent: 10, stage: "Reading", status: "running", ...fields },
      });
    const { page, host, view } = await open({ serverTools: true });
    const first = await report({});
    await report({ status: "done", percent: 100, stage: "Read" });
    await host.evaluate(
      (tasks) => {
        (globalThis as unknown as HostGlobals).latest = tasks;
      },
      (
        (await client.callTool({ name: "get_status", arguments: { task_id: "test:view" } })).structuredContent as {
          readonly tasks: unknown[];
        }
      ).tasks,
    );
    await result(host, first);
    await view.waitForFunction(
      () => document.querySelector("agent-progress")?.shadowRoot?.getElementById("percent")?.textContent === "100%",
      undefined,
      { timeout: 5000 },
    );
    assert.deepEqual(await bars(view, 1), ["Read  100%"]);
    await page.close();
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("it wears the host's theme, and follows when that changes", async () => {
  const { page, view } = await open({
    context: {
      theme: "dark",
      locale: "de-DE",
      styles: { variables: { "--color-text-primary": "rgb(9, 8, 7)", "--font-sans": "Georgia" } },
    },
  });
  await result(page, { content: [], structuredContent: event() });
  await bars(view, 1);
  const look = async () =>
    await view.evaluate(() => {
      const { colorScheme, color, fontFamily } = getComputedStyle(document.querySelector("agent-progress")!);
      return [colorScheme, color, fontFamily, document.documentElement.lang];
    });
  assert.deepEqual(await look(), ["dark", "rgb(9, 8, 7)", "Georgia", "de-DE"]);
  await page.evaluate(
    async () => await (globalThis as unknown as HostGlobals).bridge.sendHostContextChange({ theme: "light" }),
  );
  await view.waitForFunction(() => document.documentElement.style.colorScheme === "light", undefined, {
    timeout: 5000,
  });
  assert.deepEqual((await look())[0], "light");
  await page.close();
});

test("it lets itself be taken down", async () => {
  const { page } = await open();
  const answer = await page.evaluate(
    async () => await (globalThis as unknown as HostGlobals).bridge.teardownResource({}),
  );
  assert.deepEqual(answer, {});
  await page.close();
});

test("nobody but the host is heard, not even when the host is a sandbox without an origin", async () => {
  for (const path of ["/", "/sandboxed"]) {
    const { page, host, view } = await open({ path });
    await view.evaluate(
      (one) => {
        postMessage(
          { jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { structuredContent: one } },
          "*",
        );
      },
      event({ task_id: "evil:task", stage: "From itself" }),
    );
    await result(host, { content: [], structuredContent: event({ stage: "From the host" }) });
    assert.deepEqual(await bars(view, 1), ["From the host  42%"]);
    await page.close();
  }
});
