/**
 * Progress over HTTP: reports in, the latest of each task out, and a stream of events. Everything is a subject's own (I7); an
 * operator reads all, and reports nothing.
 */
import type { Hub, HubFilter } from "@nylorun/progress";
import { isComplete, ReportError } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import { jsonText, ownJsonText, refuse } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import { createEventStream, withSubject } from "./event-stream.ts";
import { readJson } from "./json-body.ts";
import type { Limits } from "./limits.ts";
import { badLimit, badReport, noSubject } from "./refusals.ts";

/** What the routes need of the Runtime's progress. */
export interface Progress {
  readonly hub: Hub;
  /**
   * Takes a report in.
   *
   * @throws ReportError.
   */
  report(subject: string, report: unknown): Promise<Reported>;
  /** Makes sure that the hub knows a subject's open tasks, or everybody's, also those of before the Runtime was started. */
  recall(subject: string | undefined): Promise<void>;
}

export interface Reported {
  readonly event: ProgressEvent;
  /** Whether the local sink has it; undefined when this Runtime does not write there. */
  readonly persisted: boolean | undefined;
}

export interface ProgressOptions {
  readonly progress: Progress;
  readonly authenticate: Authenticate;
  /** What nobody is answered. */
  readonly unauthenticated: Refusal;
  readonly limits: Limits;
  /** Of a body, in bytes. */
  readonly bodyBytes: number;
  /** Ends streams. */
  readonly stopping: AbortSignal;
}

/** Tasks in one answer, unless the caller says otherwise. */
const LIMIT = 100;
const MOST = 1_000;

export function createProgressRoutes(options: ProgressOptions): Hono {
  const { progress, authenticate, unauthenticated, limits, bodyBytes, stopping } = options;
  const { hub } = progress;

  /** Whose tasks a request may see; a refusal when it may see none. */
  const scopeOf = async (request: Request): Promise<HubFilter | Response> => {
    const principal = await authenticate(request);
    if (principal === undefined) return refuse(unauthenticated);
    const taskId = new URL(request.url).searchParams.get("task") ?? undefined;
    const subject = principal.role === "operator" ? undefined : principal.subject;
    if (subject !== undefined) limits.request(subject);
    await progress.recall(subject);
    return { subject, taskId };
  };

  return new Hono()
    .basePath("/v1/progress")
    .post("/", async (c) => {
      const request = c.req.raw;
      const principal = await authenticate(request);
      if (principal === undefined) return refuse(unauthenticated);
      if (principal.role !== "subject") return refuse(noSubject);
      const { subject } = principal;
      limits.request(subject);
      using room = limits.body(subject);
      const body = await readJson(request, bodyBytes, room);
      if ("refusal" in body) return refuse(body.refusal);
      try {
        const { event, persisted } = await progress.report(subject, body.value);
        return jsonText(JSON.stringify({ ...event, complete: isComplete(event), persisted }));
      } catch (error) {
        if (error instanceof ReportError) return refuse(badReport(error));
        throw error;
      }
    })
    .get("/", async (c) => {
      const scope = await scopeOf(c.req.raw);
      if (scope instanceof Response) return scope;
      const asked = c.req.query("limit");
      const limit = asked === undefined ? LIMIT : /^\d{1,4}$/.test(asked) ? Number(asked) : 0;
      if (limit < 1 || limit > MOST) return refuse(badLimit(MOST));
      const tasks = hub.latest(scope, limit).map((published) => ({
        ...(scope.subject === undefined ? withSubject(published) : published.event),
        complete: isComplete(published.event),
        updated_at: published.event.timestamp,
      }));
      return ownJsonText(JSON.stringify({ tasks }));
    })
    .get("/events", async (c) => {
      const scope = await scopeOf(c.req.raw);
      if (scope instanceof Response) return scope;
      const headers = {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        // Proxies that collect an answer before they pass it on would collect it for ever.
        "X-Accel-Buffering": "no",
      };
      // Nobody reads, and so nobody would end, the stream of a HEAD.
      if (c.req.raw.method === "HEAD") return new Response(null, { headers });
      const lastEventId = c.req.header("last-event-id") ?? null;
      const over = scope.subject === undefined ? undefined : limits.wait(scope.subject);
      return new Response(createEventStream({ hub, filter: scope, lastEventId, stopping, over }), { headers });
    });
}
