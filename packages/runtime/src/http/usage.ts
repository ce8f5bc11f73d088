/** What turns used, by agent and day: a subject's own, or everybody's for an operator. */
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import { dayMs } from "../store/store.ts";
import type { Store } from "../store/store.ts";
import { ownJsonText, refuse } from "./answer.ts";
import type { Refusal } from "./answer.ts";
import type { Limits } from "./limits.ts";
import type { DailyUsage } from "./operations.ts";
import { badDays } from "./refusals.ts";

export interface UsageOptions {
  readonly store: Store;
  readonly authenticate: Authenticate;
  /** What nobody is answered. */
  readonly unauthenticated: Refusal;
  readonly limits: Limits;
}

/** Days that are answered, today among them, unless the caller says otherwise; and at most. */
const DAYS = 30;
const MOST = 400;

/** How many days a request asks for; undefined: none that there can be. */
export function daysOf(asked: string | undefined): number | undefined {
  const days = asked === undefined ? DAYS : /^\d{1,3}$/.test(asked) ? Number(asked) : 0;
  return days < 1 || days > MOST ? undefined : days;
}

/** @param subjects Undefined: of all together. */
export async function dailyUsage(
  store: Store,
  { subjects, days }: { readonly subjects: readonly string[] | undefined; readonly days: number },
): Promise<readonly DailyUsage[]> {
  const rows = await store.usage({ subjects, from: store.now() - (days - 1) * dayMs });
  return rows.map(({ day, ...row }) => ({ ...row, day: new Date(day).toISOString().slice(0, 10) }));
}

export function createUsageRoutes({ store, authenticate, unauthenticated, limits }: UsageOptions): Hono {
  return new Hono().get("/v1/usage", async (c) => {
    const principal = await authenticate(c.req.raw);
    if (principal === undefined) return refuse(unauthenticated);
    const subject = principal.role === "operator" ? undefined : principal.subject;
    if (subject !== undefined) limits.request(subject);
    const days = daysOf(c.req.query("days"));
    if (days === undefined) return refuse(badDays);
    // What its agents have called for is not told apart from them, and who is called is nobody's to know but operators' (I10).
    const usage = await dailyUsage(store, { subjects: subject === undefined ? undefined : [subject], days });
    return ownJsonText(JSON.stringify({ usage }));
  });
}
