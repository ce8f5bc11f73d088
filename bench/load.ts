/**
 * A load of blocking SendMessage calls over keep-alive connections: each connection sends, waits for the whole answer, checks it
 * and sends again. Raw sockets, because an HTTP client costs as much as the servers that are measured here.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Load {
  readonly connections: number;
  /** Stops after this time … */
  readonly milliseconds?: number;
  /** … or after so many requests. */
  readonly requests?: number;
  /** What is sent, and what has to come back. Default: a question, and the whole task with its answer. */
  readonly exchange?: Exchange;
}

export interface Exchange {
  /** The next body to send. */
  readonly body: () => string;
  /** Throws when this is not the answer. */
  readonly check: (body: string) => void;
}

export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** In milliseconds, ascending. */
  readonly latencies: Float64Array;
  /** How much of one core the load itself took: 0-1. */
  readonly ownShare: number;
}

/** @throws When an answer is no completed task with the artifact, or a connection breaks. */
export async function load(target: Target, options: Load): Promise<Round> {
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(target.port)));
  const latencies: number[] = [];
  let left = options.requests ?? Number.POSITIVE_INFINITY;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + (options.milliseconds ?? 60_000);
  const next = (latency: number | undefined): boolean => {
    if (latency !== undefined) latencies.push(latency);
    return performance.now() < end && left-- > 0;
  };
  try {
    const { exchange = { body: question(), check: checkAnswer } } = options;
    await Promise.all(sockets.map((socket) => keepSending(socket, { target, exchange, next })));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    requests: latencies.length,
    seconds,
    perSecond: latencies.length / seconds,
    latencies: Float64Array.from(latencies).toSorted(),
    ownShare: (user + system) / 1e6 / seconds,
  };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}

interface Sending {
  readonly target: Target;
  readonly exchange: Exchange;
  /** Takes a latency; says whether to send another. */
  readonly next: (latency?: number) => boolean;
}

function keepSending(socket: Socket, { target, exchange, next }: Sending): Promise<void> {
  const { path, port, headers = {} } = target;
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    "A2A-Version: 1.0",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Content-Length: ",
  ].join("\r\n");
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let received: Buffer = Buffer.alloc(0);
    const send = () => {
      sentAt = performance.now();
      const body = exchange.body();
      socket.write(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    };
    socket.on("data", (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const body = bodyOf(received);
        if (body === undefined) return;
        received = Buffer.alloc(0);
        const latency = performance.now() - sentAt;
        exchange.check(body);
        if (next(latency)) send();
        else resolve();
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("The server closed the connection.")));
    if (next()) send();
    else resolve();
  });
}

/** All bodies are the same, but for the message id. */
function question(): () => string {
  const id = "0".repeat(36);
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: { messageId: id, role: "ROLE_USER", parts: [{ text: "A question." }] } },
  });
  const [before = "", after = ""] = body.split(id);
  return () => before + randomUUID() + after;
}

/** The body, once all of it is there. */
function bodyOf(received: Buffer): string | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = received.toString("latin1", 0, headEnd);
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`Expected HTTP 200, got:\n${received.toString()}`);
  const start = headEnd + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    return received.length < end ? undefined : received.toString("utf8", start, end);
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`Expected a length or chunks, got:\n${head}`);
  return unchunk(received, start);
}

function unchunk(received: Buffer, start: number): string | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const lineEnd = received.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(received.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (received.length < end) return undefined;
    if (size === 0) return Buffer.concat(chunks).toString();
    chunks.push(received.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}

interface Answer {
  readonly result?: {
    readonly task?: {
      readonly status?: { readonly state?: string };
      readonly artifacts?: readonly { readonly parts?: readonly { readonly text?: string }[] }[];
    };
  };
}

function checkAnswer(body: string): void {
  const task = (JSON.parse(body) as Answer).result?.task;
  if (
    task?.status?.state !== "TASK_STATE_COMPLETED" ||
    task.artifacts?.[0]?.parts?.[0]?.text !== "Here is your answer."
  ) {
    throw new Error(`Expected a completed task with its artifact, got:\n${body}`);
  }
}
