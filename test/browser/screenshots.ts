/**
 * Takes the pictures of the documentation: `node test/browser/screenshots.ts [FOLDER]`, by default into docs/progress/images. They are
 * made by hand, when the look has changed: pictures of two machines differ by a pixel here and there.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { ProgressEvent } from "@nylorun/protocol";
import type { Browser } from "playwright-core";

import { event, WIDGET } from "./bar.ts";
import { launchChromium } from "./chromium.ts";

const STATES: readonly Partial<ProgressEvent>[] = [
  { task_id: "claude:report", stage: "Reasoning", percent: 42, eta_seconds: 30, message: "reading section 3 of 7" },
  {
    task_id: "deepseek:search",
    agent: "deepseek",
    stage: "Searching memory",
    percent: 12,
    eta_seconds: null,
    message: "4 of 31 sources",
  },
  {
    task_id: "support:refund",
    agent: "support",
    status: "paused",
    stage: "Waiting for approval",
    percent: 60,
    message: "Refund 120.00 EUR?",
  },
  {
    task_id: "profiler:sales",
    agent: "profiler",
    status: "done",
    stage: "Report written",
    percent: 100,
    message: "12 columns, 3 outliers",
  },
  {
    task_id: "crawler:docs",
    agent: "crawler",
    status: "error",
    stage: "Saving",
    percent: 64,
    message: "The database did not answer",
  },
  {
    task_id: "codex:build",
    agent: "codex",
    stage: "Compiling 214 modules",
    percent: 58,
    message: "crate 57",
    timestamp: "2026-10-14T01:55:50.000Z",
  },
];

interface Picture {
  readonly name: string;
  readonly colorScheme: "light" | "dark";
  /** Of the window, in pixels. */
  readonly width: number;
  readonly dir?: "ltr" | "rtl";
  readonly forcedColors?: "active";
}

const PICTURES: readonly Picture[] = [
  { name: "states-light", colorScheme: "light", width: 960 },
  { name: "states-dark", colorScheme: "dark", width: 960 },
  { name: "narrow-light", colorScheme: "light", width: 320 },
  { name: "narrow-dark-rtl", colorScheme: "dark", width: 320, dir: "rtl" },
  { name: "forced-colors", colorScheme: "dark", width: 960, forcedColors: "active" },
];

async function take(browser: Browser, { name, width, dir = "ltr", ...options }: Picture): Promise<Buffer> {
  const page = await browser.newPage({ viewport: { width, height: 1600 }, deviceScaleFactor: 2, ...options });
  try {
    await page.setContent(
      `<!doctype html><html lang="en" dir="${dir}"><title>${name}</title>
       <style>
         :root{color-scheme:light dark;font:15px system-ui;background:light-dark(#fff,#16181d);color:light-dark(#1b1d22,#e6e6ea)}
         body{margin:0;padding:1.25rem}
         main{display:grid;gap:1.5rem 2.25rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr))}
         section{display:grid;gap:.6rem;margin-block-start:2rem}
       </style><main></main><section></section>`,
    );
    await page.addScriptTag({ content: WIDGET });
    await page.evaluate(
      async (all) => {
        for (const [where, size] of [
          ["main", "full"],
          ["section", "compact"],
        ] as const) {
          for (const one of all) {
            const bar = document.createElement("agent-progress");
            bar.setAttribute("size", size);
            document.querySelector(where)!.append(bar);
            bar.event = one;
            bar.now = Date.parse("2026-10-14T02:00:00.000Z");
          }
        }
        await Promise.resolve();
        // In the middle of a glow, so that the picture shows it.
        for (const { shadowRoot } of document.querySelectorAll("agent-progress")) {
          for (const animation of shadowRoot!.getAnimations()) {
            if (animation instanceof CSSTransition) animation.finish();
            else {
              animation.pause();
              animation.currentTime = 250;
            }
          }
        }
      },
      STATES.map((fields) => event(fields)),
    );
    const height = await page.evaluate(() => document.body.getBoundingClientRect().height);
    return await page.screenshot({ clip: { x: 0, y: 0, width, height } });
  } finally {
    await page.close();
  }
}

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, "../../docs/progress/images"));
await mkdir(folder, { recursive: true });
await using browser = await launchChromium();
for (const picture of PICTURES) await writeFile(join(folder, `${picture.name}.png`), await take(browser, picture));
