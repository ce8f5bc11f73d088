/** `verifyWebhook`: whatever is not as its sender signed it is refused by a name, and what is signed is read or refused by a name. */
import { createHmac } from "node:crypto";

import { A2aClientError, verifyWebhook } from "@nylorun/agents/a2a";
import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import type { Input, StartTarget } from "../target.ts";

interface Delivery {
  /** One character a byte. */
  readonly body: string;
  readonly id: string;
  /** Added to the time now, in seconds. */
  readonly late: number;
  /** What takes the place of a header after it was signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** What takes the place of the body after it was signed. */
  readonly instead?: string;
}

const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString("base64")}`;
const status = fc.record({
  state: fc.constantFrom("TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_UNSPECIFIED"),
});
const task = fc.record({ id: fc.string(), contextId: fc.string(), status });
const updates = fc.oneof(
  task.map((one) => ({ task: one })),
  fc.record({ taskId: fc.string(), contextId: fc.string(), status }).map((one) => ({ statusUpdate: one })),
  fc.constant({
    artifactUpdate: { taskId: "t", contextId: "c", artifact: { artifactId: "a", parts: [{ text: "x" }] } },
  }),
  fc.constant({ message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] } }),
);
const bodies = fc.oneof(
  { weight: 4, arbitrary: near(updates).map((value) => latin1(JSON.stringify(value) ?? "")) },
  { weight: 2, arbitrary: nearBytes(updates.map((value) => latin1(JSON.stringify(value)))) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 100 }).map(latin1) },
);
const visible = fc.string({ unit: "grapheme-ascii", maxLength: 40 }).map((text) => text.trim());
const inputs: fc.Arbitrary<Delivery> = bodies.chain((body) =>
  fc.record(
    {
      body: fc.constant(body),
      id: fc.oneof(
        fc.uuid(),
        visible.filter((text) => text !== ""),
      ),
      late: fc.constantFrom(0, 0, 0, 0, 290, -290, 400, -400, 1e9),
      headers: fc.dictionary(
        fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "x-a2a-notification-token"),
        fc.oneof(visible, fc.constantFrom("v1,", "v1a,AAAA", ", , ,", "-1", "1e3", "NaN", "999999999999999")),
        { maxKeys: 2 },
      ),
      instead: nearBytes(fc.constant(body)),
    },
    { requiredKeys: ["body", "id", "late", "headers"] },
  ),
);

export const startWebhook: StartTarget = async () => ({
  inputs,
  async check(input: Input) {
    const { body, id, late, headers, instead } = input as Delivery;
    const stamp = String(Math.floor(Date.now() / 1000) + late);
    const bytes = Buffer.from(body, "latin1");
    const mac = createHmac("sha256", KEY).update(`${id}.${stamp}.`).update(bytes).digest("base64");
    const signed: Record<string, string> = {
      "webhook-id": id,
      "webhook-timestamp": stamp,
      "webhook-signature": `v1,${mac}`,
      "x-a2a-notification-token": "token",
    };
    const sent = { ...signed, ...headers };
    const request = { headers: sent, body: Buffer.from(instead ?? body, "latin1") };
    const isAsSigned =
      Object.entries(signed).every(([name, value]) => sent[name] === value) &&
      request.body.equals(bytes) &&
      Math.abs(late) < 300;
    const memory = { add: async () => true, delete: async () => undefined };
    let hook: Awaited<ReturnType<typeof verifyWebhook>>;
    try {
      hook = await verifyWebhook(request, { secrets: [SECRET], token: "token", seen: memory });
    } catch (error) {
      if (!(error instanceof A2aClientError) || !error.code.startsWith("webhook.")) throw error;
      if (isAsSigned && error.code !== "webhook.invalid") {
        throw new Error(`is as signed, and refused as ${error.code}`, { cause: error });
      }
      return;
    }
    if (!isAsSigned) throw new Error("is not as it was signed, and is taken");
    const kinds = Object.keys(hook.update).filter((kind) => /^(task|message|statusUpdate|artifactUpdate)$/.test(kind));
    if (kinds.length !== 1) throw new Error(`is taken with ${kinds.length} of the four kinds`);
  },
  async [Symbol.asyncDispose]() {},
});
