/** The `nylorun` command as real processes, each test in a folder of its own. */
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../bin/nylorun.js", import.meta.url));
// By address: the folder is outside of the workspace, where no package is found by name.
const AGENTS = JSON.stringify(import.meta.resolve("@nylorun/agents"));
/** For whatever is waited for, in milliseconds. */
const PATIENCE = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** A folder in which `nylorun` is run. Disposing of it kills what still runs there. */
export class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "nylorun-cli-"));
  readonly home = join(this.folder, ".nylorun");
  /** The sink of whoever runs commands here. */
  readonly events = join(this.folder, "events");
  readonly #servers: Serving[] = [];

  /** Writes a file, and returns its name. */
  write(name: string, text: string): string {
    writeFileSync(join(this.folder, name), text);
    return name;
  }

  /** Writes the file of an agent whose `run` has this body. */
  agent(id: string, body = "return turn.text;"): string {
    return this.write(
      `${id}.ts`,
      `import { setTimeout as delay } from "node:timers/promises";
       import { existsSync, appendFileSync, writeFileSync } from "node:fs";
       import { defineAgent } from ${AGENTS};
       export default defineAgent({
         id: "${id}", name: "${id}", description: "${id}", version: "1.0.0",
         skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
         async run(turn) { ${body} },
       });`,
    );
  }

  /** Runs a command to its end. */
  run(args: readonly string[], env: Environment = {}): Promise<Ended> {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.folder, env: this.environment(env), timeout: PATIENCE };
      execFile(process.execPath, [BIN, ...args], options, (error, stdout, stderr) => {
        if (error === null) resolve({ code: 0, stdout, stderr });
        else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
        else reject(new Error(`nylorun ${args.join(" ")} did not end by itself: ${stderr}`, { cause: error }));
      });
    });
  }

  /** Serves on a free port. Resolves when it does. */
  async serve(files: readonly string[], env: Environment = {}): Promise<Serving> {
    const child = spawn(process.execPath, [BIN, "serve", "--port", "0", ...files], {
      cwd: this.folder,
      env: this.environment(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const serving = new Serving(child);
    this.#servers.push(serving);
    await serving.ready;
    return serving;
  }

  /** Ours, without what would be a setting, or a colour. */
  environment(extra: Environment = {}): NodeJS.ProcessEnv {
    const ours = Object.entries(process.env).filter(([name]) => !/^(NYLORUN_|NODE_|FORCE_COLOR)/.test(name));
    return { ...Object.fromEntries(ours), AGENT_PROGRESS_EVENTS_DIR: this.events, ...extra };
  }

  async addKey(...holder: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(["keys", "add", ...holder]);
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((serving) => serving.kill("SIGKILL")));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A process that serves. */
export class Serving {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  /** Resolves to its address. */
  readonly ready: Promise<string>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, "exit");
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error(`It does not serve: ${this.stdout}${this.stderr}`)), PATIENCE);
    this.ready = promise.finally(() => clearTimeout(timer));
    child.stderr?.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString();
      const [, url] = /^Serving at (\S+) .*\n/.exec(this.stdout) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`It ended with ${code}: ${this.stderr}`)));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when the process is gone: its exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    await this.#exit;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal(signal);
    return this.ended();
  }

  /** Posts to an agent, and returns the HTTP status and the answer. */
  async call(key: string, agent: string, method: string, params: unknown): Promise<Answer> {
    const response = await fetch(`${await this.ready}/v1/a2a/agents/${agent}/`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const text = await response.text();
    return { status: response.status, ...(text.startsWith("{") ? (JSON.parse(text) as object) : {}) };
  }

  async send(key: string, agent: string, text: string, options: SendOptions = {}): Promise<Answer> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...options.message };
    const configuration = { returnImmediately: options.returnImmediately ?? false };
    return this.call(key, agent, "SendMessage", { message, configuration });
  }

  async get(key: string, agent: string, id: string): Promise<Task> {
    const { result } = await this.call(key, agent, "GetTask", { id });
    return result as unknown as Task;
  }
}

export interface SendOptions {
  readonly returnImmediately?: boolean;
  readonly message?: Readonly<Record<string, unknown>>;
}

export interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: unknown };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

export interface Answer {
  readonly status: number;
  readonly result?: { readonly task: Task };
  readonly error?: unknown;
}
