/** The routes of the Runtime, as one function from Request to Response. Nothing in here knows sockets or SQL. */
import type { Agent } from "@nylorun/agents";
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import type { CardKeys } from "../access/card-keys.ts";
import type { KeptFiles } from "../files/kept.ts";
import type { FileLinks } from "../files/links.ts";
import { createLinksOf } from "../files/task-links.ts";
import { publicKeysOf, WEBHOOK_KEYS } from "../push/keys.ts";
import type { Push } from "../push/push.ts";
import type { Store } from "../store/store.ts";
import type { Engine } from "../turn/engine.ts";
import type { Tracer } from "../turn/ports.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { createA2aEndpoint } from "./a2a.ts";
import { createAgentRoutes } from "./agents.ts";
import { jsonText, refuse, Refused } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import { CARD_KEYS } from "./card.ts";
import type { CardSecurity, CardSettings } from "./card.ts";
import { withCors } from "./cors.ts";
import { createDashboardRoutes } from "./dashboard.ts";
import type { DashboardOptions } from "./dashboard.ts";
import { logFailure } from "./failure-log.ts";
import type { Log } from "./failure-log.ts";
import { createFileRoutes } from "./files.ts";
import { createHostCheck, hostOf } from "./hosts.ts";
import type { HostSettings } from "./hosts.ts";
import { createLimits } from "./limits.ts";
import type { LimitSettings } from "./limits.ts";
import { createMethods } from "./methods.ts";
import type { Metrics } from "./metrics.ts";
import type { Operations } from "./operations.ts";
import { createOperatorRoutes } from "./operator.ts";
import { createProgressRoutes } from "./progress.ts";
import type { Progress } from "./progress.ts";
import {
  internal,
  noOperator,
  noSuchPath,
  stopping,
  storeDown,
  storeFull,
  laterRefusal,
  unauthenticated as keyNeeded,
  wrongHost,
  wrongMethod,
} from "./refusals.ts";
import { SessionCookie, withSessions } from "./session.ts";
import { createUsageRoutes } from "./usage.ts";

export interface AppSettings extends HostSettings, LimitSettings, CardSettings {
  /** Whose card the server's own well-known path is. Default: the only agent's, if there is one only. */
  readonly defaultAgent: string | undefined;
  /** How long a blocking SendMessage waits, in milliseconds. */
  readonly a2aWaitMs: number;
  /** The origins whose pages may call. */
  readonly corsOrigins: readonly string[];
  /** Where the dashboard's people look at traces. */
  readonly traceUrl: string | undefined;
}

/** Who may come in. */
export interface Access {
  readonly authenticate: Authenticate;
  /** What those are answered who may not. Default: that they need a key of the Runtime's. */
  readonly unauthenticated?: Refusal;
  /** See {@link CardSettings}. */
  readonly security?: CardSecurity;
}

export interface AppOptions {
  readonly engine: Engine;
  readonly store: Store;
  readonly agents: readonly Agent[];
  readonly taskIds: TaskIds;
  readonly files: KeptFiles;
  /** To files. */
  readonly links: FileLinks;
  readonly progress: Progress;
  readonly operations: Operations;
  readonly tracer: Tracer;
  readonly access: Access;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Whether the disk has room for what is new. */
  readonly disk: { readonly isThere: boolean };
  readonly settings: AppSettings;
  /** Default: there is none, and a cookie is no credential. */
  readonly dashboard?: DashboardOptions | undefined;
  /** What cards are signed with. Default: they are not. */
  readonly cardKeys?: CardKeys | undefined;
  /** Default: nothing is pushed. */
  readonly push?: Push | undefined;
  /** Aborted when the Runtime stops: calls that wait are answered with the task as it is. */
  readonly stopping: AbortSignal;
}

export interface App {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** What is served, as `GET /v1/agents`: nothing is served that is not here. */
  readonly routes: readonly string[];
}

const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
/** What nearly every request is for. To find the way there costs a fifth of an answer where a router does it. */
const AGENT_URL = /^https?:\/\/[^/]+\/v1\/a2a\/agents\/([a-z0-9-]+)\/?$/;

export async function createApp({ access, ...given }: AppOptions): Promise<App> {
  const { authenticate: byHeader, unauthenticated = keyNeeded, security } = access;
  const { store, taskIds, agents, log, metrics, settings, cardKeys, dashboard, push, links } = given;
  const { publicUrl } = settings;
  const cookie = new SessionCookie(publicUrl);
  const byAny = dashboard === undefined ? byHeader : withSessions({ ...dashboard, authenticate: byHeader, cookie });
  const failures = metrics.counter(
    "nylorun_authentication_failures_total",
    "Requests, and sign-ins, whose credentials were none or nobody's.",
  );
  failures({}, 0);
  const onStranger = () => failures({});
  const authenticate: Authenticate = async (request) => {
    const principal = await byAny(request);
    if (principal === undefined) onStranger();
    return principal;
  };
  const options = { ...given, authenticate, unauthenticated };
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const publicKeys = JSON.stringify(cardKeys?.jwks ?? { keys: [] });
  const limits = createLimits(settings);
  metrics.gauge("nylorun_waits", "Blocking calls and event streams that wait.", () => [{ value: limits.waits }]);
  const count = metrics.counter("nylorun_calls_total", "A2A calls, by method and by how they were answered.");
  const linksOf = createLinksOf(links, taskIds);
  const run = createMethods({
    ...options,
    push,
    linksOf,
    publicUrl,
    limits,
    waitMs: settings.a2aWaitMs,
  });
  const a2a = createA2aEndpoint({
    agents: byId,
    authenticate,
    unauthenticated,
    run,
    log,
    limits,
    count,
    bodyBytes: settings.bodyBytes,
  });
  const cardSettings = { ...settings, security, pushes: push !== undefined };
  const agentRoutes = await createAgentRoutes({ ...options, settings: cardSettings, limits, since: store.now() });

  const facts = { agents: true, traceUrl: settings.traceUrl };
  const dashboardRoutes = (page: DashboardOptions) =>
    createDashboardRoutes({ ...page, cookie, facts, authenticate: byHeader, onStranger });

  const agentPath = "/v1/a2a/agents/:agent";
  const routes = new Hono()
    .on("POST", [agentPath, `${agentPath}/`], (c) => a2a(c.req.raw, c.req.param("agent")))
    .route("/", agentRoutes)
    .get(CARD_KEYS, () => jsonText(publicKeys))
    .get(WEBHOOK_KEYS, async () => jsonText(JSON.stringify(publicKeysOf((await push?.keys.current()) ?? []))))
    .route("/", createFileRoutes({ links, files: options.files, taskIds }))
    .route("/", createProgressRoutes({ ...options, limits, bodyBytes: settings.bodyBytes }))
    .route("/", createUsageRoutes({ ...options, limits }))
    .route("/", createOperatorRoutes({ ...options, bodyBytes: settings.bodyBytes }))
    .get("/metrics", async (c) => {
      const principal = await authenticate(c.req.raw);
      if (principal === undefined) return refuse(unauthenticated);
      if (principal.role !== "operator") return refuse(noOperator);
      return new Response(await metrics.text(), {
        headers: { "Content-Type": PROMETHEUS, "Cache-Control": "no-store" },
      });
    })
    .get("/health", () => jsonText('{"status":"ok"}'))
    .get("/ready", async () => {
      if (options.stopping.aborted) return refuse(stopping);
      try {
        await store.nextDue();
      } catch (error) {
        log.error({ error }, "The store does not answer.");
        return refuse(storeDown);
      }
      if (!options.disk.isThere) return refuse(storeFull);
      return jsonText('{"status":"ready"}');
    })
    .route("/", dashboard === undefined ? new Hono() : dashboardRoutes(dashboard))
    .notFound((c) => others.fetch(c.req.raw))
    .onError((error, c) => {
      if (error instanceof Refused) return refuse(error.refusal);
      const refusal = laterRefusal(error);
      if (refusal !== undefined) return refuse(refusal);
      return refuse(internal(logFailure(log, error, { headers: c.req.raw.headers, fields: { path: c.req.path } })));
    });

  // Apart from the routes, so that the way to a route is no longer for it.
  const others = new Hono().notFound(() => refuse(noSuchPath));
  for (const [path, methods] of Map.groupBy(routes.routes, (route) => route.path)) {
    const allowed = methods.map(({ method }) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
    others.all(path, (c) => refuse(wrongMethod(c.req.method, allowed)));
  }

  const isAnswered = createHostCheck(settings);
  const answer = withCors((request) => {
    const agent = request.method === "POST" ? AGENT_URL.exec(request.url)?.[1] : undefined;
    return agent === undefined ? routes.fetch(request) : a2a(request, agent);
  }, settings.corsOrigins);
  return {
    fetch: (request) => (isAnswered(request.url) ? answer(request) : refuse(wrongHost(hostOf(request.url)))),
    routes: routes.routes.map(({ method, path }) => `${method} ${path}`),
  };
}
