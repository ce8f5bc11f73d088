/**
 * The routes over a real engine and a real store, in a home of their own, without a socket. Who calls is what the bearer token
 * says: a subject by name, or `operator`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { defineAgent } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";
import type { ErrorInfo, FieldViolation, ListTasksResponse, Message, Task } from "@nylorun/protocol";

import type { Authenticate } from "../../src/access/api-keys.ts";
import { createApp } from "../../src/http/app.ts";
import type { App, AppOptions } from "../../src/http/app.ts";
import { openCore } from "../../src/node/core.ts";
import type { Core } from "../../src/node/core.ts";
import { linksTo } from "../../src/node/files.ts";
import { takeHome } from "../../src/node/home.ts";
import { checkSettings } from "../../src/node/setting-sources.ts";
import type { SomeSettings } from "../../src/node/settings.ts";

export const BASE = "http://127.0.0.1:6956";

/** What a JSON-RPC call came to. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly id?: unknown;
    readonly result?: unknown;
    readonly error?: {
      readonly code: number | string;
      readonly message: string;
      readonly data?: readonly [ErrorInfo, ...{ readonly fieldViolations: readonly FieldViolation[] }[]];
    };
  };
}

export interface Post {
  readonly as?: string | undefined;
  readonly agent?: string;
  /** Undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

export class Served implements AsyncDisposable {
  readonly core: Core;
  readonly app: App;
  readonly log: object[];
  /** Its home. */
  readonly folder: string;
  readonly #stopping: AbortController;
  readonly #resources: AsyncDisposableStack;

  constructor(parts: {
    core: Core;
    app: App;
    log: object[];
    folder: string;
    stopping: AbortController;
    resources: AsyncDisposableStack;
  }) {
    this.core = parts.core;
    this.app = parts.app;
    this.log = parts.log;
    this.folder = parts.folder;
    this.#stopping = parts.stopping;
    this.#resources = parts.resources;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.app.fetch(new Request(`${BASE}${path}`, { headers }));
  }

  /** Posts a body as it is. */
  async fetch(body: BodyInit | null, { as = "ada", agent = "echo", headers, signal }: Post = {}): Promise<Response> {
    const given = {
      "content-type": "application/json",
      "a2a-version": "1.0",
      authorization: `Bearer ${as}`,
      ...headers,
    };
    return this.app.fetch(
      new Request(`${BASE}/v1/a2a/agents/${agent}`, {
        method: "POST",
        headers: Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
        body,
        ...(signal && { signal }),
      }),
    );
  }

  async post(body: BodyInit | null, options?: Post): Promise<Answer> {
    const response = await this.fetch(body, options);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
  }

  call(method: string, params?: unknown, options?: Post): Promise<Answer> {
    return this.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), options);
  }

  /** Calls, and has a result. */
  async result<Result>(method: string, params?: unknown, options?: Post): Promise<Result> {
    const { body } = await this.call(method, params, options);
    if (body.result === undefined) throw new Error(`${method} was answered ${JSON.stringify(body)}`);
    return body.result as Result;
  }

  async send(message: Partial<Message>, options: Post & { readonly configuration?: object } = {}): Promise<Task> {
    const params = { message: hello(message), configuration: options.configuration };
    return (await this.result<{ task: Task }>("SendMessage", params, options)).task;
  }

  list(params: object = {}, options?: Post): Promise<ListTasksResponse> {
    return this.result("ListTasks", params, options);
  }

  /** What the Runtime does first when it stops. */
  stop(): void {
    this.#stopping.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

let messages = 0;

/** A message that nobody sent before. */
export function hello(message: Partial<Message> = {}): object {
  return { messageId: `m-${++messages}`, role: "ROLE_USER", parts: [{ text: "Hello" }], ...message };
}

export interface ServeOptions {
  /** A home that stays. Default: one of its own. */
  readonly home?: string;
  readonly agents?: readonly Agent[];
  readonly settings?: SomeSettings;
  /** What the routes are given in place of what the core has. */
  readonly instead?: (
    core: Core,
  ) => Partial<AppOptions["access"]> &
    Partial<Pick<AppOptions, "engine" | "store" | "cardKeys" | "dashboard" | "push">>;
}

export async function serve({
  agents = [echo],
  settings: some,
  instead,
  home: given,
}: ServeOptions = {}): Promise<Served> {
  await using resources = new AsyncDisposableStack();
  const folder = given ?? mkdtempSync(join(tmpdir(), "nylorun-http-"));
  if (given === undefined) resources.defer(() => rmSync(folder, { recursive: true }));
  const log: object[] = [];
  const silent = () => {};
  const logger = { debug: silent, info: silent, warn: silent, error: (fields: object) => void log.push(fields) };
  const settings = checkSettings({ home: folder, stopGraceMs: 0, ...some }, folder);
  const home = resources.use(await takeHome(folder, { purpose: "serve", patienceMs: 0 }));
  const core = resources.use(await openCore({ home, settings, agents, log: logger }));
  const stopping = new AbortController();
  const { authenticate = byName, unauthenticated, security, ...rest } = instead?.(core) ?? {};
  const access = { ...(unauthenticated && { unauthenticated }), ...(security && { security }) };
  const app = await createApp({
    ...core,
    access: { authenticate, ...access },
    log: logger,
    links: linksTo(settings.publicUrl ?? BASE, core.store, settings),
    settings: { ...settings, publicUrl: settings.publicUrl ?? BASE },
    stopping: stopping.signal,
    ...rest,
  });
  await core.engine.start();
  resources.defer(() => core.engine.stop({ graceMs: 0 }));
  return new Served({ core, app, log, folder, stopping, resources: resources.move() });
}

const byName: Authenticate = async ({ headers }) => {
  const name = /^Bearer (\S+)$/.exec(headers.get("authorization") ?? "")?.[1];
  if (name === undefined) return undefined;
  return name === "operator" ? { role: "operator" } : { role: "subject", subject: name };
};

/** An agent with everything but what it does. */
export function makeAgent(id: string, run: AgentDefinition["run"], rest: Partial<AgentDefinition> = {}): Agent {
  return defineAgent({
    id,
    name: `The ${id}`,
    description: "For tests.",
    version: "1.0.0",
    skills: [{ id, name: id, description: "For tests.", tags: ["test"] }],
    run,
    ...rest,
  });
}

export const echo: Agent = makeAgent("echo", (turn) => turn.text);
