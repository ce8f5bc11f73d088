/**
 * A Runtime as the process that a person starts, and what can be measured of it from outside: its own figures, its resident memory, its
 * open files, and its heap after everything was collected that can be.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { nylorun, Serving } from "../crash/nylorun.ts";
import { Caller } from "./callers.ts";

const MOODS = fileURLToPath(new URL("agents/moods.ts", import.meta.url));
/** For whatever is waited for, in milliseconds. */
const PATIENCE = 20_000;

export interface ProcessOptions {
  /** By name, as variables of the environment have them: `a2aWaitMs`. */
  readonly settings?: Readonly<Record<string, number | string>>;
  /** The file of the agent. Default: `moods`. */
  readonly agent?: string;
  /** Default: a new folder, which goes with the process. */
  readonly home?: string;
  /** Whether {@link Process.heap} is to be asked. */
  readonly inspected?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export class Process implements AsyncDisposable {
  readonly url: string;
  readonly home: string;
  readonly #serving: Serving;
  readonly #resources: AsyncDisposableStack;
  #operator: string | undefined;

  static async start({ settings = {}, agent = MOODS, home, inspected, env }: ProcessOptions = {}): Promise<Process> {
    await using resources = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "nylorun-process-"));
    resources.defer(() => rmSync(folder, { recursive: true, force: true }));
    const at = home ?? join(folder, "home");
    const serving = resources.use(
      new Serving(at, agent, {
        AGENT_PROGRESS_EVENTS_DIR: join(folder, "events"),
        NYLORUN_STOP_GRACE_MS: "0",
        ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [variableOf(name), String(value)])),
        ...(inspected === true && { NODE_OPTIONS: "--inspect=127.0.0.1:0" }),
        ...env,
      }),
    );
    const url = await serving.url;
    return new Process({ url, home: at, serving, resources: resources.move() });
  }

  private constructor(parts: { url: string; home: string; serving: Serving; resources: AsyncDisposableStack }) {
    this.url = parts.url;
    this.home = parts.home;
    this.#serving = parts.serving;
    this.#resources = parts.resources;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** What it has said so far. */
  get said(): string {
    return this.#serving.said.join("\n");
  }

  /** A caller with a new key. */
  async as(subject: string): Promise<Caller> {
    return new Caller(this, await this.#addKey("--subject", subject));
  }

  async #addKey(...holder: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await nylorun(this.home, "keys", "add", ...holder);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  /** Its own figures: by name, with labels as Prometheus writes them, such as `nylorun_turns{state="working"}`. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await this.metricsText();
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
    );
  }

  async metricsText(): Promise<string> {
    this.#operator ??= await this.#addKey("--operator");
    const response = await fetch(`${this.url}/metrics`, {
      headers: { authorization: `Bearer ${this.#operator}` },
      signal: AbortSignal.timeout(PATIENCE),
    });
    assert.equal(response.status, 200);
    return response.text();
  }

  /** Its figures, once they are as they should be. */
  async measured(isSo: (figures: ReadonlyMap<string, number>) => boolean): Promise<ReadonlyMap<string, number>> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const figures = await this.metrics();
      if (isSo(figures)) return figures;
      assert.ok(performance.now() < deadline, `after 20 s the figures are ${JSON.stringify([...figures])}`);
      await delay(50);
    }
  }

  /** Resident memory that is its own, in bytes: without the files that are mapped into it. Linux only. */
  get residentBytes(): number {
    const status = readFileSync(`/proc/${this.#serving.pid}/status`, "utf8");
    return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Open files, sockets and the like. Linux only. */
  get openFiles(): number {
    return readdirSync(`/proc/${this.#serving.pid}/fd`).length;
  }

  /** What is alive on the heap of the main thread, and beside it in buffers, in bytes: after a collection. */
  async heap(): Promise<{ readonly used: number; readonly buffers: number }> {
    const [, address] = /^Debugger listening on (ws:\S+)$/m.exec(this.said) ?? [];
    assert.ok(address !== undefined, "start it with `inspected`");
    await using inspector = await Inspector.connect(address);
    await inspector.call("HeapProfiler.enable");
    // What the first one ends, such as weak references, the second one takes.
    await inspector.call("HeapProfiler.collectGarbage");
    await inspector.call("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await inspector.call("Runtime.getHeapUsage");
    return { used: usedSize!, buffers: backingStorageSize! };
  }

  /** Resolves when the process is gone. */
  end(signal: NodeJS.Signals): Promise<void> {
    return this.#serving.end(signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

interface Answer {
  readonly result?: Readonly<Record<string, number>>;
  readonly error?: object;
}

/** Chrome's DevTools protocol, as far as it takes. */
class Inspector implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #calls = 0;

  static async connect(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer & { readonly id?: number };
      if (answer.id !== undefined) this.#pending.get(answer.id)?.(answer);
    });
  }

  async call(method: string): Promise<Readonly<Record<string, number>>> {
    const id = ++this.#calls;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#pending.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method }));
    const timedOut = delay(PATIENCE, undefined, { ref: false }).then(() => assert.fail(`${method}: no answer in 20 s`));
    const { result, error } = await Promise.race([promise, timedOut]);
    this.#pending.delete(id);
    if (result === undefined) throw new Error(`${method} was answered ${JSON.stringify(error)}`);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.addEventListener("close", resolve, { once: true }));
    this.#socket.close();
    await closed;
  }
}

function variableOf(setting: string): string {
  return `NYLORUN_${setting.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`;
}
