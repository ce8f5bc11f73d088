/** What went wrong for a reason of our own: the operator reads all of it, the caller gets an id to ask for it with (I10). */
import { traceIdOf, traceparentOf } from "./trace.ts";

/** Where operators read. */
export interface Log {
  error(fields: object, message: string): void;
}

/** Logs an error. Returns the trace id that it is logged under: the request's own, else a new one. */
export function logFailure(
  log: Log,
  error: unknown,
  about: { readonly headers: Headers; readonly fields: object },
): string {
  const traceId = traceIdOf(traceparentOf(about.headers));
  log.error({ error, traceId, ...about.fields }, "A request failed for a reason of our own.");
  return traceId;
}
