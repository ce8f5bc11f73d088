/** A webhook in Hono. */
import { A2aClientError, verifyWebhook } from "@nylorun/agents/a2a";
import { Hono } from "hono";

import { remember, whatToExpect } from "./updates.ts";

export const app = new Hono();

app.post("/webhooks/a2a", async (c) => {
  const hook = await verifyWebhook(c.req.raw, whatToExpect());
  await hook.once(remember);
  return c.body(null, 204);
});

// Who sends what nobody signed is told so, and is no failure of yours.
app.onError((error, c) => {
  const status = error instanceof A2aClientError ? error.status : undefined;
  return Response.json({ error: error.message }, { status: status ?? 500, headers: c.res.headers });
});
