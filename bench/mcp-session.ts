/** An MCP client that costs next to nothing: it counts the lines that come back. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

import { stop } from "./server.ts";

const NEWLINE = 0x0a;

export class McpSession implements AsyncDisposable {
  readonly #process: ChildProcess;
  #answers = 0;
  #wake: (() => void) | undefined;
  #id = 0;

  /** @param args Of `node`. @throws When it does not answer within 15 s. */
  static async open(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<McpSession> {
    const session = new McpSession(
      spawn(process.execPath, args, {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, NODE_ENV: "production", ...environment },
      }),
    );
    const clientInfo = { name: "bench", version: "1.0.0" };
    session.#send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    await session.#answersAre(1);
    session.#process.stdin!.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return session;
  }

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.stdout!.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.#answers++;
      this.#wake?.();
    });
  }

  /** Calls a tool for so many milliseconds, so many calls at once. Returns how many were answered, per second. */
  async rate(name: string, input: object, options: { atOnce: number; milliseconds: number }): Promise<number> {
    const begun = performance.now();
    const before = this.#answers;
    let sent = before;
    for (;;) {
      const late = performance.now() - begun >= options.milliseconds;
      if (late && this.#answers === sent) break;
      if (!late)
        for (; sent < this.#answers + options.atOnce; sent++) this.#send("tools/call", { name, arguments: input });
      await this.#answersAre(this.#answers + 1);
    }
    return (1000 * (this.#answers - before)) / (performance.now() - begun);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#process);
  }

  #send(method: string, params: object): void {
    this.#process.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params })}\n`);
  }

  async #answersAre(count: number): Promise<void> {
    if (this.#answers >= count) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the server does not answer")), 15_000);
      this.#wake = () => {
        if (this.#answers < count) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
