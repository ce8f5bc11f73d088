/**
 * Whether the Runtime's figures go to OpenTelemetry, decided at the start, as tracing.ts does for spans: to the SDK that the program has
 * registered, else by one of our own to the OTLP endpoint in the environment (serve only), else nowhere. Prometheus can ask in any case.
 */
import type { Metrics } from "../http/metrics.ts";
import type { Log } from "./log.ts";
import { packageVersion, registered } from "./tracing.ts";

/** Never rejects. */
export async function openMetering(metrics: Metrics, env: NodeJS.ProcessEnv, log: Log): Promise<AsyncDisposable> {
  if (registered().metrics !== undefined) return meter(metrics);
  if (!env["OTEL_EXPORTER_OTLP_ENDPOINT"] && !env["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]) return nothing;
  try {
    const { registerMetricsExport } = await import("./otlp-metrics.ts");
    const stop = registerMetricsExport({ env, log, version: packageVersion() });
    if (stop === undefined) return nothing;
    await using started = new AsyncDisposableStack();
    started.defer(stop);
    started.use(await meter(metrics));
    return started.move();
  } catch (error) {
    log.warn({ error }, "Metrics cannot be exported; the Runtime serves without.");
    return nothing;
  }
}

/** For a program with a Runtime in it: to its SDK, if it has one. */
export async function findMeter(metrics: Metrics): Promise<AsyncDisposable> {
  return registered().metrics === undefined ? nothing : meter(metrics);
}

async function meter(metrics: Metrics): Promise<AsyncDisposable> {
  const { addInstruments } = await import("./otel-metrics.ts");
  const stop = addInstruments(metrics, packageVersion());
  return { [Symbol.asyncDispose]: async () => stop() };
}

const nothing: AsyncDisposable = { [Symbol.asyncDispose]: async () => undefined };
