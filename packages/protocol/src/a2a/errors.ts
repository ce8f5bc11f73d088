/**
 * The errors that cross the wire: one table row for each, and how one is written down (A2A 1.0, sections 3.3.2, 5.4 and 9.5).
 *
 * What is not an {@link A2aError} is internal: a fixed text and the trace id go out, nothing else (I10).
 */

/** The names are the specification's, without "Error". `reason` is what ErrorInfo says, unless a more exact one is given. */
export const A2A_ERRORS = {
  JSONParse: { code: -32700, reason: "JSON_PARSE", message: "Invalid JSON payload" },
  InvalidRequest: { code: -32600, reason: "INVALID_REQUEST", message: "Request payload validation error" },
  MethodNotFound: { code: -32601, reason: "METHOD_NOT_FOUND", message: "Method not found" },
  InvalidParams: { code: -32602, reason: "INVALID_PARAMS", message: "Invalid parameters" },
  Internal: { code: -32603, reason: "INTERNAL", message: "Internal error" },
  TaskNotFound: { code: -32001, reason: "TASK_NOT_FOUND", message: "Task not found" },
  TaskNotCancelable: { code: -32002, reason: "TASK_NOT_CANCELABLE", message: "Task cannot be canceled" },
  PushNotificationNotSupported: {
    code: -32003,
    reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    message: "Push notifications are not supported",
  },
  UnsupportedOperation: { code: -32004, reason: "UNSUPPORTED_OPERATION", message: "This operation is not supported" },
  ContentTypeNotSupported: {
    code: -32005,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    message: "Content type not supported",
  },
  InvalidAgentResponse: { code: -32006, reason: "INVALID_AGENT_RESPONSE", message: "Invalid agent response" },
  ExtendedAgentCardNotConfigured: {
    code: -32007,
    reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    message: "Extended Agent Card is not configured",
  },
  ExtensionSupportRequired: {
    code: -32008,
    reason: "EXTENSION_SUPPORT_REQUIRED",
    message: "Extension support required",
  },
  VersionNotSupported: { code: -32009, reason: "VERSION_NOT_SUPPORTED", message: "Protocol version not supported" },
} as const;

export type A2aErrorName = keyof typeof A2A_ERRORS;

/** A field that is wrong, by its path in the parameters, such as `message.parts[0].text`. */
export interface FieldViolation {
  readonly field: string;
  /** What was expected and what came. */
  readonly description: string;
}

export interface A2aErrorOptions extends ErrorOptions {
  /** For the caller. Default: the table's. */
  readonly message?: string;
  /** UPPER_SNAKE_CASE. Default: the table's. */
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
}

/** An answer that is an error. Everything in it, save `cause`, is for the caller to read. */
export class A2aError extends Error {
  override readonly name: string = "A2aError";
  /** The row of {@link A2A_ERRORS}. */
  readonly kind: A2aErrorName;
  /** The JSON-RPC error code. */
  readonly code: number;
  /** ErrorInfo's reason: stable, UPPER_SNAKE_CASE. */
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly violations: readonly FieldViolation[] | undefined;

  constructor(kind: A2aErrorName, options: A2aErrorOptions = {}) {
    const row = A2A_ERRORS[kind];
    // An internal error never says more than that it is one, whoever made it.
    const open = kind !== "Internal";
    super((open && options.message) || row.message, "cause" in options ? { cause: options.cause } : undefined);
    this.kind = kind;
    this.code = row.code;
    this.reason = (open && options.reason) || row.reason;
    this.metadata = open ? options.metadata : traceIdOf(options.metadata);
    this.violations = open ? options.violations : undefined;
  }
}

function traceIdOf(metadata: A2aErrorOptions["metadata"]): { traceId: string } | undefined {
  return metadata?.["traceId"] === undefined ? undefined : { traceId: metadata["traceId"] };
}

/** -32700: the body is not JSON. */
export const jsonParseError = (message?: string): A2aError => new A2aError("JSONParse", said(message));

/** -32600: JSON, but no JSON-RPC request. */
export const invalidRequest = (message?: string): A2aError => new A2aError("InvalidRequest", said(message));

/** -32601. */
export const methodNotFound = (method: string): A2aError =>
  new A2aError("MethodNotFound", { message: `Method not found: ${cut(method)}` });

/** -32602: at least one field is wrong. The message tells the first one, `violations` all of them. */
export function invalidParams(violations: readonly FieldViolation[], reason?: string): A2aError {
  const [first] = violations;
  return new A2aError("InvalidParams", {
    violations,
    ...(reason !== undefined && { reason }),
    ...(first && { message: `Invalid parameters: ${first.field || "params"} ${first.description}` }),
  });
}

/** -32603: a fixed text and the trace id. `cause` is for the log. */
export const internalError = (traceId?: string, cause?: unknown): A2aError =>
  new A2aError("Internal", { ...(traceId !== undefined && { metadata: { traceId } }), cause });

/** -32001: unknown, malformed, or someone else's (I7); the answer is the same. */
export const taskNotFound = (taskId: string): A2aError =>
  new A2aError("TaskNotFound", { metadata: { taskId: cut(taskId) } });

/** -32002: it has ended otherwise. */
export const taskNotCancelable = (taskId: string, message?: string): A2aError =>
  new A2aError("TaskNotCancelable", { metadata: { taskId: cut(taskId) }, ...said(message) });

/** -32003. */
export const pushNotificationNotSupported = (message?: string): A2aError =>
  new A2aError("PushNotificationNotSupported", said(message));

/** -32004, or a more exact `reason`, such as CONTEXT_BUSY. */
export const unsupportedOperation = (
  message: string,
  options?: Pick<A2aErrorOptions, "reason" | "metadata">,
): A2aError => new A2aError("UnsupportedOperation", { ...options, message });

/** -32005: of the request, or of a part of the message. */
export const contentTypeNotSupported = (message: string, metadata?: Readonly<Record<string, string>>): A2aError =>
  new A2aError("ContentTypeNotSupported", { message, ...(metadata && { metadata }) });

/** -32006. */
export const invalidAgentResponse = (message?: string): A2aError => new A2aError("InvalidAgentResponse", said(message));

/** -32007. */
export const extendedAgentCardNotConfigured = (): A2aError => new A2aError("ExtendedAgentCardNotConfigured");

/** -32008. */
export const extensionSupportRequired = (uri: string): A2aError =>
  new A2aError("ExtensionSupportRequired", { message: `Extension support required: ${uri}`, metadata: { uri } });

/** -32009. `supportedVersions` goes out in the metadata. */
export const versionNotSupported = (requested: string, supportedVersions: string): A2aError =>
  new A2aError("VersionNotSupported", {
    message: `A2A version ${cut(requested)} is not supported; send A2A-Version: ${supportedVersions}`,
    metadata: { requestedVersion: cut(requested), supportedVersions },
  });

function said(message: string | undefined): A2aErrorOptions {
  return message === undefined ? {} : { message };
}

/** What a caller sent goes back in part only: an answer is not made large by a large question. */
function cut(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 199).toWellFormed()}…`;
}

/** `error` of a JSON-RPC answer (section 9.5). */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data: readonly [ErrorInfo, ...BadRequest[]];
}

export interface ErrorInfo {
  readonly "@type": "type.googleapis.com/google.rpc.ErrorInfo";
  readonly reason: string;
  readonly domain: "a2a-protocol.org";
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface BadRequest {
  readonly "@type": "type.googleapis.com/google.rpc.BadRequest";
  readonly fieldViolations: readonly FieldViolation[];
}

/** Writes down any error. What is no {@link A2aError} becomes an internal one, which shows `traceId` alone (I10). */
export function toJsonRpcError(error: unknown, traceId?: string): JsonRpcError {
  const known = error instanceof A2aError ? error : internalError(traceId);
  const info: ErrorInfo = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: known.reason,
    domain: "a2a-protocol.org",
    ...(known.metadata && { metadata: known.metadata }),
  };
  return {
    code: known.code,
    message: known.message,
    data: known.violations?.length
      ? [info, { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: known.violations }]
      : [info],
  };
}
