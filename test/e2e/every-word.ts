/** What the program of the built client calls, and what it is handed. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

import { defineAgent, reply } from "@nylorun/agents";
import { Webhook } from "standardwebhooks";

import type { Delivery } from "./built-client.ts";

/** Asks for an approval, or gives back what it is sent. */
export const everyWord = defineAgent({
  id: "every-word",
  name: "Every word",
  description: "For a test.",
  version: "1.0.0",
  skills: [{ id: "a", name: "a", description: "a", tags: ["a"] }],
  inputModes: ["*/*"],
  async run(turn) {
    if (turn.text !== "approve") return reply(...turn.parts);
    const plan = turn.plan(["Ask"]);
    plan.start("Ask");
    return (await turn.approve({ prompt: "Really?" })) ? "Approved." : "Denied.";
  },
});

/** A delivery that both a shared secret and a private key have signed. */
export function signedDelivery(): Delivery {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const body = JSON.stringify({ task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } } });
  const id = `msg_${randomBytes(8).toString("hex")}`;
  const at = Math.floor(Date.now() / 1000);
  const signature = sign(null, Buffer.from(`${id}.${at}.${body}`), privateKey).toString("base64");
  return {
    body,
    secret,
    publicKey: `whpk_${Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("base64")}`,
    headers: {
      "content-type": "application/a2a+json",
      "webhook-id": id,
      "webhook-timestamp": String(at),
      "webhook-signature": `${new Webhook(secret).sign(id, new Date(at * 1000), body)} v1a,${signature}`,
    },
  };
}

export function signingKey(): object {
  return generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
}
