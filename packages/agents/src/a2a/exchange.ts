/**
 * One HTTP exchange with an agent, as the `fetch` that the SDK's transports are given. It adds the credentials, follows no redirects,
 * reads no more than it should, holds an answer against its question, and turns every error into an {@link A2aClientError}: what
 * gets to the SDK is an answer to this very request, with a result in it.
 */
import { readUpTo } from "./bounded.ts";
import type { Credentials } from "./credentials.ts";
import { A2aClientError, cut, invalidAnswer, wireError } from "./errors.ts";
import type { WireError } from "./errors.ts";
import { retryAfterOf } from "./patience.ts";
import { hideRaw, hideRawInEvents, restoreRaw } from "./raw-parts.ts";

export type Fetch = typeof globalThis.fetch;

export interface ExchangeOptions {
  readonly fetch: Fetch;
  readonly credentials: Credentials;
  /** Of an answer, or of one event of a stream. In bytes. */
  readonly maxAnswerBytes: number;
  /** How long a stream may be silent before it counts as broken, in milliseconds. */
  readonly silenceMs: number;
}

/** Makes the `fetch` for the transports. Their requests carry a text as body, or none. */
export function createExchange(options: ExchangeOptions): Fetch {
  const { maxAnswerBytes } = options;
  return async (input, init = {}) => {
    const body = typeof init.body === "string" ? init.body : undefined;
    const response = await request(options, input, {
      ...init,
      ...(body !== undefined && { body: restoreRaw(body) }),
    });
    if (response.ok && isEventStream(response)) return watched(response, options);
    const text = await readText(response, maxAnswerBytes, init.signal);
    if (!response.ok) throw refusal(response, text);
    const asked = body === undefined ? undefined : requestIdOf(body);
    if (asked === undefined && text.trim() === "") return new Response(null, { status: 204 });
    const answer = parse(text);
    if (asked !== undefined) checkEnvelope(answer, asked);
    if (text.includes('"raw"')) hideRaw(answer);
    return new Response(JSON.stringify(answer), { headers: { "Content-Type": "application/json" } });
  };
}

/**
 * A request with credentials. A 401 is tried once more when there may be fresher ones.
 *
 * @throws A2aClientError `agent.redirected`, `agent.unreachable`; what the signal was aborted with.
 */
export async function request(
  { fetch, credentials }: Pick<ExchangeOptions, "fetch" | "credentials">,
  input: Parameters<Fetch>[0],
  init: RequestInit,
): Promise<Response> {
  const send = async (): Promise<Response> => {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(await credentials.headers())) headers.set(name, value);
    try {
      return await fetch(input, { ...init, headers, redirect: "manual" });
    } catch (error) {
      throw networkError(error, init.signal);
    }
  };
  let response = await send();
  if (response.status === 401 && credentials.renewable) {
    response.body?.cancel().catch(() => undefined);
    response = await send();
  }
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    const to = response.headers.get("location");
    throw new A2aClientError(
      "agent.redirected",
      `${urlOf(input)} answers with a redirect${to === null ? "" : ` to ${cut(to, 200)}`}. Use the address it leads to.`,
      { status: response.status },
    );
  }
  return response;
}

/** What `fetch` rejects with: an abort stays what it is, everything else means that there is no answer. */
export function networkError(error: unknown, signal: AbortSignal | null | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof A2aClientError) return error;
  const { message, cause } = error as Error;
  const why = cause instanceof Error && cause.message !== "" ? cause.message : message;
  return new A2aClientError("agent.unreachable", `The agent did not answer: ${cut(why, 200)}.`, { cause: error });
}

async function readText(response: Response, limit: number, signal: AbortSignal | null | undefined): Promise<string> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await readUpTo(response.body, limit);
  } catch (error) {
    // It began to answer, and broke off.
    throw networkError(error, signal);
  }
  if (bytes === undefined) {
    throw new A2aClientError(
      "answer.tooLarge",
      `The answer is longer than ${limit} bytes. Raise maxAnswerBytes if that is meant to be.`,
      { status: response.status },
    );
  }
  return new TextDecoder().decode(bytes);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidAnswer(`The answer is not JSON: ${cut(text.trim(), 80)}`, error);
  }
}

/** The id of a JSON-RPC request; undefined for a body of the HTTP+JSON binding. */
function requestIdOf(body: string): unknown {
  const { jsonrpc, id } = JSON.parse(body) as WireError;
  return jsonrpc === undefined ? undefined : id;
}

/** @throws A2aClientError what the agent answered; `answer.invalid` for an answer to something else. */
function checkEnvelope(answer: unknown, asked: unknown): void {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw invalidAnswer("The answer is no JSON-RPC answer: it is no object.");
  }
  const { id, error } = answer as WireError;
  const failed = typeof error === "object" && error !== null;
  // Of a request that could not be read at all the id is null (JSON-RPC 2.0, section 5).
  if (id !== asked && !(failed && (id === null || id === undefined))) {
    throw invalidAnswer(
      `The answer is for request ${cut(JSON.stringify(id) ?? "undefined", 80)}, not ${JSON.stringify(asked)}.`,
    );
  }
  if (failed) throw wireError(error as WireError);
  // Some servers say `"error": null` beside a result, which the SDK would take for an error.
  delete (answer as Record<string, unknown>)["error"];
}

/** Why there is no answer, by what HTTP says and what the body tells. */
function refusal(response: Response, text: string): A2aClientError {
  const { status } = response;
  let body: WireError = {};
  try {
    body = (JSON.parse(text) as WireError | null) ?? {};
  } catch {
    // A page of a proxy, say. The status tells enough.
  }
  const error = (typeof body["error"] === "object" ? body["error"] : undefined) as WireError | null | undefined;
  if (error && body["jsonrpc"] !== undefined) return wireError(error);
  const said = typeof error?.["message"] === "string" ? ` ${cut(error["message"], 300)}` : "";
  const retryAfterMs = retryAfterOf(response.headers.get("retry-after"));
  if (status === 401 || status === 403) {
    const what = status === 401 ? "does not accept the credentials" : "does not allow this";
    return new A2aClientError("agent.unauthorized", `The agent ${what} (${status}).${said}`, { status });
  }
  if (status === 429 || status === 503) {
    return new A2aClientError("agent.busy", `The agent is busy (${status}).${said}`, { status, retryAfterMs });
  }
  if (status === 502 || status === 504) {
    return new A2aClientError("agent.unreachable", `What stands before the agent cannot reach it (${status}).`, {
      status,
    });
  }
  if (Array.isArray(error?.["details"])) return wireError(error, status);
  return new A2aClientError("agent.refused", `The agent answers with HTTP status ${status}.${said}`, { status });
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") === true;
}

/** A stream that ends with an error when nothing has come for too long, as half-open connections stay silent for ever. */
function watched(response: Response, { silenceMs, maxAnswerBytes }: ExchangeOptions): Response {
  if (response.body === null) throw invalidAnswer("The stream has no body.");
  const source = response.body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const silent = Promise.withResolvers<never>();
      timer = setTimeout(() => {
        const seconds = Math.round(silenceMs / 1000);
        silent.reject(new A2aClientError("agent.unreachable", `The agent's stream was silent for ${seconds} s.`));
      }, silenceMs);
      try {
        const next = await Promise.race([source.read(), silent.promise]);
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      } catch (error) {
        source.cancel().catch(() => undefined);
        controller.error(error);
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel(reason) {
      clearTimeout(timer);
      await source.cancel(reason);
    },
  });
  return new Response(body.pipeThrough(hideRawInEvents(maxAnswerBytes)), {
    status: response.status,
    headers: { "Content-Type": "text/event-stream" },
  });
}

function urlOf(input: Parameters<Fetch>[0]): string {
  return typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
}
