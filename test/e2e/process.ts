/**
 * A Runtime as the process that a person starts, and what can be measured of it from outside: its own figures, its resident memory, its
 * open files, and its heap after everything was collected that can be. For test/cluster it is nodes that share a database, whose figures
 * are taken together; what else is measured is the first one's.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";
import type { Ran } from "../crash/nylorun.ts";
import { Caller } from "./callers.ts";

const MOODS = fileURLToPath(new URL("agents/moods.ts", import.meta.url));
/** For whatever is waited for, in milliseconds. */
const PATIENCE = 20_000;
/** Figures that each node has of itself, to be added up. Of the others, those of one say what those of all would. */
const OF_EACH = /^nylorun_(turns_running|waits|connections|\w+_total|store_write_seconds\w*)\b/;

export interface ProcessOptions {
  /** By name, as variables of the environment have them: `a2aWaitMs`. */
  readonly settings?: Readonly<Record<string, number | string>>;
  /** The file of the agent. Default: `moods`. */
  readonly agent?: string;
  /** Where its home goes. Default: a new folder, which goes with the process. */
  readonly folder?: string;
  /** Whether {@link Process.heap} is to be asked. */
  readonly inspected?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export class Process implements AsyncDisposable {
  readonly #nodes: Nodes;
  readonly #resources: AsyncDisposableStack;
  #operator: string | undefined;

  static async start({ settings = {}, agent = MOODS, folder, inspected, env }: ProcessOptions = {}): Promise<Process> {
    await using resources = new AsyncDisposableStack();
    const own = mkdtempSync(join(tmpdir(), "nylorun-process-"));
    resources.defer(() => rmSync(own, { recursive: true, force: true }));
    const nodes = resources.use(
      await startNodes({
        folder: folder ?? own,
        agents: agent,
        env: {
          AGENT_PROGRESS_EVENTS_DIR: join(own, "events"),
          NYLORUN_STOP_GRACE_MS: "0",
          ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [variableOf(name), String(value)])),
          ...(inspected === true && { NODE_OPTIONS: "--inspect=127.0.0.1:0" }),
          ...env,
        },
      }),
    );
    return new Process(nodes, resources.move());
  }

  private constructor(nodes: Nodes, resources: AsyncDisposableStack) {
    this.#nodes = nodes;
    this.#resources = resources;
  }

  get url(): string {
    return this.#nodes.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** How many there are. */
  get nodes(): number {
    return this.#nodes.count;
  }

  /** What it has said so far. */
  get said(): string {
    return this.#nodes.node(0).said.join("\n");
  }

  /** A caller with a new key. */
  async as(subject: string): Promise<Caller> {
    return new Caller(this, await this.#nodes.key(subject));
  }

  /** Runs a command on its home. */
  run(...args: readonly string[]): Promise<Ran> {
    return this.#nodes.run(...args);
  }

  /** Its own figures: by name, with labels as Prometheus writes them, such as `nylorun_turns{state="working"}`. */
  async metrics(): Promise<ReadonlyMap<string, number>> {
    const figures = new Map<string, number>();
    for (const text of await this.metricsTexts()) {
      for (const line of text.split("\n").filter((one) => one !== "" && !one.startsWith("#"))) {
        const at = line.lastIndexOf(" ");
        const [name, value, known] = [line.slice(0, at), Number(line.slice(at)), figures.get(line.slice(0, at))];
        if (known === undefined) figures.set(name, value);
        else if (OF_EACH.test(name)) figures.set(name, known + value);
      }
    }
    return figures;
  }

  /** As each node tells them. */
  async metricsTexts(): Promise<readonly string[]> {
    this.#operator ??= await this.#nodes.key(undefined);
    return Promise.all(
      this.#nodes.urls.map(async (url) => {
        const response = await fetch(`${url}/metrics`, {
          headers: { authorization: `Bearer ${this.#operator}` },
          signal: AbortSignal.timeout(PATIENCE),
        });
        assert.equal(response.status, 200);
        return response.text();
      }),
    );
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
    const status = readFileSync(`/proc/${this.#nodes.node(0).pid}/status`, "utf8");
    return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Open files, sockets and the like. Linux only. */
  get openFiles(): number {
    return readdirSync(`/proc/${this.#nodes.node(0).pid}/fd`).length;
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
    return this.#nodes.node(0).end(signal);
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
