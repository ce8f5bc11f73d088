/** Exports the Runtime's figures over OTLP, as the standard `OTEL_*` variables say; see otlp.ts, which does the same for spans. */
import { metrics as api } from "@opentelemetry/api";
import { OTLPMetricExporter as JsonExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import type { PushMetricExporter } from "@opentelemetry/sdk-metrics";

import { refuse, resourceOf } from "./otlp.ts";
import type { ExportOptions } from "./otlp.ts";

/** How long the last figures may take to go out when the process stops, in milliseconds. */
const LAST_FIGURES = 3_000;

/**
 * Registers an SDK that exports, for the Runtime's figures and for those of agents' own libraries.
 *
 * @returns Sends what there is at the end, and takes the SDK back; undefined when the environment wants no metrics, or of a kind that is not
 *   built in.
 */
export function registerMetricsExport({ env, log, version }: ExportOptions): (() => Promise<void>) | undefined {
  const exporter = exporterOf({ env, log });
  if (exporter === undefined) return undefined;
  const every = milliseconds(env["OTEL_METRIC_EXPORT_INTERVAL"], 60_000);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: every,
    exportTimeoutMillis: Math.min(every, milliseconds(env["OTEL_METRIC_EXPORT_TIMEOUT"], 30_000)),
  });
  const provider = new MeterProvider({ resource: resourceOf(version), readers: [reader] });
  api.setGlobalMeterProvider(provider);
  return async () => {
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, LAST_FIGURES, undefined);
    await Promise.race([provider.shutdown(), late]).catch((error: unknown) => {
      log.warn({ error }, "The last figures could not be exported.");
    });
    clearTimeout(timer);
    api.disable();
  };
}

function exporterOf({ env, log }: Pick<ExportOptions, "env" | "log">): PushMetricExporter | undefined {
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return undefined;
  const exporters = (env["OTEL_METRICS_EXPORTER"] || "otlp").split(",").map((each) => each.trim());
  if (!exporters.includes("otlp")) {
    if (!exporters.includes("none")) refuse(log, "OTEL_METRICS_EXPORTER", exporters.join(","), "otlp or none");
    return undefined;
  }
  const protocol = env["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"] || env["OTEL_EXPORTER_OTLP_PROTOCOL"] || "http/protobuf";
  switch (protocol.trim()) {
    case "http/protobuf":
      return new ProtobufExporter();
    case "http/json":
      return new JsonExporter();
    default:
      // What is wrong with the one that spans go by too has been said.
      return undefined;
  }
}

function milliseconds(text: string | undefined, otherwise: number): number {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isInteger(value) && value > 0 ? value : otherwise;
}
