/** The routes as a sender meets them: over HTTP, with signed deliveries, forged ones, and the same ones again. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";

import { getRequestListener } from "@hono/node-server";
import { Webhook } from "standardwebhooks";

import { app as express } from "../express.ts";
import { app as hono } from "../hono.ts";
import { POST } from "../next/app/webhooks/a2a/route.ts";
import { states } from "../updates.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const token = randomBytes(16).toString("hex");
process.env["A2A_WEBHOOK_SECRET"] = secret;
process.env["A2A_WEBHOOK_TOKEN"] = token;
// Express prints the errors that it answers, unless it is tested.
process.env["NODE_ENV"] = "test";

const routes: readonly (readonly [string, RequestListener])[] = [
  ["Hono", getRequestListener(hono.fetch)],
  // Express looks when it is made; this one was made before.
  ["Express", express.set("env", "test")],
  ["Next", getRequestListener(POST)],
];

for (const [name, listener] of routes) {
  describe(`the route in ${name}`, () => {
    let server: Server;
    let url: string;
    before(async () => {
      server = createServer(listener);
      await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/a2a`;
    });
    after(() => void server.close());

    interface Delivery {
      readonly id: string;
      readonly state: string;
      readonly by?: string;
      readonly headers?: Record<string, string>;
    }

    /** Posts an update of a task that is named as the route is. */
    async function deliver({ id, state, by = secret, headers }: Delivery): Promise<number> {
      const status = { state, timestamp: new Date().toISOString() };
      const body = JSON.stringify({ statusUpdate: { taskId: name, contextId: "c1", status } });
      const now = new Date();
      const response = await fetch(url, {
        method: "POST",
        body,
        headers: {
          "Content-Type": "application/a2a+json",
          "webhook-id": `${name}-${id}`,
          "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
          "webhook-signature": new Webhook(by).sign(`${name}-${id}`, now, body),
          "X-A2A-Notification-Token": token,
          ...headers,
        },
      });
      await response.body?.cancel();
      return response.status;
    }

    // keeps: a2a-client-webhook-2xx
    test("takes what is signed, and answers 204", async () => {
      assert.equal(await deliver({ id: "1", state: "TASK_STATE_WORKING" }), 204);
      assert.equal(states.get(name), "TASK_STATE_WORKING");
    });

    test("answers what comes again with 204, and does nothing", async () => {
      assert.equal(await deliver({ id: "2", state: "TASK_STATE_COMPLETED" }), 204);
      states.set(name, "TASK_STATE_CANCELED");
      assert.equal(await deliver({ id: "2", state: "TASK_STATE_COMPLETED" }), 204);
      assert.equal(states.get(name), "TASK_STATE_CANCELED");
    });

    test("refuses what another secret signed, or what lacks the token, with 401", async () => {
      states.delete(name);
      const other = `whsec_${randomBytes(32).toString("base64")}`;
      assert.equal(await deliver({ id: "3", state: "TASK_STATE_FAILED", by: other }), 401);
      assert.equal(
        await deliver({ id: "4", state: "TASK_STATE_FAILED", headers: { "X-A2A-Notification-Token": "x" } }),
        401,
      );
      assert.equal(states.has(name), false);
    });

    test("refuses what is not signed with 400", async () => {
      const response = await fetch(url, {
        method: "POST",
        body: "{}",
        headers: { "Content-Type": "application/json" },
      });
      assert.equal(response.status, 400);
    });
  });
}
