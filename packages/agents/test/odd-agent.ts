/** An agent on a real socket that misbehaves as a test says: each request is answered by the test's own code. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { Task } from "@nylorun/protocol";

export interface Asked {
  readonly method: string;
  readonly params: any;
  readonly id: unknown;
  readonly headers: IncomingMessage["headers"];
  readonly path: string;
}

/** Answers one JSON-RPC request, by `result`, `error` or in its own way. */
export type Answer = (asked: Asked, response: ServerResponse) => unknown;

export class OddAgent implements AsyncDisposable {
  readonly url: string;
  /** Every JSON-RPC request so far. */
  readonly asked: Asked[] = [];
  /** The `If-None-Match` of each time that the card was read. */
  readonly cardEtags: (string | undefined)[] = [];
  /** What the card says beside the usual. */
  card: object = {};
  cardHeaders: Record<string, string> = {};
  answer: Answer;
  readonly #server: Server;

  private constructor(server: Server, answer: Answer) {
    this.#server = server;
    this.answer = answer;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  static async start(answer: Answer): Promise<OddAgent> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new OddAgent(server, answer);
  }

  /** How often a method was called. */
  times(method: string): number {
    return this.asked.filter((asked) => asked.method === method).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      this.cardEtags.push(request.headers["if-none-match"]);
      if (request.url !== "/.well-known/agent-card.json") {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { "content-type": "application/json", ...this.cardHeaders });
      response.end(JSON.stringify({ ...usualCard(this.url), ...this.card }));
      return;
    }
    const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const asked = { id, method, params, headers: request.headers, path: request.url! };
    this.asked.push(asked);
    await this.answer(asked, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

export function usualCard(url: string) {
  return {
    name: "Odd",
    description: "For a test.",
    version: "1.0.0",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  };
}

/** What a card declares whose agent keeps to the profile. */
export const PROFILED = {
  capabilities: {
    streaming: false,
    extensions: [{ uri: "https://docs.nylorun.com/a2a/interactions/v1", required: false }],
  },
};

export function result(asked: Asked, response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: value }));
}

export function failure(asked: Asked, response: ServerResponse, error: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, error }));
}

export function taskIn(state: Task["status"]["state"], more: Partial<Task> = {}): Task {
  return { id: "t1", contextId: "c1", status: { state, timestamp: "2026-10-14T02:00:00.000Z" }, ...more };
}

/** Answers as a good agent would: a task that is done at the first look. */
export const good: Answer = (asked, response) => {
  if (asked.method === "SendMessage") result(asked, response, { task: taskIn("TASK_STATE_WORKING") });
  else {
    result(
      asked,
      response,
      taskIn("TASK_STATE_COMPLETED", { artifacts: [{ artifactId: "output", parts: [{ text: "Good." }] }] }),
    );
  }
};
