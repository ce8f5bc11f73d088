/**
 * Plays what a page shows against a real Runtime that serves the example agents: sends its requests, runs its commands, and
 * compares what comes back with what the page says comes back. Ids, times and traces are others each time; everything else is not.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

import { OutcomeUnknown } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";

import echo from "../../examples/agents/echo.ts";
import { meetings } from "../../examples/agents/meetings.ts";
import { Calendars } from "../../examples/agents/meetings/calendars.ts";
import profiler from "../../examples/agents/profiler.ts";
import { refunds } from "../../examples/agents/refunds.ts";
import { Shop } from "../../examples/agents/refunds/shop.ts";
import { ROOT } from "./page.ts";
import type { Fence, Page } from "./page.ts";

/** What a page calls by a name that stands for this one time alone. */
const OPAQUE = new Set(["id", "taskId", "contextId", "messageId", "interactionId", "traceId", "uncertain"]);

/** To a file: signed, and another one each time. */
const LINK = /^https:\/\/agents\.example\.com\/v1\/files\/eyJhbGci[^/]*\/[^/]+$/;

/** How long a task may take to become what a page shows, in milliseconds. */
const PATIENCE = 10_000;

/** The day on which the pages were written. */
const TODAY = new Date("2026-11-30T12:00:00Z");

class TodaysCalendars extends Calendars {
  override free(owner: string): readonly string[] {
    return super.free(owner, TODAY);
  }
}

/** Its line to the bank breaks in the middle of paying order 1003. */
class BadLineShop extends Shop {
  override refund(order: string) {
    const receipt = super.refund(order);
    if (order === "1003") throw new OutcomeUnknown("The connection was closed before the bank answered.");
    return receipt;
  }
}

/** Plays all of a page, from the top, in a world of its own. */
export async function play(page: Page): Promise<void> {
  await using playback = await Playback.start();
  for (const fence of page.fences) await playback.step(fence);
}

interface Asked {
  readonly agent: string;
  readonly method: string;
  readonly params: unknown;
  readonly plainly: boolean;
}

interface Answered {
  readonly result?: unknown;
  readonly error?: unknown;
}

class Playback implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #key: string;
  readonly #folder: string;
  readonly #resources: AsyncDisposableStack;
  /** What the page calls it, to what it is. */
  readonly #names = new Map<string, string>();
  #asked: Asked | undefined;
  #answered: Answered | undefined;
  /** What the ids of a request stand for that the page has not shown: those of the last answer, when that is not shown either. */
  #unseen: Readonly<Record<string, string | undefined>> = {};

  static async start(): Promise<Playback> {
    await using resources = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "nylorun-docs-"));
    resources.defer(() => rmSync(folder, { recursive: true }));
    const shop = resources.adopt(new BadLineShop(folder), (it) => it.close());
    const calendars = resources.adopt(new TodaysCalendars(folder), (it) => it.close());
    const runtime = resources.use(
      await startRuntime({
        agents: [echo, refunds(shop), meetings(calendars), profiler],
        publicUrl: "https://agents.example.com",
        allowedHosts: ["127.0.0.1"],
        home: join(folder, "home"),
        port: 0,
        logLevel: "silent",
        stopGraceMs: 0,
      }),
    );
    const key = await runtime.addKey({ role: "subject", subject: "ada" });
    return new Playback({ runtime, key, folder, resources: resources.move() });
  }

  private constructor(parts: { runtime: Runtime; key: string; folder: string; resources: AsyncDisposableStack }) {
    this.#runtime = parts.runtime;
    this.#key = parts.key;
    this.#folder = parts.folder;
    this.#resources = parts.resources;
  }

  async step(fence: Fence): Promise<void> {
    const { language, mark, text, at } = fence;
    if (language === "sh" && mark === "run") return this.#run(text);
    if (language !== "json") return;
    const [, method = "", agent = "", plainly] = /^(\w+) to ([\w-]+)(, plainly)?$/.exec(mark) ?? [];
    if (agent !== "") {
      this.#asked = { agent, method, params: this.#named(JSON.parse(text)), plainly: plainly !== undefined };
      this.#answered = await this.#send(this.#asked);
      this.#unseen = idsIn(this.#answered);
    } else if (mark === "answer" || mark === "error") {
      const field = mark === "answer" ? "result" : "error";
      await this.#compare(at, { [field]: JSON.parse(text) as unknown });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  /** A task that goes on by itself is asked for until it is what the page shows. */
  async #compare(at: string, shown: Answered): Promise<void> {
    const asked = this.#asked ?? assert.fail(`${at}: there is no request before this answer.`);
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const names = new Map(this.#names);
      const { result, error } = this.#answered!;
      const came = renamed(result === undefined ? { error } : { result }, shown, names);
      try {
        assert.deepEqual(came, shown, `${at}: the answer is another one.`);
      } catch (difference) {
        if (asked.method !== "GetTask" || performance.now() > deadline) throw difference;
        await setTimeout(20);
        this.#answered = await this.#send(asked);
        continue;
      }
      for (const [name, is] of names) this.#names.set(name, is);
      this.#unseen = {};
      return;
    }
  }

  async #send({ agent, method, params, plainly }: Asked): Promise<Answered> {
    const active: string[] = [EXTENSIONS.interactions, EXTENSIONS.effects, EXTENSIONS.progress, EXTENSIONS.telemetry];
    // What every artifact would carry is shown on its own page, where there are files.
    if (agent === "profiler") active.push(EXTENSIONS.files);
    const response = await fetch(`${this.#runtime.url}/v1/a2a/agents/${agent}/`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        authorization: `Bearer ${this.#key}`,
        ...(!plainly && { "a2a-extensions": active.join(", ") }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(2 * PATIENCE),
    });
    return (await response.json()) as Answered;
  }

  async #run(command: string): Promise<void> {
    const named = [...this.#names].reduce((text, [name, is]) => text.replaceAll(name, is), command);
    const nylorun = `"${process.execPath}" "${join(ROOT, "packages/runtime/bin/nylorun.js")}"`;
    await promisify(execFile)("sh", ["-c", named.replaceAll(/^(npx )?nylorun /gm, `${nylorun} `)], {
      cwd: ROOT,
      env: { ...process.env, NYLORUN_HOME: this.#runtime.home, EXAMPLES_WORLD: this.#folder, NYLORUN_KEY: this.#key },
      timeout: 2 * PATIENCE,
    });
  }

  /** With what things are called now. */
  #named(value: unknown, key = ""): unknown {
    if (typeof value === "string") {
      const unseen = this.#unseen[key];
      if (unseen !== undefined && !this.#names.has(value)) this.#names.set(value, unseen);
      return this.#names.get(value) ?? value;
    }
    if (Array.isArray(value)) return value.map((item) => this.#named(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.#named(item, name)]));
  }
}

/** By the fields of a request that would hold them. */
function idsIn({ result }: Answered): Readonly<Record<string, string | undefined>> {
  const found = result as { readonly task?: Task } & Partial<Task>;
  const task = found?.task ?? found;
  const open = task?.status?.message?.metadata?.[EXTENSIONS.interactions] as OpenInteraction | undefined;
  return { id: task?.id, taskId: task?.id, interactionId: open?.interactionId };
}

/**
 * What came, with what the page calls things wherever the page has a name for this one time alone: the same name for the same thing
 * throughout. Adds the names that it finds.
 */
function renamed(came: unknown, shown: unknown, names: Map<string, string>, key = ""): unknown {
  if (typeof came === "string" && typeof shown === "string") {
    if (key === "url" && LINK.test(came)) return LINK.test(shown) ? shown : came;
    if (key === "timestamp") return Number.isNaN(Date.parse(came)) ? came : shown;
    if (!OPAQUE.has(key)) return [...names].reduce((text, [name, is]) => text.replaceAll(is, name), came);
    const is = names.get(shown);
    if (is === undefined && !names.values().some((other) => other === came)) names.set(shown, came);
    else if (is !== came) return came;
    return shown;
  }
  if (Array.isArray(came) && Array.isArray(shown)) {
    return came.map((item, index) => renamed(item, shown[index], names, key));
  }
  if (typeof came !== "object" || came === null || typeof shown !== "object" || shown === null) return came;
  const wanted = shown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(came).map(([name, item]) => [name, renamed(item, wanted[name], names, name)]),
  );
}
