/**
 * A page with many bars that all take events: frames per second, and updates delivered, of `<agent-progress>` beside a plain
 * `<progress>` with the same texts beside it.
 *
 * Each round is a page of its own. Events come from a timer in the page, as many as are due by the clock, so a page that cannot keep
 * up falls behind visibly: in frames, or in events that came late.
 */
import type { Browser, Page } from "playwright-core";

import { bundle } from "../test/browser/bundle.ts";
import { launchChromium } from "../test/browser/chromium.ts";
import { brief, median, result, spread, table } from "./figures.ts";
import type { BenchOptions } from "./main.ts";

const BARS = 1000;
/** Per bar. */
const EVENTS_PER_SECOND = 10;

type Kind = "progress" | "widget" | "compact";

interface Round {
  /** Per second. */
  readonly frames: number;
  /** Share of the frames that took longer than one and a half of a screen's sixty a second. */
  readonly late: number;
  /** Set on the elements, of those that were due in the time. */
  readonly delivered: number;
  /** Share of the bars that show their last event at the end. */
  readonly current: number;
  /** Of the main thread, in milliseconds per frame. */
  readonly scriptMs: number;
  /** Of all of the browser's processes, in milliseconds per second: what else the machine does moves this the least. */
  readonly cpuMs: number;
}

export async function run({ quick, rounds = quick ? 1 : 3 }: BenchOptions): Promise<void> {
  const seconds = quick ? 3 : 10;
  const script = await bundle('import "@nylorun/widget/define"');
  await using browser = await launchChromium();
  const kinds: readonly Kind[] = ["progress", "widget", "compact"];
  const measured: Record<Kind, Round[]> = { progress: [], widget: [], compact: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of kinds) measured[kind].push(await measure(browser, { kind, script, seconds }));
  }

  const names: Record<Kind, string> = { progress: "<progress>", widget: "widget", compact: "widget, compact" };
  const of = (kind: Kind, figure: keyof Round) => median(measured[kind].map((round) => round[figure]));
  const percent = (share: number) => `${brief(share * 100)}%`;
  console.log(`${BARS} bars, ${EVENTS_PER_SECOND} events a second each, for ${seconds} s`);
  console.log(
    table(
      ["", "frames/s", "late frames", "updates/s", "delivered", "shown at the end", "script ms/frame", "CPU ms/s"],
      kinds.map((kind) => [
        names[kind],
        brief(of(kind, "frames")),
        percent(of(kind, "late")),
        brief(of(kind, "delivered") / seconds),
        percent(of(kind, "delivered") / (BARS * EVENTS_PER_SECOND * seconds)),
        percent(of(kind, "current")),
        brief(of(kind, "scriptMs")),
        brief(of(kind, "cpuMs")),
      ]),
    ),
  );
  console.log();
  console.log(
    result("widget", {
      fps: of("widget", "frames"),
      compactFps: of("compact", "frames"),
      progressFps: of("progress", "frames"),
      updates: of("widget", "delivered") / seconds,
      progressUpdates: of("progress", "delivered") / seconds,
      cpuMs: of("widget", "cpuMs"),
      progressCpuMs: of("progress", "cpuMs"),
      lateFrames: of("widget", "late"),
      shown: of("widget", "current"),
      noise: Math.max(...kinds.map((kind) => spread(measured[kind].map(({ frames }) => frames)))),
    }),
  );
}

async function measure(
  browser: Browser,
  { kind, script, seconds }: { readonly kind: Kind; readonly script: string; readonly seconds: number },
): Promise<Round> {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  try {
    await page.setContent(
      "<!doctype html><style>body{margin:1em;font:15px system-ui;display:grid;grid-template-columns:repeat(3,1fr);gap:1em}</style>",
    );
    await page.addScriptTag({ content: script });
    const before = await cpuTime(browser);
    const round = await play(page, kind, seconds);
    return { ...round, cpuMs: ((await cpuTime(browser)) - before) / seconds };
  } finally {
    await page.close();
  }
}

/** Of all processes of the browser since they were started, in milliseconds. */
async function cpuTime(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.reduce((sum, { cpuTime: seconds }) => sum + seconds * 1000, 0);
}

/** Runs in the page. */
async function play(page: Page, kind: Kind, seconds: number): Promise<Omit<Round, "cpuMs">> {
  return await page.evaluate(
    async ({ kind: what, seconds: length, bars, rate }): Promise<Omit<Round, "cpuMs">> => {
      const stages = ["Reading", "Searching memory", "Reasoning", "Writing", "Checking"];
      const eventOf = (bar: number, turn: number) => ({
        proto: 1 as const,
        task_id: `bench:${bar}`,
        percent: (turn * 0.7 + bar) % 100,
        eta_seconds: 90 - (turn % 90),
        stage: stages[Math.floor((turn + bar * 7) / 20) % stages.length]!,
        status: "running" as const,
        timestamp: "2026-10-14T02:00:00.000Z",
        agent: "bench",
        message: `step ${turn}`,
      });
      type Take = (event: ReturnType<typeof eventOf>) => void;
      const plain = (): Take => {
        const item = document.createElement("div");
        const bar = document.createElement("progress");
        bar.max = 100;
        bar.style.width = "100%";
        const stage = document.createElement("span");
        const note = document.createElement("span");
        const time = document.createElement("span");
        item.append(stage, bar, note, " ", time);
        document.body.append(item);
        return (event) => {
          bar.value = event.percent;
          stage.textContent = event.stage;
          note.textContent = event.message;
          time.textContent = `${event.eta_seconds} s left`;
        };
      };
      const widget = (): Take => {
        const element = document.createElement("agent-progress");
        if (what === "compact") element.setAttribute("size", "compact");
        document.body.append(element);
        return (event) => {
          element.event = event;
        };
      };
      const takers = Array.from({ length: bars }, what === "progress" ? plain : widget);
      const turns = takers.map(() => 0);
      const frame = async () => await new Promise<number>((resolve) => requestAnimationFrame(resolve));
      for (let warm = 0; warm < 30; warm += 1) await frame();

      let delivered = 0;
      let busy = 0;
      const start = performance.now();
      const total = bars * rate * length;
      const timer = setInterval(() => {
        const began = performance.now();
        const due = Math.min(total, Math.floor(((began - start) / 1000) * bars * rate));
        for (; delivered < due; delivered += 1) {
          const bar = delivered % bars;
          turns[bar]! += 1;
          takers[bar]!(eventOf(bar, turns[bar]!));
        }
        // What was set is rendered in a microtask: that is work of ours, too.
        queueMicrotask(() => {
          busy += performance.now() - began;
        });
      }, 4);
      let frames = 0;
      let late = 0;
      let last = await frame();
      const first = last;
      while (last - start < length * 1000) {
        const next = await frame();
        frames += 1;
        if (next - last > 25) late += 1;
        last = next;
      }
      clearInterval(timer);
      await frame();
      const shown = [...document.body.children].filter((item, bar) => {
        const note = item.shadowRoot?.querySelector("#note") ?? item;
        return note.textContent?.includes(`step ${turns[bar]!}`);
      });
      return {
        frames: frames / ((last - first) / 1000),
        late: late / frames,
        delivered,
        current: shown.length / bars,
        scriptMs: busy / frames,
      };
    },
    { kind, seconds, bars: BARS, rate: EVENTS_PER_SECOND },
  );
}
