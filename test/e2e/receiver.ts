/**
 * A webhook's receiver, in a process of its own. What it answers, its URL says: `/NAME?do=500,hang,ok` answers the first request with
 * 500, lets the second one hang, and takes all others.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A request as it came. */
export interface Received {
  /** The path, without what it says to do. */
  readonly name: string;
  readonly did: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export class Receiver implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #byName = new Map<string, Received[]>();
  readonly #child: ChildProcess;
  readonly #port: number;
  #heard = Promise.withResolvers<undefined>();

  /** @param port Default: one that is free. */
  static async start(port = 0): Promise<Receiver> {
    const child = fork(import.meta.filename, [String(port)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [message] = (await once(child, "message")) as [{ port: number }];
    return new Receiver(child, message.port);
  }

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
    child.on("message", (received: Received) => {
      this.received.push(received);
      const named = this.#byName.get(received.name);
      if (named === undefined) this.#byName.set(received.name, [received]);
      else named.push(received);
      this.#heard.resolve(undefined);
      this.#heard = Promise.withResolvers();
    });
  }

  get port(): number {
    return this.#port;
  }

  /** @param does What it is to answer, in order; the last one to all others. */
  url(name: string, ...does: string[]): string {
    return `http://127.0.0.1:${this.#port}/${name}${does.length === 0 ? "" : `?do=${does.join(",")}`}`;
  }

  of(name: string): Received[] {
    return [...(this.#byName.get(name) ?? [])];
  }

  /** Resolves with what came under a name, once that is enough. */
  async until(name: string, isEnough: (received: readonly Received[]) => boolean, ms = 20_000): Promise<Received[]> {
    const deadline = AbortSignal.timeout(ms);
    const late = once(deadline, "abort");
    for (;;) {
      const found = this.of(name);
      if (isEnough(found)) return found;
      if (deadline.aborted)
        throw new Error(`After ${ms} ms ${name} has had ${found.length}: ${found.map(wordsOf).join("; ")}.`);
      await Promise.race([this.#heard.promise, late]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}

function wordsOf({ did, body }: Received): string {
  return `${did} ${body.slice(0, 200)}`;
}

/** How many requests came under each path. */
const counts = new Map<string, number>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, "http://receiver");
  const does = url.searchParams.get("do")?.split(",") ?? ["ok"];
  const count = counts.get(url.href) ?? 0;
  counts.set(url.href, count + 1);
  const did = does[Math.min(count, does.length - 1)]!;
  const body = (await buffer(request)).toString();
  process.send!({ name: url.pathname.slice(1), did, headers: request.headers, body });
  const [word = "", argument = ""] = did.split(":");
  switch (word) {
    case "ok":
      response.writeHead(204).end();
      break;
    case "hang":
      break;
    case "close":
      request.socket.destroy();
      break;
    // A status that is none, and then nothing.
    case "broken":
      request.socket.end("HTTP/1.1 2");
      break;
    // Taken, and then the rest does not come.
    case "half":
      response.writeHead(200, { "content-length": "1000" });
      response.write("half");
      setTimeout(() => request.socket.destroy(), 50);
      break;
    case "drip":
      response.writeHead(200);
      setInterval(() => response.write("."), 100).unref();
      break;
    case "moved":
      response.writeHead(301, { location: `/${argument}` }).end();
      break;
    default:
      response.writeHead(Number(word), argument === "" ? {} : { "retry-after": argument }).end();
  }
}

if (process.argv[1] === import.meta.filename) {
  const server = createServer((request, response) => void answer(request, response));
  process.on("disconnect", () => process.exit());
  server.listen(Number(process.argv[2]), "127.0.0.1", () =>
    process.send!({ port: (server.address() as AddressInfo).port }),
  );
}
