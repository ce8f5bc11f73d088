/** A Runtime that is its process: it ends on a signal, and nothing an agent's code does takes it down silently. */
import { hostOf, isLoopback } from "../http/hosts.ts";
import type { Metrics } from "../http/metrics.ts";
import { loadAgents } from "./agents.ts";
import { createLog } from "./log.ts";
import { openMetering } from "./metering.ts";
import { openRuntime } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { Settings } from "./settings.ts";
import { openLocalSink } from "./sink.ts";
import { openTracing } from "./tracing.ts";
import { failItsTurn } from "./unheard.ts";

/**
 * A second signal ends the process at once; but npm passes on a Ctrl-C that the terminal has sent us as well, so what comes
 * within this time, in milliseconds, is the same wish.
 */
const SAME_WISH = 500;

export interface ServeOptions {
  readonly settings: Settings;
  /** Files of agents, relative to `cwd`. */
  readonly files: readonly string[];
  readonly cwd: string;
  /** Tells people that it serves. */
  readonly announce: (runtime: Runtime) => void | Promise<void>;
}

/**
 * Serves until a SIGTERM or SIGINT, then stops gracefully.
 *
 * @returns Which signal it was.
 * @throws RuntimeError, StoreError: why it cannot start.
 */
export async function serve({ settings, files, cwd, announce }: ServeOptions): Promise<NodeJS.Signals> {
  const log = createLog(settings.logLevel);
  let serves = false;
  const signalled = nextSignal(() => serves);
  process.on("uncaughtException", (error) => {
    if (!failItsTurn(error)) {
      // Whatever was accepted is stored (I1); a process in an unknown state must not go on.
      log.error({ error }, "The process ends because of an error that nobody caught.");
      process.exit(1);
    }
    log.warn({ error }, "An agent's code threw where nobody catches: its turn fails, if it has not ended.");
  });
  process.on("unhandledRejection", (error) => {
    if (!failItsTurn(error)) log.error({ error }, "A promise was rejected, and nobody awaits it.");
    else
      log.warn(
        { error },
        "An agent's code rejected a promise that nobody awaits: its turn fails, if it has not ended.",
      );
  });
  const agents = loadAgents(files, cwd);
  agents.catch(() => undefined); // The home is taken first; then it is awaited.
  const warn = (text: string) => log.warn({}, text);
  // The sink is one person's, and so is a Runtime that nobody but this machine reaches.
  const sink = servesThisMachineAlone(settings) ? openLocalSink(warn) : undefined;
  await using tracing = await openTracing(process.env, log);
  const { tracer } = tracing;
  const meter = (metrics: Metrics) => openMetering(metrics, process.env, log);
  const runtime = await openRuntime({ settings, agents, log, sink, tracer, meter, ownsProcess: true });
  serves = true;
  await announce(runtime);
  const signal = await signalled;
  log.info({ signal }, "Stopping: running turns are given their time, the rest is resumed at the next start.");
  await runtime.stop();
  return signal;
}

function servesThisMachineAlone({ host, publicUrl }: Settings): boolean {
  return isLoopback(host) && (publicUrl === undefined || isLoopback(hostOf(publicUrl)));
}

/** The first SIGTERM or SIGINT. A second one ends the process at once, and so does the first when there is nothing to stop yet. */
function nextSignal(serves: () => boolean): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: number | undefined;
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
  ] as const) {
    process.on(signal, () => {
      first ??= performance.now();
      if (!serves() || performance.now() - first > SAME_WISH) process.exit(128 + number);
      resolve(signal);
    });
  }
  return promise;
}
