/** The example pages and the gallery, as somebody would open them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import type { Page } from "playwright-core";

import { axeFindings } from "./accessibility.ts";
import { launchChromium } from "./chromium.ts";

const browser = await launchChromium();
after(async () => await browser.close());

interface Served extends AsyncDisposable {
  readonly origin: string;
}

/** Runs the example as its first lines say, over a folder of its own. */
async function serveExample(folder: string): Promise<Served> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../examples/progress-page/serve.ts"), "0"], {
    env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const late = setTimeout(() => reject(new Error("The example printed no address within 20 s.")), 20_000);
  child.on("error", reject).on("exit", (code) => reject(new Error(`The example ended with ${code}.`)));
  child.stdout.on("data", (data: Buffer) => {
    const origin = /http:\/\/[\d.:]+/.exec(data.toString())?.[0];
    if (origin !== undefined) resolve(origin);
  });
  try {
    return {
      origin: await promise,
      async [Symbol.asyncDispose]() {
        const ended = new Promise((done) => child.on("exit", done));
        child.kill();
        await ended;
      },
    };
  } catch (error) {
    child.kill();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

async function openPage(url: string): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width: 900, height: 2000 } });
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints };
}

/** What the bars show, as soon as one shows this. */
async function waitForBar(page: Page, text: string): Promise<string[]> {
  const bars = () =>
    [...document.querySelectorAll("agent-progress")].map(({ shadowRoot }) =>
      ["stage", "what", "percent", "time"].map((name) => shadowRoot!.getElementById(name)!.textContent).join("|"),
    );
  await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll("agent-progress")].some(({ shadowRoot }) =>
        ["stage", "what", "percent", "time"]
          .map((name) => shadowRoot!.getElementById(name)!.textContent)
          .join("|")
          .includes(wanted),
      ),
    text,
    { timeout: 10_000 },
  );
  return await page.evaluate(bars);
}

for (const path of ["/", "/react"]) {
  test(`what an agent reports moves a bar in the example page ${path}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "nylorun-page-"));
    try {
      using sink = new Sink({ folder, warn: (text) => assert.fail(text) });
      const report = async (fields: object) => {
        const whole = { task_id: "test:report", percent: 0, stage: "", status: "running", ...fields };
        assert.ok(await sink.append(sinkRecord(normalizeReport(whole, Date.now()))));
      };
      await report({ status: "started", stage: "Reading" });
      await using served = await serveExample(folder);
      const { page, complaints } = await openPage(served.origin + path);
      await waitForBar(page, "Reading||0%");
      await report({ percent: 40, stage: "Writing", eta_seconds: 100 });
      await waitForBar(page, "Writing||40%");
      // The page's own clock.
      await page.waitForFunction(
        () =>
          document.querySelector("agent-progress")!.shadowRoot!.getElementById("time")!.textContent.startsWith("1:3"),
        undefined,
        { timeout: 10_000 },
      );
      await report({ task_id: "constructor", status: "error", message: "<b>No</b>" });
      await report({ status: "done", percent: 100, stage: "Written" });
      await waitForBar(page, "<b>No</b>");
      const shown = await waitForBar(page, "Written||100%");
      assert.deepEqual(shown, ["Written||100%|done", "|<b>No</b>|0%|failed"]);
      assert.deepEqual(await axeFindings(page), []);
      assert.deepEqual(complaints, []);
      await page.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

test("the example page listens to this machine's own pages alone", async () => {
  await using served = await serveExample(join(tmpdir(), "nylorun-nothing-here"));
  const port = Number(new URL(served.origin).port);
  const { request } = await import("node:http");
  const status = await new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: "/events", headers: { host: `evil.test:${port}` } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
  assert.equal(status, 403);
});

test("the gallery opens from a file, plays a run to its end, and axe finds nothing", async () => {
  const url = pathToFileURL(join(import.meta.dirname, "../../docs/progress/gallery.html"));
  const { page, complaints } = await openPage(`${url.href}#still`);
  assert.ok((await page.locator("agent-progress").count()) > 20);
  assert.deepEqual(await axeFindings(page), []);
  await page.clock.install();
  await page.getByRole("button", { name: "Play again" }).click();
  await page.clock.runFor(30_000);
  const run = await waitForBar(page, "Summary written||100%");
  assert.deepEqual(run.slice(0, 2), ["Summary written||100%|done", "Summary written||100%|done"]);
  await page.getByLabel("Colours").selectOption("dark");
  await page.getByLabel("Direction").selectOption("rtl");
  await page.clock.runFor(2000);
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(complaints, []);
  await page.close();
});
