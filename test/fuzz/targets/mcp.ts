/** The MCP server: lines near good ones on its standard input. It lives, answers the next call, says nothing but the protocol, and stores what it said it stored. */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import { fitting } from "../schema.ts";
import type { Input, StartTarget } from "../target.ts";

interface Said {
  /** Of standard input, without their ends; one character a byte. */
  readonly lines: readonly string[];
}

const COMMAND = resolve(import.meta.dirname, "../../../packages/mcp-server/bin/mcp-server.js");
const PATIENCE = 20_000;
const reports = fc.oneof(fitting("schema.json"), near(fitting("schema.json")));
const calls = fc.oneof(
  {
    weight: 4,
    arbitrary: reports.map((input) => ["tools/call", { name: "report_progress", arguments: input }] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ task_id: fc.constantFrom("a:b", "constructor", 7, null) }, { requiredKeys: [] })
      .map((input) => ["tools/call", { name: "get_status", arguments: input }] as const),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ["tools/list", {}] as const,
      ["resources/list", {}] as const,
      ["resources/read", { uri: "ui://x" }] as const,
      ["prompts/get", { name: "x" }] as const,
      ["initialize", { protocolVersion: "1", capabilities: {}, clientInfo: { name: "x", version: "1" } }] as const,
      ["notifications/cancelled", { requestId: 1 }] as const,
      ["logging/setLevel", { level: "debug" }] as const,
      ["nothing", { x: [] }] as const,
    ),
  },
);
const requests = fc
  .tuple(calls, fc.constantFrom(1, 2, "three", null), fc.boolean())
  .map(([[method, params], id, withToken]) => ({
    jsonrpc: "2.0",
    id,
    method,
    params: withToken ? { ...params, _meta: { progressToken: "t" } } : params,
  }));
const oneLine = (text: string): string => text.replaceAll(/[\r\n]/g, " ");
const lines = fc.oneof(
  { weight: 5, arbitrary: near(requests).map((value) => latin1(JSON.stringify(value) ?? "")) },
  { weight: 2, arbitrary: nearBytes(requests.map((value) => latin1(JSON.stringify(value)))).map(oneLine) },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }).map((text) => oneLine(latin1(text))) },
);

const LAST = { task_id: "fuzz:last", percent: 1, stage: "Last", status: "running" };

class Server {
  readonly folder = mkdtempSync(join(tmpdir(), "nylorun-fuzz-mcp-"));
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #heard: {
    readonly id?: unknown;
    readonly result?: { readonly isError?: boolean; readonly structuredContent?: { readonly persisted?: boolean } };
  }[] = [];
  readonly #closed: Promise<unknown>;
  #wake: () => void = () => undefined;
  #broken: string | undefined;
  #asked = 0;

  constructor() {
    this.#child = spawn(process.execPath, [COMMAND], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { PATH: process.env["PATH"] ?? "", AGENT_PROGRESS_EVENTS_DIR: this.folder },
    });
    this.#closed = once(this.#child, "close");
    this.#child.on("close", (code, signal) => {
      this.#broken ??= `it ended with ${code ?? signal}`;
      this.#wake();
    });
    this.#child.stdin.on("error", () => undefined);
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      try {
        const message = JSON.parse(line);
        if (message.jsonrpc !== "2.0") throw new Error("no JSON-RPC");
        this.#heard.push(message);
      } catch {
        this.#broken ??= `it said ${line.slice(0, 300)}`;
      }
      this.#wake();
    });
  }

  /** What was answered to the lines. @throws When it is dead, mute, or says what is not of the protocol. */
  async say(some: readonly string[]) {
    // Reports are stored and answered in the order in which they come, so those before this one have been when it is.
    const last = `last-${++this.#asked}`;
    const params = { name: "report_progress", arguments: LAST };
    this.#heard.length = 0;
    const text = [...some, JSON.stringify({ jsonrpc: "2.0", id: last, method: "tools/call", params })].join("\n");
    this.#child.stdin.write(Buffer.from(`${text}\n`, "latin1"));
    const deadline = performance.now() + PATIENCE;
    while (!this.#heard.some(({ id }) => id === last)) {
      if (this.#broken !== undefined) throw new Error(this.#broken);
      const left = deadline - performance.now();
      if (left < 0) throw new Error("it did not answer the call after them");
      const { promise, resolve: wake } = Promise.withResolvers<null>();
      const timer = setTimeout(() => wake(null), left);
      this.#wake = () => wake(null);
      await promise;
      clearTimeout(timer);
    }
    return [...this.#heard];
  }

  stored(): number {
    const files = globSync("*.jsonl", { cwd: this.folder });
    return files.reduce((sum, file) => sum + readFileSync(join(this.folder, file), "utf8").split("\n").length - 1, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#closed;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const HELLO = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } },
};

export const startMcp: StartTarget = async () => {
  const open = async (): Promise<Server> => {
    const fresh = new Server();
    await fresh.say([JSON.stringify(HELLO), JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })]);
    return fresh;
  };
  let server = await open();
  let stored = server.stored();
  return {
    inputs: fc.record({ lines: fc.array(lines, { minLength: 1, maxLength: 4 }) }),
    async check(input: Input) {
      try {
        const heard = await server.say((input as Said).lines);
        const taken = heard.filter(({ result }) => {
          return result?.isError !== true && result?.structuredContent?.persisted !== undefined;
        }).length;
        const now = server.stored();
        const more = now - stored;
        stored = now;
        // What its client has given up is not answered, though it may have been stored by then.
        const givenUp = (input as Said).lines.filter((line) => line.includes("notifications/cancelled")).length;
        if (more < taken || more > taken + givenUp) {
          throw new Error(`it says that it took ${taken} reports, and stored ${more}`);
        }
      } catch (error) {
        await server[Symbol.asyncDispose]();
        server = await open();
        stored = server.stored();
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};
