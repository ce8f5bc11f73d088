/** A Runtime that serves agents of a test, and callers of it: each a subject with a key of its own, over the wire. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { defineAgent } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";
import type { JsonRpcError, ListTasksResponse, Message, Task } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime, RuntimeOptions } from "@nylorun/runtime";

import { databaseUrl, many, newSchema } from "../cluster/nodes.ts";
import { startRoundRobin } from "../postgres/round-robin.ts";

/** An agent with everything but what it does. */
export function makeAgent(id: string, run: AgentDefinition["run"]): Agent {
  const skills = [{ id, name: id, description: "For a test.", tags: ["test"] }];
  return defineAgent({ id, name: `The ${id}`, description: "For a test.", version: "1.0.0", skills, run });
}

type ServeOptions = Partial<RuntimeOptions> & Pick<RuntimeOptions, "agents">;

/** Serves in a home of its own, which goes with it; or on many nodes, which the test cannot tell from one: see {@link serveMany}. */
export async function serve(options: ServeOptions) {
  await using resources = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "nylorun-e2e-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const runtime =
    databaseUrl === undefined
      ? resources.use(
          await startRuntime({ home: join(folder, "home"), port: 0, logLevel: "silent", stopGraceMs: 0, ...options }),
        )
      : await serveMany({ resources, folder, databaseUrl, options });
  const stack = resources.move();
  return {
    runtime,
    /** A caller with a new key. */
    as: async (subject: string) => new Caller(runtime, await runtime.addKey({ role: "subject", subject })),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What test/cluster names a database for: nodes that share it, all in this process, behind a plain round-robin proxy. */
async function serveMany(parts: {
  readonly resources: AsyncDisposableStack;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly options: ServeOptions;
}): Promise<Pick<Runtime, "url" | "addKey">> {
  const { resources, folder, options } = parts;
  const proxy = resources.use(await startRoundRobin());
  const shared = {
    port: 0,
    logLevel: "silent",
    stopGraceMs: 0,
    databaseUrl: parts.databaseUrl,
    databaseSchema: newSchema(),
    databaseConnections: 5,
    publicUrl: proxy.url,
    fileFolder: join(folder, "files"),
    ...options,
  } as const;
  const nodes: Runtime[] = [];
  for (let n = 0; n < many; n++)
    nodes.push(resources.use(await startRuntime({ ...shared, home: join(folder, `node-${n}`) })));
  proxy.targets = nodes.map(({ url }) => url);
  return { url: proxy.url, addKey: (holder) => nodes[0]!.addKey(holder) };
}

export interface Options {
  readonly signal?: AbortSignal;
  /** URIs to activate. */
  readonly extensions?: string;
}

export interface Sending extends Options {
  /** Of the message, beside its text. */
  readonly message?: Partial<Message>;
  readonly configuration?: object;
}

/** Of JSON-RPC. */
export interface Answer {
  readonly result?: unknown;
  readonly error?: JsonRpcError;
}

/** One subject, at one Runtime. */
export class Caller {
  readonly #runtime: Pick<Runtime, "url">;
  readonly key: string;

  constructor(runtime: Pick<Runtime, "url">, key: string) {
    this.#runtime = runtime;
    this.key = key;
  }

  async call(agent: string, method: string, params: object, { signal, extensions }: Options = {}): Promise<Answer> {
    const response = await fetch(`${this.#runtime.url}/v1/a2a/agents/${agent}/`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        authorization: `Bearer ${this.key}`,
        ...(extensions !== undefined && { "a2a-extensions": extensions }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: signal ?? AbortSignal.timeout(30_000),
    });
    return (await response.json()) as Answer;
  }

  /** Calls, and has a result. */
  async result<Result>(agent: string, method: string, params: object, options?: Options): Promise<Result> {
    const { result, error } = await this.call(agent, method, params, options);
    if (result === undefined) throw new Error(`${method} was answered ${JSON.stringify(error)}`);
    return result as Result;
  }

  /** The code that a call is refused with. */
  async refusal(agent: string, method: string, params: object, options?: Options): Promise<number | undefined> {
    return (await this.call(agent, method, params, options)).error?.code;
  }

  async send(agent: string, text: string, { message, configuration, ...options }: Sending = {}): Promise<Task> {
    const params = { message: messageOf(text, message), configuration };
    return (await this.result<{ task: Task }>(agent, "SendMessage", params, options)).task;
  }

  get(agent: string, id: string, options?: Options): Promise<Task> {
    return this.result(agent, "GetTask", { id }, options);
  }

  list(agent: string, params: object = {}): Promise<ListTasksResponse> {
    return this.result(agent, "ListTasks", params);
  }

  /** The task once it is in a state. */
  async until(agent: string, id: string, state: string): Promise<Task> {
    const deadline = performance.now() + 10_000;
    for (;;) {
      const task = await this.get(agent, id);
      if (task.status.state === state) return task;
      if (performance.now() > deadline) throw new Error(`After 10 s the task is ${task.status.state}, not ${state}.`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** A message that nobody sent before. */
export function messageOf(text: string, more: Partial<Message> = {}): Message {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
}

export const atOnce = { configuration: { returnImmediately: true } };
