/** A plain round-robin proxy: each request goes to the next of its targets, and on to another one when nobody listens there. */
import { once } from "node:events";
import { Agent, createServer, request as forward } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** Where requests go from now on, such as `http://127.0.0.1:1234`. */
  targets: readonly string[];
}

export async function startRoundRobin(): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const pass = (request: IncomingMessage, response: ServerResponse, body: Buffer, tries: number) => {
    const { targets } = proxy;
    const target = targets[turn++ % targets.length];
    if (target === undefined || tries === 0) return void response.writeHead(502).end();
    const outgoing = forward(new URL(request.url!, target), {
      agent,
      method: request.method!,
      headers: request.headers,
    });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      // Nobody was asked: another one may be. Whoever was asked and died may have done it.
      if (error.code === "ECONNREFUSED") return pass(request, response, body, tries - 1);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
    response.on("close", () => outgoing.destroy());
    outgoing.end(body);
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => pass(request, response, Buffer.concat(parts), proxy.targets.length));
    request.on("error", () => response.destroy());
  });
  // A caller may send on a connection just as it is closed for having been silent, and cannot know whether that was heard.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: RoundRobin = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets: [],
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await once(server, "close");
    },
  };
  return proxy;
}
