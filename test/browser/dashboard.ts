/** A Runtime with its dashboard, and people in browsers of their own who are signed in to it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient } from "@nylorun/agents/a2a";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime, RuntimeOptions } from "@nylorun/runtime";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

/** For what a page has to come to, on a busy machine, in milliseconds. */
const PATIENCE = 20_000;

export interface Keys {
  readonly subject?: string;
  readonly operator?: string;
}

type ServeOptions = Partial<RuntimeOptions> & Pick<RuntimeOptions, "agents">;

/** A home that is served, and can be served again. */
export class Dashboard implements AsyncDisposable {
  runtime: Runtime;
  readonly #folder: string;
  readonly #options: ServeOptions;

  private constructor(runtime: Runtime, folder: string, options: ServeOptions) {
    this.runtime = runtime;
    this.#folder = folder;
    this.#options = options;
  }

  static async serve(options: ServeOptions): Promise<Dashboard> {
    const folder = mkdtempSync(join(tmpdir(), "nylorun-dashboard-"));
    const runtime = await startRuntime({
      home: join(folder, "home"),
      port: 0,
      logLevel: "silent",
      stopGraceMs: 0,
      ...options,
    });
    return new Dashboard(runtime, folder, options);
  }

  /** Stops, and serves the same home at the same address. @param meanwhile What is done while it is stopped. @param agents Default: the same. */
  async restart(meanwhile?: (home: string) => void, agents = this.#options.agents): Promise<void> {
    const port = Number(new URL(this.runtime.url).port);
    const { home } = this.runtime;
    await this.runtime.stop();
    meanwhile?.(home);
    this.runtime = await startRuntime({ home, logLevel: "silent", stopGraceMs: 0, ...this.#options, agents, port });
  }

  subjectKey(subject: string): Promise<string> {
    return this.runtime.addKey({ role: "subject", subject });
  }

  operatorKey(): Promise<string> {
    return this.runtime.addKey({ role: "operator" });
  }

  /** A program that acts for the holder of a key. */
  client(agent: string, key: string): Promise<A2aClient> {
    return createA2aClient({ url: `${this.runtime.url}/v1/a2a/agents/${agent}/`, auth: key });
  }

  /** A person in a browser of their own. @param host Another name of the address. */
  async open(browser: Browser, keys: Keys, options: BrowserContextOptions = {}, host = "127.0.0.1"): Promise<Person> {
    const person = new Person(
      await browser.newContext({ viewport: { width: 1180, height: 860 }, locale: "en-US", ...options }),
      this,
    );
    await person.newPage();
    await person.page.goto(this.runtime.dashboardLink(keys).replace("127.0.0.1", host));
    await person.page.locator(".state[data-live=true]").waitFor({ timeout: PATIENCE });
    return person;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export class Person implements AsyncDisposable {
  readonly context: BrowserContext;
  readonly #dashboard: Dashboard;
  #page: Page | undefined;
  /** What went wrong in the person's pages: errors, dialogs, and what the page's policy kept out. */
  readonly complaints: string[] = [];

  constructor(context: BrowserContext, dashboard: Dashboard) {
    this.context = context;
    this.#dashboard = dashboard;
    context.setDefaultTimeout(PATIENCE);
  }

  get page(): Page {
    return this.#page!;
  }

  async newPage(): Promise<Page> {
    const page = await this.context.newPage();
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      // That a request failed is the browser's own remark; what the page makes of it is what is tested.
      const isRemark = message.text().startsWith("Failed to load resource");
      if (["error", "warning"].includes(message.type()) && !isRemark) this.complaints.push(message.text());
    });
    return (this.#page = page);
  }

  /** Goes to a view, such as `#/history`. */
  async go(hash: string): Promise<void> {
    await this.page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await this.page.locator("main h1").waitFor();
  }

  /** Waits until the page shows a text. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.locator("main").getByText(text).first().waitFor();
  }

  /** What the page says, in one text. */
  async text(): Promise<string> {
    return (await this.page.locator("body").innerText()).replaceAll(/\s+/g, " ");
  }

  async press(name: string | RegExp): Promise<void> {
    await this.page.getByRole("button", { name, disabled: false }).first().click();
  }

  /** The page loads again, and is connected again. */
  async reload(): Promise<void> {
    await this.page.reload();
    await this.page.locator(".state[data-live=true]").waitFor();
  }

  /** The Runtime stops and starts again, and the page finds that out by itself. */
  async sitsOutRestart(meanwhile?: (home: string) => void): Promise<void> {
    await this.#dashboard.restart(meanwhile);
    await this.page.locator(".state[data-live=true]").waitFor();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    if (this.complaints.length > 0) console.error(this.complaints);
    assert.deepEqual(this.complaints, []);
  }
}
