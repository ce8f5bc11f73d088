/** The operator's routes: {@link Operations} as HTTP. What calls them has been found to be an operator. */
import { Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

import { AccessError } from "../access/errors.ts";
import { checkSubject } from "../access/subject.ts";
import type { KeyHolder } from "../store/store.ts";
import { RuntimeError } from "./errors.ts";
import type { Operations } from "./operations.ts";

/** What an error is on this wire. */
export interface OperatorFailure {
  readonly error: { readonly code: string; readonly message: string };
}

const STATUS: Readonly<Record<string, ContentfulStatusCode>> = {
  "subject.invalid": 400,
  "request.invalid": 400,
  "key.unknown": 404,
  "turn.notHeld": 409,
};

export function createOperatorApp(operations: Operations): Hono {
  return new Hono()
    .basePath("/v1/operator")
    .get("/process", (c) => c.json({ pid: process.pid }))
    .get("/keys", async (c) => c.json({ keys: await operations.listKeys() }))
    .post("/keys", async (c) => c.json(await operations.addKey(holderOf(await c.req.json())), 201))
    .delete("/keys/:id", async (c) => {
      await operations.revokeKey(c.req.param("id"));
      return c.body(null, 204);
    })
    .get("/turns/held", async (c) => c.json({ turns: await operations.heldTurns() }))
    .post("/turns/:task/release", async (c) => {
      await operations.releaseTurn(c.req.param("task"));
      return c.body(null, 204);
    })
    .post("/turns/:task/fail", async (c) => {
      const { reason } = await c.req.json<{ reason?: unknown }>();
      await operations.failTurn(c.req.param("task"), typeof reason === "string" ? reason : undefined);
      return c.body(null, 204);
    })
    .notFound((c) => c.json(failure("request.invalid", "There is no such operation."), 404))
    .onError((error, c) => {
      if (error instanceof SyntaxError) return c.json(failure("request.invalid", "The body must be JSON."), 400);
      if (!(error instanceof RuntimeError) && !(error instanceof AccessError)) throw error;
      return c.json(failure(error.code, error.message), STATUS[error.code] ?? 500);
    });
}

function holderOf(body: unknown): KeyHolder {
  const { role, subject } = body as { role?: unknown; subject?: unknown };
  if (role === "operator") return { role };
  if (role === "subject") return { role, subject: checkSubject(subject) };
  throw new RuntimeError("request.invalid", 'role must be "subject" or "operator".');
}

function failure(code: string, message: string): OperatorFailure {
  return { error: { code, message } };
}
