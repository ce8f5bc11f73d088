/**
 * How commands reach the process that serves their home: HTTP over a Unix socket (0600) in the home (0700), or a named pipe on
 * Windows. Who may open it is who may read the database, so there is nothing to authenticate.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";

import { jsonText, refuse } from "../http/answer.ts";
import { logFailure } from "../http/failure-log.ts";
import type { Log } from "../http/failure-log.ts";
import type { Operations } from "../http/operations.ts";
import { createHomeRoutes, createKeyRoutes, createOperatorRoutes } from "../http/operator.ts";
import { internal, noSuchPath, laterRefusal } from "../http/refusals.ts";
import { RuntimeError } from "./errors.ts";
import type { Home } from "./home.ts";

/** Bytes that a socket's path may have on every system; Linux allows 107, macOS 103. */
const LONGEST_PATH = 100;

export interface ControlOptions {
  readonly home: Home;
  readonly operations: Operations;
  readonly log: Log;
  /** Where the process serves agents. */
  readonly url: string;
  /** Of a body, in bytes. */
  readonly bodyBytes: number;
}

/** What a serving process says of itself. */
export interface ServingProcess {
  readonly pid: number;
  readonly url: string;
}

/** Takes commands until it is disposed of. Afterwards, and after kill -9, the next one takes over the socket's name. */
export async function serveControl({ home, log, url, ...options }: ControlOptions): Promise<AsyncDisposable> {
  const { path, folder } = placeSocket(home.folder);
  const self: ServingProcess = { pid: process.pid, url };
  const routes = new Hono()
    .get("/v1/operator/process", () => jsonText(JSON.stringify(self)))
    .route("/", createKeyRoutes(options))
    .route("/", createHomeRoutes(options))
    .route("/", createOperatorRoutes(options))
    .notFound(() => refuse(noSuchPath))
    .onError((error, c) => {
      const refusal = laterRefusal(error);
      if (refusal !== undefined) return refuse(refusal);
      const { headers } = c.req.raw;
      return refuse(internal(logFailure(log, error, { headers, fields: { command: c.req.path } })));
    });
  const answer = getRequestListener(routes.fetch, { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  }).catch((error: unknown) => {
    const why = (error as Error).message;
    throw new RuntimeError("home.unusable", `No socket can be made at ${path}: ${why}.`, { cause: error });
  });
  if (process.platform !== "win32") chmodSync(path, 0o600);
  home.announce(path);
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      // A command is done in no time; one that hangs does not keep the process.
      const timer = setTimeout(() => server.closeAllConnections(), 1_000);
      await closed;
      clearTimeout(timer);
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** In the home; when the home's path is too long for a socket, in a private folder of its own. */
function placeSocket(home: string): { readonly path: string; readonly folder?: string } {
  if (process.platform === "win32") return { path: `\\\\.\\pipe\\nylorun-${randomUUID()}` };
  const path = join(home, "control.sock");
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path };
  const folder = mkdtempSync(join(tmpdir(), "nylorun-"));
  return { path: join(folder, "control.sock"), folder };
}
