/**
 * Exports spans over OTLP, as the standard `OTEL_*` variables say. The exporters read their own (endpoint, headers, timeout,
 * compression, certificates); what this SDK leaves to its user is read here.
 */
import { context, diag, DiagLogLevel, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import type { Resource } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Sampler, SpanExporter } from "@opentelemetry/sdk-trace";

import type { Log } from "./log.ts";

/** How long the last spans may take to go out when the process stops, in milliseconds. */
const LAST_SPANS = 3_000;
/** Between two words in the log about the exporter, in milliseconds: a collector that is down fails every batch. */
const QUIET = 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface ExportOptions {
  readonly env: Environment;
  readonly log: Log;
  /** Of this package. */
  readonly version: string;
}

/**
 * Registers an SDK that exports, for the Runtime's spans and for those that agents' own libraries make.
 *
 * @returns Sends what is left, and takes the SDK back; undefined when the environment wants no traces, or of a kind that is not built in.
 */
export function registerExport({ env, log, version }: ExportOptions): (() => Promise<void>) | undefined {
  const exporter = exporterOf(env, log);
  if (exporter === undefined) return undefined;
  diag.setLogger(quietly(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const provider = new TracerProvider({
    resource: resourceOf(version),
    sampler: samplerOf(env, log),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...batchingOf(env, log) })],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  return async () => {
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, LAST_SPANS, undefined);
    await Promise.race([provider.shutdown(), late]).catch((error: unknown) => {
      log.warn({ error }, "The last spans could not be exported.");
    });
    clearTimeout(timer);
    for (const api of [trace, context, propagation, diag]) api.disable();
  };
}

/** What exports say of who exports. What the environment says of the service counts more. @param version Of this package. */
export function resourceOf(version: string): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ "service.name": "nylorun", "service.version": version }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}

function exporterOf(env: Environment, log: Log): SpanExporter | undefined {
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return undefined;
  const exporters = (env["OTEL_TRACES_EXPORTER"] || "otlp").split(",").map((each) => each.trim());
  if (!exporters.includes("otlp")) {
    if (!exporters.includes("none")) refuse(log, "OTEL_TRACES_EXPORTER", exporters.join(","), "otlp or none");
    return undefined;
  }
  const protocol = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] || env["OTEL_EXPORTER_OTLP_PROTOCOL"] || "http/protobuf";
  switch (protocol.trim()) {
    case "http/protobuf":
      return new ProtobufExporter();
    case "http/json":
      return new JsonExporter();
    default:
      refuse(log, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "http/protobuf or http/json");
      return undefined;
  }
}

/** What is sampled when the caller says nothing; with `parentbased_`, a caller that says something is followed. */
function samplerOf(env: Environment, log: Log): Sampler {
  const name = env["OTEL_TRACES_SAMPLER"]?.trim() || "parentbased_always_on";
  const [, parentBased, root = ""] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const samplers: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratioOf(env, log)),
  };
  const sampler = samplers[root]?.();
  if (sampler !== undefined) return parentBased === undefined ? sampler : new ParentBasedSampler({ root: sampler });
  refuse(log, "OTEL_TRACES_SAMPLER", name, "always_on, always_off or traceidratio, with or without parentbased_");
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

function ratioOf(env: Environment, log: Log): number {
  const text = env["OTEL_TRACES_SAMPLER_ARG"]?.trim() || "1";
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  refuse(log, "OTEL_TRACES_SAMPLER_ARG", text, "a number from 0 to 1");
  return 1;
}

function batchingOf(env: Environment, log: Log) {
  const whole = (name: string) => {
    const text = env[name]?.trim();
    if (text === undefined || text === "") return undefined;
    if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
    refuse(log, name, text, "a whole number");
    return undefined;
  };
  const given = {
    scheduledDelayMillis: whole("OTEL_BSP_SCHEDULE_DELAY"),
    exportTimeoutMillis: whole("OTEL_BSP_EXPORT_TIMEOUT"),
    maxQueueSize: whole("OTEL_BSP_MAX_QUEUE_SIZE"),
    maxExportBatchSize: whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export function refuse(log: Log, variable: string, value: string, allowed: string): void {
  log.warn({}, `${variable} must be ${allowed}; it is ${JSON.stringify(value.slice(0, 80))}, which is passed over.`);
}

/** Says what goes wrong with the export once, and then not for a while. */
function quietly(log: Log) {
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (message: string, ...rest: readonly unknown[]) => {
    const now = performance.now();
    if (now - saidAt < QUIET) return;
    saidAt = now;
    log.warn({ ...(rest.length > 0 && { about: rest.map(String) }) }, `Traces: ${message}`);
  };
  const ignore = () => undefined;
  return { error: say, warn: say, info: ignore, debug: ignore, verbose: ignore };
}
