/**
 * What can go wrong for a caller, as one class with a stable `code`. What came over the wire keeps what the wire said: the
 * JSON-RPC code, the reason, the metadata, the fields that were wrong.
 */
import { A2A_ERRORS } from "@nylorun/protocol";
import type { A2aErrorName, FieldViolation } from "@nylorun/protocol";

import type { TaskView } from "./view.ts";

/** One for each error of the protocol (A2A 1.0, sections 3.3.2 and 9.5), such as `a2a.taskNotFound`. */
export type A2aWireCode = `a2a.${Uncapitalize<A2aErrorName>}` | "a2a.other";

export type A2aClientErrorCode =
  | A2aWireCode
  /** An argument or option is not what it has to be. */
  | "call.invalid"
  /** There is no card where it was looked for. */
  | "card.notFound"
  /** What is there is no Agent Card, or one that sends an https caller to an http address. */
  | "card.invalid"
  /** The agent speaks no binding and version that this client speaks. */
  | "card.unsupported"
  /** No answer: no connection, one that broke, or none in time. */
  | "agent.unreachable"
  /** 401 or 403: the credentials are missing, wrong or not enough. */
  | "agent.unauthorized"
  /** 429 or 503, for longer than the client is patient. See `retryAfterMs`. */
  | "agent.busy"
  /** The agent's address answers with a redirect, which is not followed: it would carry the credentials along. */
  | "agent.redirected"
  /** Another HTTP error. See `status`. */
  | "agent.refused"
  /** The answer is longer than `maxAnswerBytes`. */
  | "answer.tooLarge"
  /** The answer is not what was asked for: no JSON, another request's, no task in it. */
  | "answer.invalid"
  /** Whether the agent took the message cannot be known. Send it again with the same `messageId`, or look for its task. */
  | "send.unknown"
  /** The task ended, and not well. See `task`. */
  | "task.failed"
  | "task.rejected"
  | "task.canceled"
  /** The agent answered with a message: there is no task to ask for, answer or cancel. */
  | "task.none"
  /** Nothing is open that could be answered. */
  | "interaction.none"
  /** What is open is of another kind: an approval is approved, a question answered, a connection connected. */
  | "interaction.kind"
  /** The agent asks for authorization in words alone; nothing that this client can send would be one. */
  | "interaction.wordsOnly"
  /** The file is not what the agent said it is: other bytes, or more of them; of a folder, another list of files. */
  | "file.changed"
  /** The file cannot be had (any more). */
  | "file.gone"
  /** The request carries no signature, no id or no timestamp, or its body is not raw. */
  | "webhook.invalid"
  /** No signature of it fits a secret or a public key. */
  | "webhook.forged"
  /** It was signed too long ago, or in the future. */
  | "webhook.stale"
  /** It does not carry the token that its config was made with. */
  | "webhook.token"
  /** Its body is longer than allowed. */
  | "webhook.tooLarge";

/** What an error knows beside its code. What it does not know is absent. */
export interface A2aClientErrorDetails extends ErrorOptions {
  /** The HTTP status: of the answer, or for a webhook, the one to answer with. */
  readonly status?: number | undefined;
  /** The JSON-RPC error code. */
  readonly rpcCode?: number | undefined;
  /** What `google.rpc.ErrorInfo` gives as reason, such as `CONTEXT_BUSY`. */
  readonly reason?: string | undefined;
  /** ErrorInfo's metadata. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The fields that the agent found wrong. */
  readonly violations?: readonly FieldViolation[] | undefined;
  /** How long the agent wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Of the message that was not answered. */
  readonly messageId?: string | undefined;
  /** The task as it ended. */
  readonly task?: TaskView | undefined;
}

/** Why a call to an agent, a task or a webhook did not come to what it should. `code` is stable, `message` is for people. */
export class A2aClientError extends Error {
  override readonly name = "A2aClientError";
  readonly code: A2aClientErrorCode;
  readonly status: number | undefined;
  readonly rpcCode: number | undefined;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly violations: readonly FieldViolation[] | undefined;
  readonly retryAfterMs: number | undefined;
  readonly messageId: string | undefined;
  readonly task: TaskView | undefined;

  constructor(code: A2aClientErrorCode, message: string, details: A2aClientErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.status = details.status;
    this.rpcCode = details.rpcCode;
    this.reason = details.reason;
    this.metadata = details.metadata;
    this.violations = details.violations;
    this.retryAfterMs = details.retryAfterMs;
    this.messageId = details.messageId;
    this.task = details.task;
  }
}

export function invalidCall(message: string): A2aClientError {
  return new A2aClientError("call.invalid", message);
}

export function invalidAnswer(message: string, cause?: unknown): A2aClientError {
  return new A2aClientError("answer.invalid", message, cause === undefined ? {} : { cause });
}

const byRpcCode = new Map<number, A2aWireCode>();
const byReason = new Map<string, A2aWireCode>();
for (const [name, { code, reason }] of Object.entries(A2A_ERRORS)) {
  const wire = `a2a.${name[0]!.toLowerCase()}${name.slice(1)}` as A2aWireCode;
  byRpcCode.set(code, wire);
  byReason.set(reason, wire);
}

/** `error` of a JSON-RPC answer, or of an HTTP+JSON one, as it came: nothing about it is certain. */
export type WireError = Readonly<Record<string, unknown>>;

/**
 * An error that an agent answered with (A2A 1.0, sections 9.5 and 11.6).
 *
 * @param status Of an HTTP+JSON answer, whose `code` repeats it.
 */
export function wireError(error: WireError, status?: number): A2aClientError {
  const details = [error["data"], error["details"]].find((value) => Array.isArray(value)) ?? [];
  const info = details.find((detail) => typeOf(detail) === "google.rpc.ErrorInfo") as WireError | undefined;
  const bad = details.find((detail) => typeOf(detail) === "google.rpc.BadRequest") as WireError | undefined;
  const reason = typeof info?.["reason"] === "string" ? info["reason"] : undefined;
  const rpcCode = status === undefined && typeof error["code"] === "number" ? error["code"] : undefined;
  const code = byRpcCode.get(rpcCode ?? 0) ?? byReason.get(reason ?? "") ?? "a2a.other";
  const said =
    typeof error["message"] === "string" && error["message"] !== "" ? cut(error["message"], 1000) : undefined;
  return new A2aClientError(code, said ?? `The agent answered with an error: ${cut(JSON.stringify(error), 200)}`, {
    status,
    rpcCode,
    reason,
    metadata: textsIn(info?.["metadata"]),
    violations: violationsIn(bad?.["fieldViolations"]),
  });
}

/** `google.rpc.ErrorInfo` of a detail, whose type is a URL that ends in it. */
function typeOf(detail: unknown): string | undefined {
  if (typeof detail !== "object" || detail === null) return undefined;
  const type = (detail as WireError)["@type"];
  return typeof type === "string" ? type.slice(type.lastIndexOf("/") + 1) : undefined;
}

function textsIn(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

function violationsIn(value: unknown): readonly FieldViolation[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = value.flatMap((one: unknown) => {
    const { field, description } = (typeof one === "object" && one !== null ? one : {}) as WireError;
    return typeof field === "string"
      ? [{ field, description: typeof description === "string" ? description : "" }]
      : [];
  });
  return found.length === 0 ? undefined : found;
}

/** What others said is repeated in part only. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
