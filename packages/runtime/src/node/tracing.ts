/**
 * Whether anything is traced, decided once at the start. Nothing of OpenTelemetry is loaded unless something is: its API alone would
 * take some 20 ms of every start.
 *
 * | there is                                        | spans go                                           |
 * |-------------------------------------------------|----------------------------------------------------|
 * | an SDK that the program has registered          | to that one                                        |
 * | an OTLP endpoint in the environment (serve only) | there, by an SDK of our own: see otlp.ts           |
 * | neither                                         | nowhere                                            |
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

import type { Tracer } from "../turn/ports.ts";
import { noTracer } from "../turn/trace.ts";
import type { Log } from "./log.ts";

export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** Where OpenTelemetry's API keeps what is registered, in every copy of it: by this it can be looked for without being loaded. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Never rejects: that nothing can be traced is no reason not to serve. */
export async function openTracing(env: NodeJS.ProcessEnv, log: Log): Promise<Tracing> {
  const found = await findTracer();
  if (found !== noTracer) return { tracer: found, [Symbol.asyncDispose]: async () => undefined };
  if (!env["OTEL_EXPORTER_OTLP_ENDPOINT"] && !env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) return nothing;
  try {
    const { registerExport } = await import("./otlp.ts");
    const stop = registerExport({ env, log, version: packageVersion() });
    if (stop === undefined) return nothing;
    const { createTracer } = await import("./otel.ts");
    return { tracer: createTracer(packageVersion()), [Symbol.asyncDispose]: stop };
  } catch (error) {
    log.warn({ error }, "Traces cannot be exported; the Runtime serves without.");
    return nothing;
  }
}

/** The tracer of the SDK that the program has registered with OpenTelemetry's API, if it has. */
export async function findTracer(): Promise<Tracer> {
  if (registered().trace === undefined) return noTracer;
  const { createTracer } = await import("./otel.ts");
  return createTracer(packageVersion());
}

/** What of an SDK is registered. */
export function registered(): { readonly trace?: unknown; readonly metrics?: unknown } {
  return (globalThis as { readonly [REGISTERED]?: object })[REGISTERED] ?? {};
}

const nothing: Tracing = { tracer: noTracer, [Symbol.asyncDispose]: async () => undefined };

export function packageVersion(): string {
  const path = findPackageJSON("..", import.meta.url) ?? "";
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
