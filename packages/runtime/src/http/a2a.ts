/**
 * The JSON-RPC endpoint of an agent. This is the one place that knows in which order a request is checked, the same for every
 * method:
 *
 * | what                                        | answered with                                                  |
 * |---------------------------------------------|----------------------------------------------------------------|
 * | credentials                                 | 401; 403 for an operator, who has no subject to act for         |
 * | the subject's requests a second             | 429                                                            |
 * | the agent exists, and is open to the subject | 404, one body for both                                         |
 * | Content-Type                                | -32005                                                         |
 * | the body's size                             | 413, with the limit; 503 while too many are coming in           |
 * | JSON                                        | -32700, id null                                                |
 * | the envelope                                | -32600, id null                                                |
 * | A2A-Version                                 | -32009                                                         |
 * | the method                                  | -32601; -32003, -32004 for one that is not served              |
 * | its parameters                              | -32602                                                         |
 *
 * JSON-RPC answers are HTTP 200. Every answer tells which extensions were activated. What goes wrong in here is logged, and told
 * to the caller as a trace id alone (I10).
 */
import type { Agent } from "@nylorun/agents";
import {
  A2aError,
  activate,
  contentTypeNotSupported,
  failure,
  internalError,
  isA2aMethod,
  jsonParseError,
  negotiateVersion,
  parseEnvelope,
  success,
} from "@nylorun/protocol";
import type { Activation, RequestId } from "@nylorun/protocol";

import type { Authenticate } from "../access/api-keys.ts";
import { isOpenTo } from "../turn/callee.ts";
import { jsonText, refuse, Refused } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import { readBody } from "./body.ts";
import type { Call } from "./call.ts";
import { logFailure } from "./failure-log.ts";
import type { Log } from "./failure-log.ts";
import { answerLate } from "./late-answer.ts";
import type { Limits } from "./limits.ts";
import type { RunMethod } from "./methods.ts";
import { OFFERED } from "./offered.ts";
import { bodyLost, internal, noSubject, noSuchAgent, laterRefusal, tooLarge } from "./refusals.ts";
import { isStillWaiting } from "./send-message.ts";
import { traceparentOf } from "./trace.ts";

export interface A2aOptions {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly authenticate: Authenticate;
  /** What nobody is answered. */
  readonly unauthenticated: Refusal;
  readonly run: RunMethod;
  readonly log: Log;
  readonly limits: Limits;
  readonly count: CountCall;
  /** Of a body, in bytes. */
  readonly bodyBytes: number;
}

/** Told of each call how it was answered: `ok`, a JSON-RPC code, or what HTTP says. */
export type CountCall = (labels: { readonly method: string; readonly answer: string }) => void;

/** Answers a POST to an agent's URL. */
export type A2aEndpoint = (request: Request, agentId: string) => Promise<Response>;

export function createA2aEndpoint(options: A2aOptions): A2aEndpoint {
  const { agents, authenticate, unauthenticated, run, log, limits, count, bodyBytes } = options;
  return async (request, agentId) => {
    const { headers } = request;
    const activation = activate(headers.get("a2a-extensions"), OFFERED);
    const { echo } = activation;
    const no = (refusal: Refusal) => {
      count({ method: "unknown", answer: refusal.code });
      return refuse(refusal, echo);
    };
    try {
      const principal = await authenticate(request);
      if (principal === undefined) return no(unauthenticated);
      if (principal.role !== "subject") return no(noSubject);
      limits.request(principal.subject);
      const agent = agents.get(agentId);
      if (agent === undefined || !isOpenTo(agent, principal.subject)) return no(noSuchAgent);
      return await answer(request, { agent, subject: principal.subject, activation });
    } catch (error) {
      return no(refusalOf(error) ?? internal(logFailure(log, error, { headers, fields: { agent: agentId } })));
    }
  };

  async function answer(request: Request, { agent, subject, activation }: Caller): Promise<Response> {
    const { headers } = request;
    const { active, echo } = activation;
    let id: RequestId | null = null;
    let method = "unknown";
    const succeeded = (result: object): string => {
      count({ method, answer: "ok" });
      return JSON.stringify(success(id!, result));
    };
    const failed = (error: unknown): string => {
      const isInternal = !(error instanceof A2aError) || error.kind === "Internal";
      const told = isInternal
        ? internalError(logFailure(log, error, { headers, fields: { agent: agent.id, method } }))
        : error;
      count({ method, answer: String(told.code) });
      return JSON.stringify(failure(id, told));
    };
    const no = (refusal: Refusal) => {
      count({ method, answer: refusal.code });
      return refuse(refusal, echo);
    };
    try {
      checkContentType(headers.get("content-type"));
      using room = limits.body(subject);
      const body = await readBody(request, bodyBytes, room);
      if (typeof body === "string") return no(body === "too large" ? tooLarge(bodyBytes) : bodyLost);
      const envelope = parseEnvelope(parseJson(body));
      ({ id } = envelope);
      // Whatever else a caller makes up is kept nowhere.
      if (isA2aMethod(envelope.method)) ({ method } = envelope);
      negotiateVersion(headers.get("a2a-version") || versionInQuery(request.url));
      const scope = { subject, agent: agent.id };
      const call: Call = { scope, agent, active, traceparent: traceparentOf(headers), request };
      const result = await run(envelope.method, envelope.params, call);
      if (!isStillWaiting(result)) return jsonText(succeeded(result), echo);
      // What was sent is stored: the wait for what comes of it takes no room.
      room[Symbol.dispose]();
      const text = result.response.then(succeeded).catch(failed);
      return await answerLate({ text, hangUp: result.hangUp }, echo);
    } catch (error) {
      const refusal = refusalOf(error);
      return refusal === undefined ? jsonText(failed(error), echo) : no(refusal);
    }
  }
}

/** What is no answer to the call, but one of the server: there is no room for it now. */
function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refused) return error.refusal;
  return laterRefusal(error);
}

interface Caller {
  readonly agent: Agent;
  readonly subject: string;
  readonly activation: Activation;
}

/** A2A 1.0, section 9.1: the JSON-RPC binding has this one type. `application/a2a+json` is the HTTP+JSON binding's (14.1.1). */
function checkContentType(header: string | null): void {
  if (header === "application/json") return;
  const type = header?.split(";", 1)[0]!.trim().toLowerCase();
  if (type === "application/json") return;
  throw contentTypeNotSupported(
    `Send Content-Type: application/json; ${type ? `it is ${type.slice(0, 100)}` : "there is none"}.`,
  );
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parseJson(body: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw jsonParseError("Invalid JSON payload: it is not UTF-8");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw jsonParseError(`Invalid JSON payload: ${(error as SyntaxError).message}`);
  }
}

/** The query parameter counts when there is no header (A2A 1.0, section 3.6.1). */
function versionInQuery(url: string): string | null {
  return url.includes("?") ? new URL(url).searchParams.get("A2A-Version") : null;
}
