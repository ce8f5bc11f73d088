/** A Runtime over real HTTP, and what comes back of it byte by byte: conformance is about what is on the wire. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Agent } from "@nylorun/agents";
import type { ListTasksResponse, Task } from "@nylorun/protocol";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime, RuntimeOptions } from "@nylorun/runtime";

/** What a request was answered with. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
}

/** Of JSON-RPC, or of HTTP. */
export interface Body {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly result?: { readonly [field: string]: unknown };
  readonly error?: { readonly code: number | string; readonly message: string; readonly data?: readonly Detail[] };
}

export interface Detail {
  readonly "@type": string;
  readonly reason?: string;
  readonly domain?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
}

type HeaderMap = Readonly<Record<string, string | undefined>>;

export interface Post {
  /** Undefined leaves a header out. */
  readonly headers?: HeaderMap;
  /** Appended to the agent's address. */
  readonly suffix?: string;
}

export interface Served extends AsyncDisposable {
  readonly runtime: Runtime;
  /** A caller with a new key. */
  as(subject: string): Promise<Wire>;
}

/** Serves in a home of its own, which goes with it. */
export async function serve(options: Partial<RuntimeOptions> & { readonly agents: readonly Agent[] }): Promise<Served> {
  await using resources = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "nylorun-conformance-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const runtime = resources.use(
    await startRuntime({ home: join(folder, "home"), port: 0, logLevel: "silent", stopGraceMs: 0, ...options }),
  );
  const stack = resources.move();
  return {
    runtime,
    as: async (subject) => new Wire(runtime.url, await runtime.addKey({ role: "subject", subject })),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** One caller. */
export class Wire {
  readonly url: string;
  readonly key: string;

  constructor(url: string, key: string) {
    this.url = url;
    this.key = key;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return answerOf(await fetch(this.url + path, { headers, signal: AbortSignal.timeout(30_000) }));
  }

  /** Posts a body as it is. */
  async post(agent: string, body: string, { headers, suffix = "/" }: Post = {}): Promise<Answer> {
    const given = {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${this.key}`,
      ...headers,
    };
    const response = await fetch(`${this.url}/v1/a2a/agents/${agent}${suffix}`, {
      method: "POST",
      headers: Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
      body,
      signal: AbortSignal.timeout(30_000),
    });
    return answerOf(response);
  }

  call(agent: string, method: string, params?: object, post?: Post): Promise<Answer> {
    return this.post(agent, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), post);
  }

  /** Calls, and has a result. */
  async result<Result>(agent: string, method: string, params?: object, post?: Post): Promise<Result> {
    const { text, body } = await this.call(agent, method, params, post);
    if (body.result === undefined) throw new Error(`${method} was answered ${text}`);
    return body.result as Result;
  }

  /** The code that a call is refused with; undefined when it is not. */
  async code(agent: string, method: string, params?: object, post?: Post): Promise<number | string | undefined> {
    return (await this.call(agent, method, params, post)).body.error?.code;
  }

  async send(agent: string, text: string, { message, configuration }: Sending = {}): Promise<Task> {
    const params = { message: messageOf(text, message), ...(configuration && { configuration }) };
    return (await this.result<{ task: Task }>(agent, "SendMessage", params)).task;
  }

  task(agent: string, id: string): Promise<Task> {
    return this.result(agent, "GetTask", { id });
  }

  list(agent: string, params: object = {}): Promise<ListTasksResponse> {
    return this.result(agent, "ListTasks", params);
  }

  /** The task once it is in a state. */
  async until(agent: string, id: string, state: string): Promise<Task> {
    const deadline = performance.now() + 20_000;
    for (;;) {
      const task = await this.task(agent, id);
      if (task.status.state === state) return task;
      if (performance.now() > deadline) throw new Error(`After 20 s the task is ${task.status.state}, not ${state}.`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export interface Sending {
  /** Of the message, beside its text. */
  readonly message?: object;
  readonly configuration?: object;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const body = (isJson ? JSON.parse(text) : {}) as Body;
  return { status: response.status, headers: response.headers, text, body };
}

/** A message that nobody sent before. */
export function messageOf(text: string, more: object = {}): object {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
}

export const AT_ONCE = { returnImmediately: true };
