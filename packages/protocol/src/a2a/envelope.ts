/**
 * The JSON-RPC 2.0 envelope around every request and answer (A2A 1.0, section 9.3): one object, never a batch.
 *
 * What is wrong with an envelope is answered with `id: null`, and nothing of it runs.
 */
import { invalidRequest, toJsonRpcError } from "./errors.ts";
import type { JsonRpcError } from "./errors.ts";

/** Echoed exactly, `0` and `""` too. */
export type RequestId = string | number;

export interface Envelope {
  readonly id: RequestId;
  readonly method: string;
  /** Not read yet: see `parseParams`. */
  readonly params: unknown;
}

export interface Success<Result = unknown> {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: Result;
}

export interface Failure {
  readonly jsonrpc: "2.0";
  readonly id: RequestId | null;
  readonly error: JsonRpcError;
}

/**
 * Reads the envelope of a parsed body.
 *
 * @throws A2aError -32600. Answer it with `failure(null, error)`.
 */
export function parseEnvelope(value: unknown): Envelope {
  if (Array.isArray(value)) throw invalidRequest("A request must be one JSON object; batches are not served.");
  if (typeof value !== "object" || value === null) {
    throw invalidRequest(`A request must be one JSON object, not ${value === null ? "null" : `a ${typeof value}`}.`);
  }
  const { jsonrpc, id, method, params } = value as Record<string, unknown>;
  if (jsonrpc !== "2.0") throw invalidRequest('A request must say "jsonrpc": "2.0".');
  if (typeof id !== "string" && typeof id !== "number") {
    throw invalidRequest("A request must have an id that is a string or a number.");
  }
  // JSON's numbers are unbounded, JavaScript's are not: an id that was rounded could not be echoed exactly.
  if (typeof id === "number" && (!Number.isFinite(id) || (Number.isInteger(id) && !Number.isSafeInteger(id)))) {
    throw invalidRequest("A number as id must lie within ±(2^53 - 1); send a larger one as a string.");
  }
  if (typeof method !== "string") throw invalidRequest("A request must name its method, a string.");
  return { id, method, params };
}

export function success<Result>(id: RequestId, result: Result): Success<Result> {
  return { jsonrpc: "2.0", id, result };
}

/**
 * @param id null when the request's own could not be read: not JSON, or no envelope.
 * @param error Anything that was thrown: see `toJsonRpcError`.
 */
export function failure(id: RequestId | null, error: unknown, traceId?: string): Failure {
  return { jsonrpc: "2.0", id, error: toJsonRpcError(error, traceId) };
}
