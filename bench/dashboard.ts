/**
 * The dashboard with 1,000 live tasks that each change five times a second, for five minutes: frames that were drawn, and memory. Beside
 * it, in the same run and from the same events, a plain page that draws a `<progress>` and a text for each.
 *
 * The events take the way that a person's do: written to the sink, read from there by `nylorun dashboard`, sent to the page.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";

import { launchChromium } from "../test/browser/chromium.ts";
import { brief, result, table } from "./figures.ts";
import type { BenchOptions } from "./main.ts";
import { stop } from "./server.ts";

const TASKS = 1_000;
/** Of each task, a second. */
const UPDATES = 5;
/** Between two writes of the feed, in milliseconds. */
const TICK = 20;
const FRAMES_A_SECOND = 60;
const MIB = 1024 * 1024;
const STAGES = ["Reading", "Searching memory", "Reasoning", "Writing", "Checking"];

const command = fileURLToPath(new URL("../packages/runtime/bin/nylorun.js", import.meta.url));

type Kind = "dashboard" | "plain page";

interface Figures {
  /** Share of the frames of a screen's sixty a second that were not drawn. */
  readonly dropped: number;
  /** Of all frames, the one that took longest, in milliseconds. */
  readonly longest: number;
  /** What the page holds once everything that can be is thrown away, in MiB: after a tenth of the time, and at the end. */
  readonly early: number;
  readonly late: number;
  /** Of the browser's processes, in milliseconds a second. */
  readonly cpu: number;
  /** From the last event until the page shows it, in milliseconds. */
  readonly behind: number;
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const seconds = quick ? 10 : 300;
  await using browser = await launchChromium();
  const measured = new Map<Kind, Figures>();
  for (const kind of ["dashboard", "plain page"] as const) {
    // The plain page is there for comparison: a minute of it tells as much.
    measured.set(kind, await measure(browser, kind, kind === "dashboard" ? seconds : Math.min(seconds, 60)));
  }
  console.log(`${TASKS} tasks, ${UPDATES} updates a second each, for ${seconds} s`);
  console.log(
    table(
      ["", "frames dropped", "longest frame", "heap after a tenth", "heap at the end", "CPU ms/s", "behind at the end"],
      [...measured].map(([kind, { dropped, longest, early, late, cpu, behind }]) => [
        kind,
        `${brief(dropped * 100)}%`,
        `${brief(longest)} ms`,
        `${brief(early)} MiB`,
        `${brief(late)} MiB`,
        brief(cpu),
        `${brief(behind)} ms`,
      ]),
    ),
  );
  const [ours, plain] = [measured.get("dashboard")!, measured.get("plain page")!];
  console.log();
  console.log(
    result("dashboard", {
      droppedFrames: ours.dropped,
      plainDroppedFrames: plain.dropped,
      longestFrameMs: ours.longest,
      heapMiB: ours.late,
      heapGrowthMiB: ours.late - ours.early,
      cpuMs: ours.cpu,
      plainCpuMs: plain.cpu,
      behindMs: ours.behind,
      seconds,
    }),
  );
}

async function measure(browser: Browser, kind: Kind, seconds: number): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  const child = spawn(process.execPath, [command, "dashboard", "--port", "0"], {
    env: { ...process.env, AGENT_PROGRESS_EVENTS_DIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const link = await linkOf(child.stdout);
    await using feed = new Feed(folder);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, locale: "en-US" });
    try {
      const page = await context.newPage();
      await page.goto(link);
      await page.locator(".state[data-live=true]").waitFor();
      if (kind === "plain page") await openPlain(context, page, new URL(link).origin);
      feed.start();
      await page.waitForFunction(() => document.querySelectorAll(".row, li").length > 5);
      return await watch(browser, page, { seconds, feed });
    } finally {
      await context.close();
    }
  } finally {
    await stop(child);
    await rm(folder, { recursive: true, force: true });
  }
}

async function linkOf(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stdout)) if (line.startsWith("http://")) return line;
  throw new Error("nylorun dashboard printed no link.");
}

/** Writes as many events as are due by the clock. */
class Feed implements AsyncDisposable {
  readonly #sink: Sink;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #sent = 0;

  constructor(folder: string) {
    this.#sink = new Sink({ folder, warn: (text) => console.error(text) });
  }

  start(): void {
    this.#running = this.#run();
  }

  /** One more of the task that stands first, after all others. */
  async last(stage: string): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#send(0, stage);
  }

  async #run(): Promise<void> {
    const began = performance.now();
    while (!this.#stopped.signal.aborted) {
      const due = Math.floor(((performance.now() - began) / 1000) * TASKS * UPDATES);
      const sending: Promise<unknown>[] = [];
      for (; this.#sent < due; this.#sent++) {
        const round = Math.floor(this.#sent / TASKS);
        sending.push(this.#send(this.#sent % TASKS, STAGES[Math.floor(round / 10) % STAGES.length]!, round));
      }
      await Promise.all(sending);
      await delay(TICK);
    }
  }

  #send(task: number, stage: string, round = 0): Promise<boolean> {
    const report = {
      task_id: `agent-${task % 10}:task-${task}`,
      percent: (round * 0.3 + task) % 100,
      eta_seconds: 300 - (round % 300),
      stage,
      status: "running",
      message: `step ${round}`,
    };
    const event = normalizeReport(report, Date.now());
    return this.#sink.append(sinkRecord(event, event.agent));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    this.#sink[Symbol.dispose]();
  }
}

/** What somebody would write in half an hour: every event is drawn into its own row, at once. */
async function openPlain(context: BrowserContext, page: Page, origin: string): Promise<void> {
  const html = `<!doctype html><title>Plain</title><ul></ul><script>
    const rows = new Map();
    new EventSource("/v1/progress/events").onmessage = ({ data }) => {
      const event = JSON.parse(data);
      let row = rows.get(event.task_id);
      if (row === undefined) {
        row = document.createElement("li");
        row.innerHTML = "<progress max=100></progress> <span></span>";
        rows.set(event.task_id, row);
        document.querySelector("ul").append(row);
      }
      row.firstChild.value = event.percent;
      row.lastChild.textContent = event.task_id + " " + event.stage + " " + Math.floor(event.percent) + "% " + event.message;
    };
  </script>`;
  await context.route(`${origin}/plain`, (route) => route.fulfill({ body: html, contentType: "text/html" }));
  await page.goto(`${origin}/plain`);
}

async function watch(
  browser: Browser,
  page: Page,
  { seconds, feed }: { readonly seconds: number; readonly feed: Feed },
): Promise<Figures> {
  const session = await page.context().newCDPSession(page);
  // All tasks have been heard of by then.
  await delay(2_000);
  await page.evaluate(() => {
    const frames = { count: 0, longest: 0, begun: performance.now() };
    Object.assign(globalThis, { frames });
    let last = performance.now();
    const frame = (now: number): void => {
      frames.count++;
      frames.longest = Math.max(frames.longest, now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const before = await cpuTime(browser);
  await delay(seconds * 100);
  const early = await heap(session);
  await delay(seconds * 900);
  const cpu = ((await cpuTime(browser)) - before) / seconds;
  const drawn = await page.evaluate(() => {
    const { frames } = globalThis as unknown as { frames: { count: number; longest: number; begun: number } };
    return { ...frames, seconds: (performance.now() - frames.begun) / 1000 };
  });
  const late = await heap(session);
  const stage = "The last of all";
  await feed.last(stage);
  const written = performance.now();
  await page.waitForFunction(
    (text) => {
      const shown = document.querySelector("agent-progress")?.shadowRoot?.getElementById("stage")?.textContent;
      return (shown ?? document.querySelector("li")?.textContent ?? "").includes(text);
    },
    stage,
    { polling: "raf", timeout: 60_000 },
  );
  return {
    dropped: Math.max(0, 1 - drawn.count / (drawn.seconds * FRAMES_A_SECOND)),
    longest: drawn.longest,
    early,
    late,
    cpu,
    behind: performance.now() - written,
  };
}

async function heap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / MIB;
}

/** Of all processes of the browser since they were started, in milliseconds. */
async function cpuTime(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.reduce((sum, { cpuTime: time }) => sum + time * 1000, 0);
}
