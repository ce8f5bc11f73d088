/** One `<agent-progress>` on a page of its own, and what can be seen of it. */
import type { ProgressEvent } from "@nylorun/protocol";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { bundle } from "./bundle.ts";

/** Registered in the page, as a page would load it. */
export const WIDGET = await bundle('import "@nylorun/widget/define"');

const NOW = Date.parse("2026-10-14T02:00:00.000Z");

export function event(fields: Partial<Record<keyof ProgressEvent, unknown>> = {}): ProgressEvent {
  return {
    proto: 1,
    task_id: "claude:summarize-report",
    percent: 42,
    eta_seconds: 30,
    stage: "Reasoning",
    status: "running",
    timestamp: new Date(NOW).toISOString(),
    agent: "claude",
    message: "reading section 3 of 7",
    ...fields,
  } as ProgressEvent;
}

/** What a person sees. */
export interface Seen {
  readonly stage: string;
  readonly alert: string;
  readonly percent: string;
  readonly note: string;
  readonly time: string;
  /** The share of the bar that is filled, in whole percent, as it is drawn. */
  readonly filled: number;
  /** What the icon looks like: equal for equal icons. */
  readonly icon: string;
}

export interface BarOptions extends BrowserContextOptions {
  readonly attributes?: Readonly<Record<string, string>>;
  /** Of the page's root. */
  readonly dir?: "ltr" | "rtl";
  readonly background?: string;
}

export class Bar implements AsyncDisposable {
  readonly page: Page;
  /** Errors and console output of the page. */
  readonly complaints: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => this.complaints.push(message.text()));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  static async open(browser: Browser, options: BarOptions = {}): Promise<Bar> {
    const { attributes = {}, dir = "ltr", background = "canvas", ...context } = options;
    const bar = new Bar(await browser.newPage({ viewport: { width: 400, height: 300 }, ...context }));
    await bar.page.setContent(
      `<!doctype html><html lang="en" dir="${dir}" style="color-scheme:light dark;background:${background}"><title>Bar</title>
       <body style="margin:16px;font:15px system-ui"><main><h1 style="font-size:1em">Bar</h1><p id="here"></p></main>`,
    );
    await bar.page.addScriptTag({ content: WIDGET });
    await bar.page.evaluate((given) => {
      const element = document.createElement("agent-progress");
      for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
      document.querySelector("#here")!.replaceWith(element);
    }, attributes);
    return bar;
  }

  /** Sets one event after another in one go, and lets the page be drawn. */
  async show(...events: readonly Partial<ProgressEvent>[]): Promise<void> {
    // As a structured clone, in which NaN and Infinity stay what they are.
    await this.page.evaluate((all) => {
      for (const one of all) document.querySelector("agent-progress")!.event = one as ProgressEvent;
    }, events);
    await this.drawn();
  }

  async drawn(): Promise<void> {
    await this.page.evaluate(
      async () => await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
  }

  /** After all motion has come to its end. */
  async seen(): Promise<Seen> {
    return await this.page.evaluate(() => {
      const root = document.querySelector("agent-progress")!.shadowRoot!;
      for (const animation of root.getAnimations()) animation.finish();
      const part = (name: string) => root.getElementById(name)!;
      const text = (name: string) => {
        const element = part(name);
        return element.getBoundingClientRect().width > 0 ? (element.textContent ?? "") : "";
      };
      const track = part("bar").getBoundingClientRect();
      const fill = part("fill").getBoundingClientRect();
      const width = Math.min(track.right, fill.right) - Math.max(track.left, fill.left);
      return {
        stage: text("stage"),
        alert: text("what"),
        percent: text("percent"),
        note: text("note"),
        time: text("time"),
        filled: Math.round((Math.max(0, width) / track.width) * 100),
        icon: part("shape").getAttribute("d") ?? "",
      };
    });
  }

  /** An attribute of the element with the role of a progress bar. */
  async bar(attribute: string): Promise<string | null> {
    return await this.page.evaluate(
      (name) => document.querySelector("agent-progress")!.shadowRoot!.getElementById("bar")!.getAttribute(name),
      attribute,
    );
  }

  /** Collects from now on what live regions say: `polite: …`, `assertive: …`. Those that come in together with their text say nothing. */
  async listen(): Promise<() => Promise<string[]>> {
    await this.page.evaluate(() => {
      const said: string[] = [];
      Object.assign(globalThis, { said });
      for (const region of document
        .querySelector("agent-progress")!
        .shadowRoot!.querySelectorAll("[role=status],[role=alert]")) {
        const manner = region.getAttribute("role") === "alert" ? "assertive" : "polite";
        new MutationObserver(() => {
          if (region.textContent) said.push(`${manner}: ${region.textContent}`);
        }).observe(region, { childList: true, characterData: true, subtree: true });
      }
    });
    return async () => await this.page.evaluate(() => (globalThis as unknown as { said: string[] }).said.splice(0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}
