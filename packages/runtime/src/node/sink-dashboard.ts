/** Serves the dashboard over the sink of the person at this machine, with no Runtime and nothing that is kept. */
import { randomBytes } from "node:crypto";

import { dayOf, daysBefore, follow, Hub, SinkReader } from "@nylorun/progress";

import { createPassingSessions, SignInLinks } from "../access/sessions.ts";
import { findDashboard } from "./dashboard-files.ts";
import { listen } from "./listener.ts";
import type { Fetch } from "./listener.ts";
import { createLog } from "./log.ts";
import { localSinkFolder } from "./sink.ts";

export interface SinkDashboardOptions {
  /** 0: any that is free. */
  readonly port: number;
}

export interface SinkDashboard extends AsyncDisposable {
  /** An address that signs in, once. */
  readonly link: string;
  /** The folder that it shows. */
  readonly folder: string;
}

/** Only this machine reaches it; but a machine may have several people, so the page wants its link. */
const HOST = "127.0.0.1";
const PERSON = "local";
/** Tasks that are shown, the latest. */
const TASKS = 20_000;

/** @throws RuntimeError `listen.failed`. */
export async function serveSinkDashboard({ port }: SinkDashboardOptions): Promise<SinkDashboard> {
  await using opened = new AsyncDisposableStack();
  const log = createLog("warn");
  const folder = localSinkFolder();
  const key = randomBytes(32).toString("base64url");
  const links = new SignInLinks();
  const stopping = new AbortController();
  const hub = new Hub({ tasksPerSubject: TASKS, tasks: TASKS });
  const app = Promise.withResolvers<Fetch>();
  const listener = await listen({
    host: HOST,
    port,
    fetch: async (request) => (await app.promise)(request),
    maxConnections: 1_000,
    requestTimeoutMs: 120_000,
    ownsProcess: true,
  });
  opened.defer(() => listener.closed(0));
  // Yesterday's, too: what was begun before midnight.
  const reader = opened.use(new SinkReader({ folder, from: daysBefore(dayOf(Date.now()), 1) }));
  const following = followInto(hub, reader, stopping.signal);
  opened.defer(() => following);
  opened.defer(() => stopping.abort());
  const { createSinkApp } = await import("../http/sink-app.ts");
  const { fetch } = createSinkApp({
    hub,
    links,
    sessions: createPassingSessions(),
    files: findDashboard(log),
    authenticate: async ({ headers }) =>
      headers.get("authorization") === `Bearer ${key}` ? { role: "subject", subject: PERSON } : undefined,
    log,
    url: listener.url,
    stopping: stopping.signal,
  });
  app.resolve(fetch);
  const stack = opened.move();
  return {
    link: `${listener.url}/dashboard/#link=${links.make({ subject: key })}`,
    folder,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function followInto(hub: Hub, reader: SinkReader, signal: AbortSignal): Promise<void> {
  for await (const { records } of follow(reader, { signal })) for (const record of records) hub.publish(PERSON, record);
}
