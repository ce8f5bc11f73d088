/** Every answer that is an HTTP error, and none of JSON-RPC's: what came, what was expected, what to do. */
import type { ReportError } from "@nylorun/protocol";

import { AccessError } from "../access/errors.ts";
import { StoreError } from "../store/errors.ts";
import type { Refusal } from "./answer.ts";

export const unauthenticated: Refusal = {
  status: 401,
  code: "request.unauthenticated",
  message: "Send a valid key: Authorization: Bearer <key>. `nylorun keys add` makes one.",
  headers: { "WWW-Authenticate": "Bearer" },
};

/** The same where a program checks callers itself. @param challenge `WWW-Authenticate`. */
export const unauthenticatedBy = (challenge: string): Refusal => ({
  ...unauthenticated,
  message: "Send credentials that this server takes. The card of an agent may say which these are.",
  headers: { "WWW-Authenticate": challenge },
});

/** An operator sees how the Runtime does, and acts for nobody: contexts, tasks and agents are a subject's. */
export const noSubject: Refusal = {
  status: 403,
  code: "request.noSubject",
  message:
    "This key is an operator's and acts for no subject. Use one of a subject: `nylorun keys add --subject NAME`.",
};

/** A subject has its own contexts and tasks; what needs an operator is everybody's. */
export const noOperator: Refusal = {
  status: 403,
  code: "request.noOperator",
  message: "This key is a subject's. Use an operator's: `nylorun keys add --operator`.",
};

/** What is not there for one who asks may be there for the next. */
const notKept = { "Cache-Control": "no-store" };

/** The same for an agent that is not there and one that is not open to the subject (I7). */
export const noSuchAgent: Refusal = {
  status: 404,
  code: "agent.unknown",
  message: "There is no such agent. GET /v1/agents lists those that you may use.",
  headers: notKept,
};

/** @param limit In bytes. */
export const tooLarge = (limit: number): Refusal => ({
  status: 413,
  code: "request.tooLarge",
  message: `The body must have at most ${limit} bytes.`,
  details: { limit },
});

export const bodyLost: Refusal = {
  status: 400,
  code: "request.bodyLost",
  message: "The body ended before it was whole.",
};

export const notJsonType: Refusal = {
  status: 415,
  code: "request.notJson",
  message: "Send JSON: Content-Type: application/json.",
};

export const notJson: Refusal = {
  status: 400,
  code: "request.notJson",
  message: "The body must be one JSON value, in UTF-8.",
};

/** A report of progress that is none: which fields are wrong, what was expected and what came. */
export const badReport = ({ code, message, violations }: ReportError): Refusal => ({
  status: 400,
  code,
  message,
  details: { fields: violations.map(({ field }) => field).join(", ") },
});

/** @param most Tasks in one answer. */
export const badLimit = (most: number): Refusal => ({
  status: 400,
  code: "request.invalid",
  message: `limit must be a whole number from 1 to ${most}.`,
});

export const badDays: Refusal = {
  status: 400,
  code: "request.invalid",
  message: "days must be a whole number from 1 to 400.",
};

export const wrongHost = (host: string): Refusal => ({
  status: 421,
  code: "request.wrongHost",
  message: `This server does not answer for the host ${JSON.stringify(host.slice(0, 253))}. Its operator may allow it with --allowed-hosts.`,
});

export const noSuchPath: Refusal = {
  status: 404,
  code: "request.noSuchPath",
  message: "There is nothing here. Agents are at /v1/a2a/agents/<id>/, and GET /v1/agents lists them.",
};

export const noDashboard: Refusal = {
  status: 503,
  code: "dashboard.missing",
  message:
    "The dashboard's files are not here; the Runtime's log says why. Everything else works: `nylorun watch` shows what runs.",
};

export const signedOut: Refusal = {
  status: 401,
  code: "session.none",
  message: "Nobody is signed in here.",
};

export const badSignIn: Refusal = {
  status: 400,
  code: "request.invalid",
  message: 'Send {"key": "…"}, or {"link": "…"} with what a sign-in link carries.',
};

export const keyRefused: Refusal = {
  status: 401,
  code: "session.keyRefused",
  message: "This key opens nothing here: it is incomplete, revoked, or another Runtime's.",
};

export const linkRefused: Refusal = {
  status: 401,
  code: "session.linkRefused",
  message:
    "This link was used before, or its time is over. Sign in with a key, or start the Runtime again for a new link.",
};

/** A browser sends cookies along with what any page asks for; only our own pages' requests count. */
export const foreignPage: Refusal = {
  status: 403,
  code: "request.foreignPage",
  message: "Only the Runtime's own pages may do this.",
};

export const noDefaultAgent: Refusal = {
  status: 404,
  code: "agent.noDefault",
  message:
    "No agent is the default one here. Its card is at /v1/a2a/agents/<id>/.well-known/agent-card.json, and GET /v1/agents lists the ids.",
  headers: notKept,
};

/** @param allowed Methods, separated by commas. */
export const wrongMethod = (method: string, allowed: string): Refusal => ({
  status: 405,
  code: "request.wrongMethod",
  message: `Use ${allowed} here, not ${method.slice(0, 20)}.`,
  headers: { Allow: allowed },
});

/** @param seconds After which there is one more. */
export const tooManyRequests = (limit: number, seconds: number): Refusal => ({
  status: 429,
  code: "limit.requests",
  message: `You may send ${limit} requests a second. Send this one again later.`,
  details: { limit },
  headers: { "Retry-After": String(Math.max(1, seconds)) },
});

/** @param seconds After which there is one more. */
export const tooManySignIns = (seconds: number): Refusal => ({
  status: 429,
  code: "limit.signIns",
  message: "This key has been signed in with too often. Sign in later, or stay signed in.",
  headers: { "Retry-After": String(seconds) },
});

/** Nothing was taken: the same message can be sent again. */
export const tooManyWaits = (limit: number): Refusal => ({
  status: 429,
  code: "limit.waits",
  message: `${limit} of your calls wait already. Let this one not wait (configuration.returnImmediately), or send it again later.`,
  details: { limit },
  headers: { "Retry-After": "5" },
});

/** Larger bodies than fit are coming in at the moment. */
export const bodiesFull: Refusal = {
  status: 503,
  code: "limit.bodies",
  message: "Too many large bodies are coming in at this moment. Send this one again later.",
  headers: { "Retry-After": "1" },
};

/** Nothing was taken: the same message can be sent again. */
export const storeFull: Refusal = {
  status: 503,
  code: "store.full",
  message: "The disk is full: nothing can be taken until its operator has made room. Send this again later.",
  headers: { "Retry-After": "30" },
};

/** Altered, or not one of ours. */
export const linkInvalid: Refusal = {
  status: 403,
  code: "file.linkInvalid",
  message: "This link is none that was made here. Read the task for one: GetTask.",
};

export const linkExpired: Refusal = {
  status: 410,
  code: "file.linkExpired",
  message: "This link is no longer good. Read the task for a new one: GetTask.",
};

/** The link was good, and its task is no more. */
export const fileGone: Refusal = {
  status: 404,
  code: "file.gone",
  message: "The task that made this file is not stored any more, nor is the file.",
};

/** The store knows of it, and the bytes are not where they should be. */
export const fileLost: Refusal = {
  status: 404,
  code: "file.lost",
  message: "The bytes of this file are not there. Its operator may have them in a backup.",
};

export const stopping: Refusal = {
  status: 503,
  code: "runtime.stopping",
  message: "The Runtime is stopping.",
};

/** What was asked may have been done: the same message can be sent again all the same. */
export const storeDown: Refusal = {
  status: 503,
  code: "store.down",
  message: "The store does not answer. Send this again later.",
  headers: { "Retry-After": "5" },
};

/** Nothing is said about the token: it could not be looked at. */
export const issuerDown: Refusal = {
  status: 503,
  code: "issuer.down",
  message: "The token cannot be checked now: its issuer's keys are not to be had. Send this again later.",
  headers: { "Retry-After": "5" },
};

/** Something went wrong in here. The caller learns that, and under which id the log tells more (I10). */
export const internal = (traceId: string): Refusal => ({
  status: 500,
  code: "internal",
  message: "Internal error",
  details: { traceId },
});

/** What the store, or an issuer of tokens, cannot do now, and why; undefined: something else is wrong. */
export function laterRefusal(error: unknown): Refusal | undefined {
  if (error instanceof AccessError && error.code === "issuer.unreachable") return issuerDown;
  if (!(error instanceof StoreError)) return undefined;
  if (error.code === "store.full") return storeFull;
  return error.code === "store.unavailable" ? storeDown : undefined;
}
