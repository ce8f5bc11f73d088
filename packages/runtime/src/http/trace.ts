/** W3C Trace Context: the trace that a request belongs to. */
import { randomBytes } from "node:crypto";

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The request's `traceparent`, or undefined when it has none, or one that does not keep to the rules: then it counts as none. */
export function traceparentOf(headers: Headers): string | undefined {
  const value = headers.get("traceparent");
  return value !== null && TRACEPARENT.test(value) ? value : undefined;
}

/** The trace id that an internal error is told and logged under: the request's own, else a new one. */
export function traceIdOf(traceparent: string | undefined): string {
  return traceparent?.slice(3, 35) ?? randomBytes(16).toString("hex");
}
