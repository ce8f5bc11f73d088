/** What turns used, by agent and day: a subject's own, or everybody's for an operator. */
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import { dayMs } from "../store/store.ts";
import type { Store } from "../store/store.ts";
import { ownJsonText, refuse } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import type { Limits } from "./limits.ts";
import { badDays } from "./refusals.ts";

export interface UsageOptions {
  readonly store: Store;
  readonly authenticate: Authenticate;
  /** What nobody is answered. */
  readonly unauthenticated: Refusal;
  readonly limits: Limits;
}

/** Days that are answered, today among them. */
const DAYS = 30;
const MOST = 400;

export function createUsageRoutes({ store, authenticate, unauthenticated, limits }: UsageOptions): Hono {
  return new Hono().get("/v1/usage", async (c) => {
    const principal = await authenticate(c.req.raw);
    if (principal === undefined) return refuse(unauthenticated);
    const subject = principal.role === "operator" ? undefined : principal.subject;
    if (subject !== undefined) limits.request(subject);
    const asked = c.req.query("days");
    const days = asked === undefined ? DAYS : /^\d{1,3}$/.test(asked) ? Number(asked) : 0;
    if (days < 1 || days > MOST) return refuse(badDays(MOST));
    const rows = await store.usage({ subject, from: store.now() - (days - 1) * dayMs });
    const usage = rows.map(({ day, ...row }) => ({ ...row, day: new Date(day).toISOString().slice(0, 10) }));
    return ownJsonText(JSON.stringify({ usage }));
  });
}
