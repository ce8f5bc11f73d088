/** The dashboard over one person's sink alone: the page, its sign-in, and the progress that it shows. There is nothing to steer. */
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import { refuse, Refused } from "./answer.ts";
import type { App } from "./app.ts";
import { createDashboardRoutes } from "./dashboard.ts";
import type { DashboardOptions } from "./dashboard.ts";
import { logFailure } from "./failure-log.ts";
import type { Log } from "./failure-log.ts";
import { createHostCheck, hostOf } from "./hosts.ts";
import { createLimits } from "./limits.ts";
import { createProgressRoutes } from "./progress.ts";
import type { Progress } from "./progress.ts";
import { internal, noSuchPath, unauthenticated, wrongHost, wrongMethod } from "./refusals.ts";
import { SessionCookie, withSessions } from "./session.ts";

export interface SinkAppOptions extends DashboardOptions {
  readonly hub: Progress["hub"];
  readonly authenticate: Authenticate;
  readonly log: Log;
  /** Where the person finds it. */
  readonly url: string;
  /** Ends streams. */
  readonly stopping: AbortSignal;
}

/** Reports are not taken here, so nothing larger than a sign-in comes in. In bytes. */
const BODY = 16 * 1024;

export function createSinkApp(options: SinkAppOptions): Pick<App, "fetch"> {
  const { hub, authenticate: byHeader, log, url, stopping, ...dashboard } = options;
  const cookie = new SessionCookie(url);
  const authenticate = withSessions({ ...dashboard, authenticate: byHeader, cookie });
  const limits = createLimits({ subjectRequestsPerSecond: 0, subjectOpenWaits: 1_000, bodyBytes: BODY });
  // What is in the sink is in the hub; who reports writes to the sink.
  const progress: Progress = {
    hub,
    report: () => Promise.reject(new Error("Reports go to the sink.")),
    recall: () => Promise.resolve(),
  };
  const routes = new Hono()
    .use("/v1/progress/*", async (c, next) => {
      if (c.req.method !== "GET" && c.req.method !== "HEAD") return refuse(wrongMethod(c.req.method, "GET, HEAD"));
      await next();
      return undefined;
    })
    .route("/", createProgressRoutes({ progress, authenticate, unauthenticated, limits, bodyBytes: BODY, stopping }))
    .route("/", createDashboardRoutes({ ...dashboard, cookie, facts: { agents: false }, authenticate: byHeader }))
    .get("/", () => new Response(null, { status: 302, headers: { Location: "dashboard/" } }))
    .notFound(() => refuse(noSuchPath))
    .onError((error, c) => {
      if (error instanceof Refused) return refuse(error.refusal);
      return refuse(internal(logFailure(log, error, { headers: c.req.raw.headers, fields: { path: c.req.path } })));
    });
  const { hostname } = new URL(url);
  const isAnswered = createHostCheck({ host: hostname, publicUrl: url, allowedHosts: [] });
  return {
    fetch: (request) => (isAnswered(request.url) ? routes.fetch(request) : refuse(wrongHost(hostOf(request.url)))),
  };
}
