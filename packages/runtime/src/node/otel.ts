/** The {@link Tracer} on OpenTelemetry's API: spans go to whichever SDK is registered. */
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Context, Link, SpanContext } from "@opentelemetry/api";

import type { Span, SpanBegin, Tracer } from "../turn/ports.ts";

const KINDS: { readonly [Kind in SpanBegin["kind"]]: SpanKind } = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
};

/** @param version Of this package. */
export function createTracer(version: string): Tracer {
  const tracer = trace.getTracer("@nylorun/runtime", version);
  return {
    begin({ name, kind, parent, attributes, link, at }): Span {
      const options = {
        kind: KINDS[kind],
        attributes,
        ...(at !== undefined && { startTime: at }),
        ...(link !== undefined && { links: linksTo(link) }),
      };
      const span = tracer.startSpan(name, options, contextOf(parent));
      return {
        traceparent: textOf(span.spanContext()),
        within: (code) => context.with(trace.setSpan(context.active(), span), code),
        end(end = {}) {
          if (end.attributes !== undefined) span.setAttributes(end.attributes);
          if (end.error !== undefined) {
            span.setAttribute("error.type", end.error);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end(end.at);
        },
      };
    },
  };
}

function contextOf(traceparent: string | undefined): Context {
  return traceparent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parse(traceparent));
}

function linksTo(traceparent: string): Link[] {
  return [{ context: parse(traceparent) }];
}

/** @param traceparent Of version 00, as the Runtime keeps it. */
function parse(traceparent: string): SpanContext {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function textOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}
