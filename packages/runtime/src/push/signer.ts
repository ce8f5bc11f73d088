/**
 * Signs what goes to webhooks, as Standard Webhooks has it: `v1` with each secret that is shared with receivers, and `v1a` with each key
 * whose public half anybody can read. Who shares a secret could sign as well; with `v1a` one receiver cannot pose as the Runtime to another.
 */
import { sign } from "node:crypto";

import { Webhook } from "standardwebhooks";

import type { WebhookKey } from "./keys.ts";

export interface Signed {
  readonly id: string;
  /** In seconds since 1970. */
  readonly timestamp: number;
  /** As it is sent. */
  readonly body: Buffer;
}

export interface SignerOptions {
  /** `whsec_…`, the one in use first, then those that it replaces. Asked each time: they may change. */
  readonly secrets: () => readonly string[];
  readonly keys: () => Promise<readonly WebhookKey[]>;
}

/** The headers that sign it. */
export type Signer = (signed: Signed) => Promise<Readonly<Record<string, string>>>;

/** Secrets that are kept ready. */
const KEPT = 16;

export function createSigner({ secrets, keys }: SignerOptions): Signer {
  const webhooks = new Map<string, Webhook>();
  const webhookOf = (secret: string): Webhook => {
    let webhook = webhooks.get(secret);
    if (webhook === undefined) {
      if (webhooks.size >= KEPT) webhooks.clear();
      webhooks.set(secret, (webhook = new Webhook(secret)));
    }
    return webhook;
  };
  return async ({ id, timestamp, body }) => {
    const date = new Date(timestamp * 1000);
    const signatures = secrets().map((secret) => webhookOf(secret).sign(id, date, body));
    const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
    for (const { privateKey } of await keys())
      signatures.push(`v1a,${sign(null, content, privateKey).toString("base64")}`);
    return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signatures.join(" ") };
  };
}
