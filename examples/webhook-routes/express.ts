/** A webhook in Express. The body stays raw: what was parsed has lost the bytes that were signed. */
import { verifyWebhook } from "@nylorun/agents/a2a";
import express from "express";

import { remember, whatToExpect } from "./updates.ts";

export const app = express();

// Express 5 answers what an async handler throws, with the error's own status.
// oxlint-disable-next-line oxc/no-async-endpoint-handlers
app.post("/webhooks/a2a", express.raw({ type: () => true, limit: "8mb" }), async (request, response) => {
  const hook = await verifyWebhook({ headers: request.headers, body: request.body as Uint8Array }, whatToExpect());
  await hook.once(remember);
  response.status(204).end();
});
