/** Ways to speak with the server as hosts do: the SDK's clients, over the standard streams of a child process. */
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";

export const COMMAND = fileURLToPath(new URL("../bin/mcp-server.js", import.meta.url));

export interface Connection extends AsyncDisposable {
  readonly pid: number;
  /** What the server has written to standard error. */
  readonly said: () => string;
  request(method: "tools/list" | "tools/call", params?: object): Promise<any>;
  /** What the client took as mistakes of the server. */
  readonly errors: readonly Error[];
  /** Calls a tool, and is told of progress. */
  call(name: string, input?: unknown, onProgress?: (progress: object) => void): Promise<any>;
  /** What the server said of itself in its first answer. */
  readonly server: { readonly name?: unknown; readonly version?: unknown; readonly instructions?: unknown };
}

export type Environment = Readonly<Record<string, string>>;

const INFO = { name: "test", version: "1.0.0" };

function parameters(environment: Environment) {
  return {
    command: process.execPath,
    args: [COMMAND],
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stderr: "pipe" as const,
  };
}

interface Stderr {
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
}

function listen(stderr: Stderr | null): () => string {
  let text = "";
  stderr?.on("data", (chunk) => (text += chunk.toString()));
  return () => text;
}

/** The SDK's client, speaking the protocol of 2025 or that of 2026. */
async function connect2(environment: Environment, mode: "legacy" | { readonly pin: string }): Promise<Connection> {
  const transport = new StdioClientTransport(parameters(environment));
  const said = listen(transport.stderr);
  const client = new Client(INFO, { versionNegotiation: { mode } });
  const errors: Error[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's clients are no event targets
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  const call = (name: string, input?: unknown, onprogress?: (progress: object) => void) =>
    client.callTool(
      { name, ...(input !== undefined && { arguments: input as Record<string, unknown> }) },
      onprogress === undefined ? {} : { onprogress },
    );
  return {
    pid: transport.pid!,
    said,
    errors,
    request: (method, params) =>
      method === "tools/list" ? client.listTools() : client.callTool(params as { name: string }),
    call,
    server: { ...client.getServerVersion(), instructions: client.getInstructions() },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The first generation of the SDK, which most hosts still have. */
async function connect1(environment: Environment): Promise<Connection> {
  const transport = new StdioClientTransport1(parameters(environment));
  const said = listen(transport.stderr);
  const client = new Client1(INFO);
  const errors: Error[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's clients are no event targets
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  return {
    pid: transport.pid!,
    said,
    errors,
    request: (method, params) =>
      method === "tools/list" ? client.listTools() : client.callTool(params as { name: string }),
    call: (name, input, onprogress) =>
      client.callTool(
        { name, ...(input !== undefined && { arguments: input as Record<string, unknown> }) },
        undefined,
        onprogress === undefined ? {} : { onprogress },
      ),
    server: { ...client.getServerVersion(), instructions: client.getInstructions() },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export const CLIENTS: Readonly<Record<string, (environment: Environment) => Promise<Connection>>> = {
  "SDK 2, the protocol of 2026": (environment) => connect2(environment, { pin: "2026-07-28" }),
  "SDK 2, the protocol of 2025": (environment) => connect2(environment, "legacy"),
  "SDK 1": connect1,
};
