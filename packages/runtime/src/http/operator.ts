/**
 * The operator's routes: {@link Operations} as HTTP. A request is checked in one order, as everywhere: credentials (401), that they
 * are an operator's (403), of a body its type (415), size (413), that it is JSON, and its fields (400); then it is done.
 */
import { isAbsolute } from "node:path";

import { Hono } from "hono";
import type { Context, Handler } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import { AccessError } from "../access/errors.ts";
import { checkSubject } from "../access/subject.ts";
import type { KeyHolder } from "../store/store.ts";
import type { Resolution } from "../turn/engine.ts";
import { ownJsonText, refuse } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import { readJson } from "./json-body.ts";
import { OperationError } from "./operations.ts";
import type { DeliveryState, Erasure, OperationErrorCode, Operations } from "./operations.ts";
import { badDays, badLimit, noOperator, unauthenticated as keyNeeded } from "./refusals.ts";
import { daysOf } from "./usage.ts";

export interface OperatorOptions {
  readonly operations: Operations;
  /** Undefined: who can send a request has been found to be an operator. */
  readonly authenticate?: Authenticate | undefined;
  /** What nobody is answered. Default: that a key is needed. */
  readonly unauthenticated?: Refusal;
  /** Of a body, in bytes. */
  readonly bodyBytes: number;
}

const STATUS: { readonly [Code in OperationErrorCode]: number } = {
  "request.invalid": 400,
  "key.unknown": 404,
  "turn.notHeld": 409,
  "effect.notLost": 404,
  "effect.ended": 409,
  "effect.tooLarge": 400,
  "delivery.notGivenUp": 404,
  "erase.unknown": 404,
  "erase.running": 409,
  "backup.failed": 409,
};

/** Characters of what an agent or a caller is told. */
const WORDS = 4_000;

/** What needs an operator, seen and settled. */
export function createOperatorRoutes(options: OperatorOptions): Hono {
  const { operations } = options;
  const { plain, withBody } = createHandlers(options);
  return new Hono()
    .basePath("/v1/operator")
    .get(
      "/effects",
      plain(async () => json({ effects: await operations.lostEffects() })),
    )
    .post(
      "/effects/:id/resolve",
      withBody((c, body) => done(operations.resolveEffect(param(c, "id"), resolutionOf(body)))),
    )
    .get(
      "/queues",
      plain(async (c) => json({ queues: await operations.queues(limitOf(c.req.query("limit"))) })),
    )
    .get(
      "/usage",
      plain(async (c) => json({ usage: await operations.usage(usageQueryOf(c)) })),
    )
    .get(
      "/keys",
      plain(async () => json({ keys: await operations.listKeys() })),
    )
    .delete(
      "/keys/:id",
      plain((c) => done(operations.revokeKey(param(c, "id")))),
    )
    .get(
      "/deliveries",
      plain(async (c) => json({ deliveries: await operations.deliveries(deliveryState(c.req.query("state"))) })),
    )
    .post(
      "/deliveries/:id/resend",
      plain((c) => done(operations.resendDelivery(param(c, "id")))),
    )
    .get(
      "/turns/held",
      plain(async () => json({ turns: await operations.heldTurns() })),
    )
    .post(
      "/turns/:task/release",
      plain((c) => done(operations.releaseTurn(param(c, "task")))),
    )
    .post(
      "/turns/:task/fail",
      withBody((c, body) => done(operations.failTurn(param(c, "task"), reasonOf(body)))),
    );
}

/** Makes keys. Not for the network: an operator sees to the Runtime and acts for nobody, and whoever can make keys can act for everybody. */
export function createKeyRoutes(options: OperatorOptions): Hono {
  const { operations } = options;
  const { withBody } = createHandlers(options);
  return new Hono().post(
    "/v1/operator/keys",
    withBody(async (_, body) => json(await operations.addKey(holderOf(body)))),
  );
}

/** What is done to the home as a whole. Not for the network either: who may do this has the machine. */
export function createHomeRoutes(options: OperatorOptions): Hono {
  const { operations } = options;
  const { plain, withBody } = createHandlers(options);
  return new Hono()
    .basePath("/v1/operator")
    .post(
      "/webhook-keys/rotate",
      plain(() => done(operations.rotateWebhookKey())),
    )
    .post(
      "/erase",
      withBody(async (_, body) => json(await operations.erase(erasureOf(body)))),
    )
    .post(
      "/backup",
      withBody(async (_, body) => json(await operations.backup(fileOf(body)))),
    );
}

function createHandlers({ authenticate, unauthenticated = keyNeeded, bodyBytes }: OperatorOptions) {
  const plain =
    (answer: (c: Context) => Promise<Response>): Handler =>
    async (c) => {
      if (authenticate !== undefined) {
        const principal = await authenticate(c.req.raw);
        if (principal === undefined) return refuse(unauthenticated);
        if (principal.role !== "operator") return refuse(noOperator);
      }
      try {
        return await answer(c);
      } catch (error) {
        if (error instanceof AccessError) return refuse({ status: 400, code: error.code, message: error.message });
        if (!(error instanceof OperationError)) throw error;
        return refuse({ status: STATUS[error.code], code: error.code, message: error.message });
      }
    };
  const withBody = (answer: (c: Context, body: unknown) => Promise<Response>): Handler =>
    plain(async (c) => {
      const body = await readJson(c.req.raw, bodyBytes);
      return "refusal" in body ? refuse(body.refusal) : answer(c, body.value);
    });
  return { plain, withBody };
}

function json(value: object): Response {
  return ownJsonText(JSON.stringify(value));
}

async function done(doing: Promise<void>): Promise<Response> {
  await doing;
  return new Response(null, { status: 204 });
}

function param(c: Context, name: string): string {
  return c.req.param(name) ?? "";
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new OperationError("request.invalid", "The body must be a JSON object.");
}

function resolutionOf(body: unknown): Resolution {
  const { outcome, value, message } = fieldsOf(body);
  switch (outcome) {
    case "completed":
      return { outcome, value };
    case "failed":
      return { outcome, message: words("message", message) };
    case "retry":
      return { outcome };
    default:
      throw new OperationError("request.invalid", 'outcome must be "completed", "failed" or "retry".');
  }
}

function deliveryState(text = "given-up"): DeliveryState {
  if (text === "given-up" || text === "waiting") return text;
  throw new OperationError("request.invalid", 'state must be "given-up" or "waiting".');
}

/** Contexts in one answer. */
function limitOf(text = "100"): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 1_000) return limit;
  throw new OperationError("request.invalid", badLimit(1_000).message);
}

function usageQueryOf(c: Context): Parameters<Operations["usage"]>[0] {
  const [days, subject] = [daysOf(c.req.query("days")), c.req.query("subject")];
  if (days === undefined) throw new OperationError("request.invalid", badDays.message);
  return { days, subject: subject === undefined ? undefined : checkSubject(subject) };
}

function reasonOf(body: unknown): string | undefined {
  const { reason } = fieldsOf(body);
  return reason === undefined ? undefined : words("reason", reason);
}

function words(field: string, value: unknown): string {
  if (typeof value === "string" && value.trim() !== "" && value.length <= WORDS) return value;
  throw new OperationError("request.invalid", `${field} must be a text of 1 to ${WORDS} characters.`);
}

function erasureOf(body: unknown): Erasure {
  const { what } = fieldsOf(body);
  switch (what) {
    case "task":
      return { what, taskId: textOf(body, "taskId") };
    case "context":
      return {
        what,
        subject: checkSubject(textOf(body, "subject")),
        agent: textOf(body, "agent"),
        contextId: textOf(body, "contextId"),
      };
    case "subject":
      return { what, subject: checkSubject(textOf(body, "subject")) };
    default:
      throw new OperationError("request.invalid", 'what must be "task", "context" or "subject".');
  }
}

/** What something is called by. */
function textOf(body: unknown, field: string): string {
  const text = words(field, fieldsOf(body)[field]);
  if (!text.includes("\0")) return text;
  throw new OperationError("request.invalid", `${field} must not hold a NUL.`);
}

/** From the root: the folder that this process is in is not the one who asks is in. */
function fileOf(body: unknown): string {
  const file = textOf(body, "file");
  if (isAbsolute(file)) return file;
  throw new OperationError("request.invalid", "file must be an absolute path.");
}

function holderOf(body: unknown): KeyHolder {
  const { role, subject } = fieldsOf(body);
  if (role === "operator") return { role };
  if (role === "subject") return { role, subject: checkSubject(subject) };
  throw new OperationError("request.invalid", 'role must be "subject" or "operator".');
}
