/** The composition root: a home, a store, an engine, an app and a socket, started in that order and stopped in the other. */
import { readFile } from "node:fs/promises";

import type { Agent } from "@nylorun/agents";
import type { Sink } from "@nylorun/progress";

import { authenticateByApiKey } from "../access/api-keys.ts";
import type { Authenticate } from "../access/api-keys.ts";
import type { CardKeys } from "../access/card-keys.ts";
import { createSessions, SignInLinks } from "../access/sessions.ts";
import type { Credentials } from "../access/sessions.ts";
import { startCollector } from "../files/collector.ts";
import { createLinksOf } from "../files/task-links.ts";
import type { Access } from "../http/app.ts";
import type { Metrics } from "../http/metrics.ts";
import { takeOutGarbage } from "../store/garbage.ts";
import type { KeyHolder, Store } from "../store/store.ts";
import type { Tracer } from "../turn/ports.ts";
import { checkAgents } from "./agents.ts";
import { withAudit } from "./audit.ts";
import { serveControl } from "./control.ts";
import { openCore } from "./core.ts";
import type { Core } from "./core.ts";
import { findDashboard } from "./dashboard-files.ts";
import { RuntimeError } from "./errors.ts";
import { linksTo } from "./files.ts";
import { addGauges } from "./gauges.ts";
import { takeHome } from "./home.ts";
import { listen } from "./listener.ts";
import type { Fetch } from "./listener.ts";
import { createLog } from "./log.ts";
import type { Log } from "./log.ts";
import { findMeter } from "./metering.ts";
import { ownAccess } from "./own-access.ts";
import type { OwnAccessOptions } from "./own-access.ts";
import { openPush } from "./push.ts";
import { startRetention } from "./retention.ts";
import { checkSettings } from "./setting-sources.ts";
import type { Settings, SomeSettings } from "./settings.ts";
import { nearest } from "./spelling.ts";
import { findTracer } from "./tracing.ts";
import { hearRejections } from "./unheard.ts";

export interface RuntimeOptions extends SomeSettings, OwnAccessOptions {
  /** What is served; each with an id of its own. */
  readonly agents: readonly Agent[];
}

/** A Runtime that serves. */
export interface Runtime extends AsyncDisposable {
  /** The address it listens on, such as `http://127.0.0.1:6956`. */
  readonly url: string;
  /** The folder of its home, absolute. */
  readonly home: string;
  readonly agents: readonly Agent[];
  /**
   * Makes an API key. The text returned is the only copy there is.
   *
   * @throws AccessError `subject.invalid`.
   */
  addKey(holder: KeyHolder): Promise<string>;
  /**
   * The address of the dashboard with a sign-in in it that works once, within a day.
   *
   * @param credentials Keys or tokens that the Runtime takes: a subject's, an operator's, or both.
   */
  dashboardLink(credentials: Credentials): string;
  /**
   * Takes no new work, gives running turns `stopGraceMs` to end, and resolves when everything is closed. What is not done
   * is resumed by the next Runtime on the same home. Any number of calls stop it once.
   */
  stop(): Promise<void>;
}

/** How long a process that just ended may take to let go of the home, in milliseconds. */
const HOME_PATIENCE = 1_000;
/** How long the answers of calls that were waiting may take to go out at the end, in milliseconds. */
const LAST_WORDS = 1_000;

/**
 * Serves agents from within your own program. Settings are options here; the environment and the config file are not read. If the
 * program has registered an OpenTelemetry SDK by then, turns are traced.
 *
 * @throws RuntimeError, StoreError: why it cannot start. Nothing is left open then.
 */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { agents, authenticate, securitySchemes, securityRequirements, challenge, ...given } = options;
  const access = ownAccess({ authenticate, securitySchemes, securityRequirements, challenge });
  const settings = checkSettings(given, process.cwd());
  checkAgents(agents);
  const log = createLog(settings.logLevel);
  const tracer = await findTracer();
  return openRuntime({ settings, agents, access, log, tracer, meter: findMeter, ownsProcess: false });
}

export interface RuntimeParts {
  readonly settings: Settings;
  readonly agents: readonly Agent[] | Promise<readonly Agent[]>;
  /** Default: by key, and by the tokens of whom the operator trusts. */
  readonly access?: Access | undefined;
  readonly log: Log;
  /** See {@link CoreOptions.sink}. */
  readonly sink?: Sink | undefined;
  readonly tracer: Tracer;
  /** Sends figures to wherever they are wanted beside the Runtime's own page of them. Default: nowhere. */
  readonly meter?: ((metrics: Metrics) => Promise<AsyncDisposable>) | undefined;
  /** Nothing else runs in this process, so its globals may be suited to serving. */
  readonly ownsProcess: boolean;
}

export async function openRuntime(options: RuntimeParts): Promise<Runtime> {
  const { settings, log } = options;
  checkPublicUrl(settings);
  checkProvider(settings);
  await using opened = new AsyncDisposableStack();
  opened.use(hearRejections());
  const home = opened.use(await takeHome(settings.home, { purpose: "serve", patienceMs: HOME_PATIENCE }));
  // The app's modules load while the store opens on its own thread.
  const [core, { createApp }] = await Promise.all([
    openCore({
      home,
      settings,
      agents: options.agents,
      log,
      sink: options.sink,
      tracer: options.tracer,
      // What was accepted is on disk, as far as the disk can be trusted (I1); a process must not go on as if it could.
      onBroken: options.ownsProcess ? () => process.exit(1) : undefined,
    }),
    import("../http/app.ts"),
  ]);
  opened.use(core);
  checkDefaultAgent(settings, core.agents);

  // The app says in cards where it is, which the socket decides; what comes in before that waits.
  const app = Promise.withResolvers<Fetch>();
  let fetch: Fetch = async (request) => (await app.promise)(request);
  const { host, port } = settings;
  const listener = await listen({
    host,
    port,
    fetch: (request) => fetch(request),
    maxConnections: settings.maxConnections,
    requestTimeoutMs: settings.requestTimeoutMs,
    ownsProcess: options.ownsProcess,
  });
  opened.defer(() => listener.closed(0));
  const stopping = new AbortController();
  const publicUrl = settings.publicUrl ?? listener.url;
  const signInLinks = new SignInLinks();
  const dashboardFiles = findDashboard(log);
  const links = linksTo(publicUrl, core.store, settings);
  const linksOf = createLinksOf(links, core.taskIds);
  core.callees.links = linksOf;
  const push = openPush({ ...core, linksOf, publicUrl, settings, log });
  const operations = withAudit(core.operations, log);
  const served = await createApp({
    engine: core.engine,
    store: core.store,
    agents: core.agents,
    taskIds: core.taskIds,
    files: core.files,
    links,
    progress: core.progress,
    operations,
    tracer: core.tracer,
    access: options.access ?? { authenticate: await authenticator(core, settings, log) },
    log,
    metrics: core.metrics,
    disk: core.disk,
    settings: { ...settings, publicUrl },
    stopping: stopping.signal,
    cardKeys: await cardKeysOf(settings),
    dashboard: {
      files: dashboardFiles,
      links: signInLinks,
      sessions: createSessions(core.store.sessions, () => core.store.now()),
    },
    push: push?.push,
  });
  ({ fetch } = served);
  app.resolve(fetch);
  // Only now, as a start that fails for want of a port must not have run anything.
  await core.engine.start();
  const deliverer = push && opened.use(push.start());
  opened.use(await serveControl({ home, operations, log, url: listener.url, bodyBytes: settings.bodyBytes }));

  const { metrics } = core;
  opened.use(addGauges({ ...core, connections: () => listener.connections }));
  const forgotten = metrics.counter("nylorun_forgotten_total", "Rows that retention has taken out.");
  opened.use(
    startRetention({ store: core.store, settings, log, onForgotten: (what, count) => forgotten({ what }, count) }),
  );
  const removed = metrics.counter(
    "nylorun_files_removed_total",
    "Files that nobody needed any more, and that are gone.",
  );
  removed({}, 0);
  opened.use(startCollector({ store: core.store, blobs: core.blobs, log, onRemoved: (count) => removed({}, count) }));
  if (options.meter !== undefined) opened.use(await options.meter(metrics));
  if (options.ownsProcess) opened.use(takeOutGarbage());
  void checkStore(core.store, log, stopping.signal);

  const everything = opened.move();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    listener.close();
    await core.engine.stop({ graceMs: settings.stopGraceMs });
    stopping.abort();
    await deliverer?.stop(LAST_WORDS);
    await listener.closed(LAST_WORDS);
    await everything.disposeAsync();
  };
  return {
    url: listener.url,
    home: home.folder,
    agents: core.agents,
    dashboardLink: (credentials) => `${listener.url}/dashboard/#link=${signInLinks.make(credentials)}`,
    addKey: async (holder) => (await core.operations.addKey(holder)).key,
    stop: () => (stopped ??= stop()),
    [Symbol.asyncDispose]: () => (stopped ??= stop()),
  };
}

/** @throws RuntimeError `setting.invalid`. */
async function cardKeysOf({ cardKey }: Settings): Promise<CardKeys | undefined> {
  if (cardKey === undefined) return undefined;
  const { readCardKeys } = await import("../access/card-keys.ts");
  try {
    return await readCardKeys(await readFile(cardKey, "utf8"));
  } catch (error) {
    const why = (error as Error).message;
    throw new RuntimeError("setting.invalid", `Cards cannot be signed with ${cardKey}: ${why}`, { cause: error });
  }
}

/** Whether what is stored is whole, beside all else: an operator wants to know before it is needed. */
async function checkStore(store: Store, log: Log, stopping: AbortSignal): Promise<void> {
  try {
    const problems = await store.check();
    if (problems.length > 0)
      log.error({ problems }, "The database is damaged. Stop, and restore the last backup: nylorun restore FILE.");
  } catch (error) {
    if (!stopping.aborted) log.warn({ error }, "It could not be looked whether the database is whole.");
  }
}

/** By key, and by the tokens of whom the operator trusts. */
async function authenticator({ store }: Core, { jwtIssuers }: Settings, log: Log): Promise<Authenticate> {
  const byKey = authenticateByApiKey(store.keys);
  if (jwtIssuers.length === 0) return byKey;
  const { authenticateByJwt } = await import("../access/jwt.ts");
  const onTrouble = (error: Error) => log.warn({ error }, "Tokens of an issuer cannot be checked.");
  const byToken = authenticateByJwt(jwtIssuers, { onTrouble });
  return async (request) => (await byKey(request)) ?? byToken(request);
}

function checkDefaultAgent({ defaultAgent }: Settings, agents: readonly Agent[]): void {
  const ids = agents.map(({ id }) => id);
  if (defaultAgent === undefined || ids.includes(defaultAgent)) return;
  const near = nearest(defaultAgent, ids);
  const hint = near === undefined ? `There are ${ids.join(", ")}.` : `Did you mean "${near}"?`;
  throw new RuntimeError("setting.invalid", `The default agent "${defaultAgent}" is none of those served. ${hint}`);
}

function checkProvider({ providerName, providerUrl }: Settings): void {
  if ((providerName === undefined) === (providerUrl === undefined)) return;
  const missing = providerName === undefined ? "--provider-name" : "--provider-url";
  throw new RuntimeError("setting.invalid", `A provider has a name and an address: ${missing} is missing.`);
}

/** Cards must say where to call, and "any address" is none. */
function checkPublicUrl({ host, publicUrl }: Settings): void {
  if (publicUrl !== undefined || !/^(0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/.test(host)) return;
  throw new RuntimeError(
    "setting.invalid",
    `With the host ${host} callers may come from anywhere, so say under which address: --public-url https://….`,
  );
}
