/** The `nylorun` command, as processes that a test may kill. */
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../packages/runtime/bin/nylorun.js", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command to its end. At most 20 s. */
export async function nylorun(home: string, ...args: readonly string[]): Promise<Ran> {
  return nylorunWith({}, home, ...args);
}

/** The same, with more in its environment. */
export async function nylorunWith(
  more: Readonly<Record<string, string>>,
  home: string,
  ...args: readonly string[]
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...more, NYLORUN_HOME: home };
    execFile(process.execPath, [bin, ...args], { env, timeout: 20_000 }, (error, stdout, stderr) => {
      if (error === null || typeof error.code === "number") resolve({ code: Number(error?.code ?? 0), stdout, stderr });
      else reject(new Error(`nylorun ${args.join(" ")} did not end by itself`, { cause: error }));
    });
  });
}

export interface ServingOptions {
  /** Of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** How long it may take to start, in milliseconds. */
  readonly patienceMs: number;
  /** A module that is loaded before all else. */
  readonly preload?: string | undefined;
}

/** A serving process. */
export class Serving implements AsyncDisposable {
  /** Its address, once it serves. Rejects when it ends before, or says none in time: with all that it said. */
  readonly url: Promise<string>;
  /** Resolves when the process is gone, whoever ended it. */
  readonly ended: Promise<void>;
  /** What it has said so far, line by line. */
  readonly said: readonly string[];
  readonly #process: ChildProcess;

  #isOver = false;

  /** Starts to serve, on any free port. */
  constructor(home: string, agent: string, { env, patienceMs, preload }: ServingOptions) {
    const loaded = preload === undefined ? [] : ["--import", preload];
    const child = spawn(process.execPath, [...loaded, bin, "serve", agent], {
      env: { ...process.env, NYLORUN_HOME: home, NYLORUN_PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const said: string[] = [];
    this.said = said;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        said.push(line);
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
        if (found) resolve(found[0]);
      });
    }
    const fail = (what: string) => reject(new Error(`nylorun serve ${what}:\n${said.join("\n")}`));
    const timer = setTimeout(fail, patienceMs, `named no address within ${patienceMs / 1000} s`);
    this.url = promise.finally(() => clearTimeout(timer));
    // Who does not ask for the address need not care that there is none.
    this.url.catch(() => {});
    this.ended = once(child, "exit").then(([code, signal]) => {
      this.#isOver = true;
      fail(`ended (${code ?? signal}) before it served`);
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** kill -9. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Resolves when the process is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#process.kill(signal);
    await this.ended;
  }

  /** Stops all of it, as a machine that is suspended would be, until it is woken. */
  pause(): void {
    this.#process.kill("SIGSTOP");
  }

  wake(): void {
    this.#process.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
