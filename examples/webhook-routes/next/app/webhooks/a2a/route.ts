/** A webhook in Next, as a route handler of the app router. */
import { A2aClientError, verifyWebhook } from "@nylorun/agents/a2a";

import { remember, whatToExpect } from "../../../../updates.ts";

export async function POST(request: Request): Promise<Response> {
  try {
    const hook = await verifyWebhook(request, whatToExpect());
    await hook.once(remember);
    return new Response(null, { status: 204 });
  } catch (error) {
    // Who sends what nobody signed is told so, and is no failure of yours.
    if (!(error instanceof A2aClientError) || error.status === undefined) throw error;
    return new Response(error.message, { status: error.status });
  }
}
