/** A server in a process of its own, for as long as a benchmark needs it. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export interface Launch {
  readonly name: string;
  /** Arguments of `node`. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Finds the port in a line that the server prints. */
  readonly port: RegExp;
}

export class Server implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(name: string, port: number, process: ChildProcess) {
    this.name = name;
    this.port = port;
    this.#process = process;
  }

  /** @throws When it has not printed its port within 60 s; its last words are in the message. */
  static async start({ name, args, env, port }: Launch): Promise<Server> {
    const child = spawnNode(args, env);
    const said: string[] = [];
    const found = new Promise<number>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        if (stream === null) continue;
        createInterface(stream).on("line", (line) => {
          if (said.length < 50) said.push(line);
          const match = port.exec(line);
          if (match) resolve(Number(match[1]));
        });
      }
      child.once("error", reject);
      child.once("exit", (code, signal) =>
        reject(new Error(`${name} ended (${code ?? signal}) before it served:\n${said.join("\n")}`)),
      );
      setTimeout(() => reject(new Error(`${name} named no port within 60 s:\n${said.join("\n")}`)), 60_000).unref();
    });
    try {
      return new Server(name, await found, child);
    } catch (error) {
      await stop(child);
      throw error;
    }
  }

  /** Processor time that it has used, in all its threads, in seconds. Only Linux tells; elsewhere NaN. */
  cpuSeconds(): number {
    try {
      // After the name, which may hold anything but ends with the last ")": fields 14 and 15 of proc(5), in 1/100 s.
      const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      return Number.NaN;
    }
  }

  /** What it has in memory now, shared pages too, in bytes. Only Linux tells; elsewhere NaN. */
  residentBytes(): number {
    try {
      const status = readFileSync(`/proc/${this.#process.pid}/status`, "utf8");
      return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
    } catch {
      return Number.NaN;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#process);
  }
}

export function spawnNode(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  return spawn(process.execPath, args, {
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Asks the process to end; ends it after 10 s. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}
