/** The HTTP server: a socket, its timeouts, and how it stops. What requests mean is the app's. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isIPv6 } from "node:net";

import { getRequestListener } from "@hono/node-server";

import { Connections } from "./connections.ts";
import { RuntimeError } from "./errors.ts";

export type Fetch = (request: Request) => Response | Promise<Response>;

export interface Listener {
  /** The address it listens on, without a trailing slash. */
  readonly url: string;
  /** How many are open. */
  readonly connections: number;
  /** Takes no more connections, and closes each one after the answer that is under way. */
  close(): void;
  /** Closes, and resolves when every connection is gone; those that are still there after `graceMs` are cut. */
  closed(graceMs: number): Promise<void>;
}

/** Of a request's headers, in milliseconds: they are short. */
const HEADERS_TIMEOUT = 30_000;
/** How often it is looked which requests take too long, in milliseconds. */
const CHECK_EVERY = 5_000;

/**
 * Listens on an address. Requests wait until `app`, which may depend on the port, is there.
 *
 * @throws RuntimeError `listen.failed`: what is in the way, and what to do.
 */
export async function listen(options: {
  readonly host: string;
  readonly port: number;
  readonly fetch: Fetch;
  readonly maxConnections: number;
  /** How long a request may take to come in, and nothing of an answer be read, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** See RuntimeParts in runtime.ts. */
  readonly ownsProcess: boolean;
}): Promise<Listener> {
  const { host, port, requestTimeoutMs } = options;
  // Answers go out faster when the global Request and Response are the adapter's, but in a program that is not ours they are not
  // ours to replace.
  const answer = getRequestListener(options.fetch, { overrideGlobalObjects: options.ownsProcess });
  const server = createServer(
    {
      // Longer than the idle time of common load balancers (60 s), so that it is they who close a connection.
      keepAliveTimeout: 75_000,
      // For the headers, and for the whole request; how long an answer takes is the app's business (a2aWaitMs).
      headersTimeout: Math.min(HEADERS_TIMEOUT, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(CHECK_EVERY, requestTimeoutMs / 4),
    },
    (incoming, outgoing) => {
      connections.ask(incoming.socket, outgoing);
      void answer(incoming, outgoing);
    },
  );
  const connections = new Connections(options.maxConnections);
  server.on("connection", (socket) => connections.add(socket));
  server.setTimeout(requestTimeoutMs, (socket) => connections.silent(socket));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
  server.removeAllListeners("error");

  const done = Promise.withResolvers<undefined>();
  const close = () => {
    if (!server.listening) return;
    server.close(() => {
      connections[Symbol.dispose]();
      done.resolve(undefined);
    });
    // What is being answered when the server closes would otherwise keep its connection for the next request.
    server.keepAliveTimeout = 1;
  };
  return {
    url: urlOf(server, host),
    get connections() {
      return connections.size;
    },
    close,
    async closed(graceMs) {
      close();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await done.promise;
      clearTimeout(timer);
    },
  };
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): RuntimeError {
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} on ${host} is taken by another program. Stop that one, or choose another port with --port.`,
    EACCES: `This user may not listen on port ${port}. Choose one from 1024 on with --port.`,
    EADDRNOTAVAIL: `${host} is no address of this machine. Choose another one with --host.`,
    ENOTFOUND: `The host name ${host} is not known. Choose another one with --host.`,
  };
  const message = why[error.code ?? ""] ?? `Nothing can listen on port ${port} of ${host}: ${error.message}.`;
  return new RuntimeError("listen.failed", message, { cause: error });
}
