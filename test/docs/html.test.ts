/** The HTML of docs/ and the READMEs, opened in a browser as it stands; and what docs/progress/http.md has people send, sent to a Runtime. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";

import type { ProgressEvent } from "@nylorun/protocol";
import type { BrowserContextOptions, Page as Tab } from "playwright-core";

import { launchChromium } from "../browser/chromium.ts";
import { serve } from "../e2e/callers.ts";
import { docsPages, packagePages, readPage, ROOT } from "./page.ts";
import type { Fence } from "./page.ts";

const fences = [readPage("README.md"), ...packagePages(), ...docsPages()]
  .flatMap((page) => page.fences)
  .filter(({ language }) => language === "html");

/** Where a reader has the script of the element: beside the page, or where npm has put the package. */
const SCRIPTS: Readonly<Record<string, string>> = {
  "agent-progress.js": join(ROOT, "packages/widget/src/generated/agent-progress.js"),
  "node_modules/@nylorun/widget/src/generated/agent-progress.js": join(
    ROOT,
    "node_modules/@nylorun/widget/src/generated/agent-progress.js",
  ),
};

const browser = await launchChromium();

interface Opened extends AsyncDisposable {
  readonly tab: Tab;
  /** What went wrong. */
  readonly complaints: readonly string[];
}

/** Opens a snippet as the page at an origin; whatever else is asked of the origin goes there. */
async function open({ text, at }: Fence, origin: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext(options);
  const tab = await context.newPage();
  const complaints: string[] = [];
  tab.on("pageerror", ({ message }) => complaints.push(message));
  await tab.route(`${origin}/`, (route) => route.fulfill({ contentType: "text/html", body: text }));
  for (const [, src = ""] of text.matchAll(/<script src="([^"]+)"/g)) {
    const file = SCRIPTS[src] ?? assert.fail(`${at}: there is no ${src} for whoever copies this`);
    await tab.route(`${origin}/${src}`, (route) =>
      route.fulfill({ contentType: "text/javascript", body: readFileSync(file) }),
    );
  }
  await tab.goto(`${origin}/`);
  return { tab, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Waits until the page's bar shows these words. */
async function waitForBar(tab: Tab, ...words: readonly string[]): Promise<void> {
  await tab.waitForFunction(
    (wanted) => {
      const shown = document.querySelector("agent-progress")?.shadowRoot?.textContent ?? "";
      return wanted.every((word) => shown.includes(word));
    },
    words,
    { timeout: 20_000 },
  );
}

describe("the HTML in docs/ and the READMEs", { timeout: 120_000 }, () => {
  after(() => browser.close());

  it("is found", () => assert.ok(fences.length >= 3, fences.map(({ at }) => at).join()));

  for (const fence of fences.filter(({ text }) => !text.includes("EventSource"))) {
    it(`draws a bar: ${fence.at}`, async () => {
      const [, stage = ""] = /stage="([^"]+)"/.exec(fence.text) ?? [];
      const [, percent = ""] = /percent="(\d+)"/.exec(fence.text) ?? [];
      await using opened = await open(fence, "http://page.test");
      await waitForBar(opened.tab, stage, `${percent}%`);
      assert.deepEqual(opened.complaints, []);
    });
  }

  it("follows what is reported as docs/progress/http.md says, by the command of the page", async () => {
    const page = readPage("docs/progress/http.md");
    const shown = page.fences.find(({ language }) => language === "html")!;
    const command = page.fences.find(({ language }) => language === "sh")!;
    await using served = await serve({ agents: [] });
    const key = await served.runtime.addKey({ role: "subject", subject: "ada" });
    // What the server does that the page comes from: it adds the key.
    const authorization = `Bearer ${key}`;
    await using opened = await open(shown, served.runtime.url, { extraHTTPHeaders: { authorization } });

    const text = command.text.replace("http://127.0.0.1:6956", served.runtime.url);
    assert.notEqual(text, command.text, `${command.at} reports to the Runtime of the README`);
    const options = { env: { ...process.env, KEY: key }, timeout: 20_000 };
    const { stdout } = await promisify(execFile)("sh", ["-c", text], options);
    const event = JSON.parse(stdout) as ProgressEvent;
    assert.deepEqual(
      [event.task_id, event.percent, event.stage, event.status],
      ["ci:build", 42, "Compiling", "running"],
    );
    await waitForBar(opened.tab, "Compiling", "42%");
    assert.deepEqual(opened.complaints, []);

    // Who comes later is told what is known.
    await using later = await open(shown, served.runtime.url, { extraHTTPHeaders: { authorization } });
    await waitForBar(later.tab, "Compiling", "42%");
    // Without the key, nothing.
    await using other = await open(shown, served.runtime.url);
    const refused = await other.tab.evaluate(async () => (await fetch("/v1/progress/events?task=ci:build")).status);
    assert.equal(refused, 401);
  });
});
