/** Five thousand tasks, a page that was not looked at for a while, and a line that breaks: what is shown is what is, and the page stays quick. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import type { Page } from "playwright-core";

import { launchChromium } from "./chromium.ts";

const TASKS = 5_000;
const PATIENCE = 20_000;
const browser = await launchChromium();

describe("a dashboard with thousands of tasks", { timeout: 120_000 }, () => {
  const resources = new AsyncDisposableStack();
  resources.defer(() => browser.close());
  const folder = mkdtempSync(join(tmpdir(), "nylorun-live-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const sink = resources.use(new Sink({ folder, warn: (text) => assert.fail(text) }));
  let page: Page;

  const report = async (task: number, fields: object): Promise<void> => {
    const name = String(task).padStart(4, "0");
    const given = {
      task_id: `agent-${task % 7}:task-${name}`,
      percent: 10,
      stage: "Reading",
      status: "running",
      ...fields,
    };
    const event = normalizeReport(given, Date.now());
    assert.ok(await sink.append(sinkRecord(event, event.agent)));
  };

  before(async () => {
    await Promise.all(Array.from({ length: TASKS }, (_, task) => report(task, {})));
    const command = join(import.meta.dirname, "../../packages/runtime/bin/nylorun.js");
    const child = spawn(process.execPath, [command, "dashboard", "--port", "0"], {
      env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 120_000,
    });
    resources.defer(async () => {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    });
    let link = "";
    for await (const line of createInterface(child.stdout)) {
      if (!line.startsWith("http://")) continue;
      link = line;
      break;
    }
    const context = await browser.newContext({ viewport: { width: 1180, height: 800 }, locale: "en-US" });
    resources.defer(() => context.close());
    context.setDefaultTimeout(PATIENCE);
    page = await context.newPage();
    await page.goto(link);
    await page.getByText(`${TASKS.toLocaleString("en-US")} running`).waitFor();
  });
  after(() => resources.disposeAsync());

  const rowOf = (task: number) => page.locator(".row", { hasText: `task-${String(task).padStart(4, "0")}` });

  test("has in the page what is in sight, and goes to the end without a halt", async () => {
    const rows = () => page.locator(".row").count();
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    const usual = await page.evaluate(async () => {
      let last = performance.now();
      const took: number[] = [];
      for (let step = 0; step < 60; step++) {
        scrollTo(0, (document.documentElement.scrollHeight / 60) * step);
        await new Promise(requestAnimationFrame);
        took.push(performance.now() - last);
        last = performance.now();
      }
      scrollTo(0, document.documentElement.scrollHeight);
      return took.toSorted((one, other) => one - other)[30] ?? Infinity;
    });
    // Of the agent that comes last, the last.
    await rowOf(4_997).waitFor();
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    // On a machine that does other things as well; drawn alone, it is a frame's 16 ms.
    assert.ok(usual < 250, `half of the frames took more than ${usual} ms`);
    await page.evaluate(() => scrollTo(0, 0));
    await rowOf(0).waitFor();
  });

  test("shows the last of many changes, and moves a task that has ended (P3)", async () => {
    for (let percent = 11; percent <= 60; percent++) await report(0, { percent });
    await page.waitForFunction(
      () => document.querySelector(".row agent-progress")?.shadowRoot?.getElementById("percent")?.textContent === "60%",
    );
    await report(0, { percent: 100, status: "done", stage: "Written" });
    await page.getByText("4,999 running").waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.locator(".rows-head", { hasText: "Ended lately" }).waitFor();
    await rowOf(0).waitFor();
    await report(0, { percent: 0, status: "started", stage: "Again" });
    await page.getByText("5,000 running").waitFor();
    await page.evaluate(() => scrollTo(0, 0));
  });

  test("catches up after the line was gone, and says that it was", async () => {
    await page.context().setOffline(true);
    // What is open goes on; a page that comes back finds out.
    await page.evaluate(() => scrollTo(0, 0));
    await page.reload().catch(() => undefined);
    await report(7, { percent: 77, stage: "While it was gone" });
    await page.context().setOffline(false);
    await page.reload();
    await page.getByText("5,000 running").waitFor();
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByText("While it was gone").waitFor();
  });
});
