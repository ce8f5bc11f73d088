/**
 * One process after another on one home, with a caller, a person and an operator who do not give up when one dies: what they do, they
 * do again until they know that it was done.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import { nylorun } from "../nylorun.ts";

const bin = fileURLToPath(new URL("../../../packages/runtime/bin/nylorun.js", import.meta.url));
const inject = new URL("inject.ts", import.meta.url).href;
const agents = fileURLToPath(new URL("agents.ts", import.meta.url));

export const URI = EXTENSIONS.interactions;

/** A home with a caller and an operator, to be copied: making keys takes a process each. */
export interface Template {
  readonly folder: string;
  readonly callerKey: string;
  readonly operatorKey: string;
}

export async function makeTemplate(): Promise<Template> {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-faults-"));
  const home = join(folder, "home");
  const add = async (...holder: readonly string[]) => {
    const { code, stdout, stderr } = await nylorun(home, "keys", "add", ...holder);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  return { folder, callerKey: await add("--subject", "ada"), operatorKey: await add("--operator") };
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

export interface LostEffect {
  readonly effectId: string;
  readonly taskId: string;
  readonly name: string;
}

export class Trial implements AsyncDisposable {
  readonly folder: string;
  readonly #template: Template;
  readonly #env: Readonly<Record<string, string>>;
  #agent = "";
  #process: ChildProcess | undefined;
  #url: Promise<string> | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  /** Processes that died. */
  deaths = 0;
  /** When the first one has, at last. */
  readonly died = Promise.withResolvers<unknown>();

  /** @param env Of the first process; those after it die of nothing. */
  static async begin(template: Template, env: Readonly<Record<string, string>>): Promise<Trial> {
    const folder = await mkdtemp(join(tmpdir(), "nylorun-faults-"));
    await cp(template.folder, folder, { recursive: true });
    return new Trial(template, folder, env);
  }

  private constructor(template: Template, folder: string, env: Readonly<Record<string, string>>) {
    this.#template = template;
    this.folder = folder;
    this.#env = env;
  }

  /** Where the example agents keep their world. */
  get world(): string {
    return join(this.folder, "world");
  }

  /** Calls a method, and again in the next process when this one dies of it. */
  async call(method: string, params: object): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = {
      "content-type": "application/json",
      "a2a-version": "1.0",
      "a2a-extensions": URI,
      authorization: `Bearer ${this.#template.callerKey}`,
    };
    return this.#insist(async (url) => {
      const response = await fetch(`${url}/v1/a2a/agents/${this.#agent}`, {
        method: "POST",
        headers,
        body,
        signal: AbortSignal.timeout(10_000),
      });
      return (await response.json()) as Answer;
    });
  }

  /** Sends the first message. */
  async send(agent: string, text: string): Promise<Task> {
    this.#agent = agent;
    const message = { messageId: "first", role: "ROLE_USER", parts: [{ text }] };
    const { result } = await this.call("SendMessage", { message, configuration: { returnImmediately: true } });
    return (result as { task: Task }).task;
  }

  /** Answers what is open. The message id follows from the interaction, if none is given: said twice, it is said once. */
  answer(task: Task, answer: object, messageId?: string): Promise<Answer> {
    const open = openIn(task)!;
    const data = { interactionId: open.interactionId, ...answer };
    const message = {
      messageId: messageId ?? `answer to ${open.interactionId}`,
      role: "ROLE_USER",
      taskId: task.id,
      parts: [{ text: "(answered)" }],
      metadata: { [URI]: data },
      extensions: [URI],
    };
    return this.call("SendMessage", { message, configuration: { returnImmediately: true } });
  }

  async get({ id }: Task): Promise<Task> {
    const { result } = await this.call("GetTask", { id });
    return result as Task;
  }

  async lost(): Promise<readonly LostEffect[]> {
    const headers = { authorization: `Bearer ${this.#template.operatorKey}` };
    return this.#insist(async (url) => {
      const response = await fetch(`${url}/v1/operator/effects`, { headers });
      return ((await response.json()) as { effects: readonly LostEffect[] }).effects;
    });
  }

  /** Who has said so once may be told that it is said already. */
  async resolve({ effectId }: LostEffect, resolution: object): Promise<void> {
    const headers = { authorization: `Bearer ${this.#template.operatorKey}`, "content-type": "application/json" };
    await this.#insist(async (url) => {
      const { status } = await fetch(`${url}/v1/operator/effects/${effectId}/resolve`, {
        method: "POST",
        headers,
        body: JSON.stringify(resolution),
      });
      assert.ok(status === 204 || status === 404 || status === 409, String(status));
    });
  }

  /** Kinds of the journal's entries, past all of the Runtime's code. */
  journal(): readonly { readonly kind: string; readonly body: { readonly of?: number; readonly name?: string } }[] {
    using database = new DatabaseSync(join(this.folder, "home", "nylorun.db"), { readOnly: true, timeout: 5000 });
    const rows = database.prepare("SELECT kind, body FROM journal ORDER BY turn, seq").all();
    return rows.map(({ kind, body }) => ({ kind: kind as string, body: JSON.parse(body as string) as object }));
  }

  /** kill -9, from outside. */
  async kill(): Promise<void> {
    await this.#url;
    this.#process?.kill("SIGKILL");
    await this.#ended;
  }

  /** Does it again in the next process when this one is gone. */
  async #insist<Result>(code: (url: string) => Promise<Result>): Promise<Result> {
    for (let tries = 0; tries < 4; tries++) {
      this.#url ??= this.#serve();
      try {
        return await code(await this.#url);
      } catch (error) {
        // Either it is gone, or this is no fault of its.
        const gone = await Promise.race([this.#ended.then(() => true), setTimeout(2000, false)]);
        if (!gone) throw error;
        this.#url = undefined;
      }
    }
    throw new Error("Four processes died of the same.");
  }

  #serve(): Promise<string> {
    const first = this.#process === undefined;
    const child = spawn(process.execPath, ["--import", inject, bin, "serve", agents], {
      env: {
        ...process.env,
        NYLORUN_HOME: join(this.folder, "home"),
        NYLORUN_PORT: "0",
        NYLORUN_LOG_LEVEL: "error",
        EXAMPLES_WORLD: this.world,
        AGENT_PROGRESS_EVENTS_DIR: join(this.folder, "events"),
        ...(first && this.#env),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const said: string[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        said.push(line);
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
        if (found) resolve(found[0]);
      });
    }
    promise.catch(() => undefined);
    this.#ended = once(child, "exit").then(([, signal]) => {
      if (signal === "SIGKILL") this.deaths++;
      this.died.resolve(signal);
      reject(new Error(`It ended before it served:\n${said.join("\n")}`));
    });
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill("SIGKILL");
      await this.#ended;
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

export function openIn(task: Task): OpenInteraction | undefined {
  return task.status.message?.metadata?.[URI] as OpenInteraction | undefined;
}
