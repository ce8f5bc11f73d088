import assert from "node:assert/strict";
import { createPublicKey, randomBytes, verify } from "node:crypto";
import { describe, it } from "node:test";

import { verifyWebhook } from "@nylorun/agents/a2a";
import { Webhook } from "standardwebhooks";

import { createWebhookKeys, publicKeysOf } from "../../src/push/keys.ts";
import { createSigner } from "../../src/push/signer.ts";
import { createLocalSignal } from "../../src/store/local-signal.ts";
import { createMemoryHome } from "../../src/store/memory/store.ts";

const HOUR = 3_600_000;
const secret = () => `whsec_${randomBytes(24).toString("base64")}`;
const text = JSON.stringify({
  statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } },
  more: "ü€😀",
});
const seen = { add: () => true, delete: () => true };

function place() {
  const home = createMemoryHome();
  const time = { now: Date.now() };
  const open = () => createWebhookKeys(home.open({ signal: createLocalSignal(), now: () => time.now }));
  return { time, open };
}

async function signed(secrets: readonly string[], keys: ReturnType<typeof createWebhookKeys>) {
  const sign = createSigner({ secrets: () => secrets, keys: () => keys.current() });
  return {
    headers: await sign({ id: "msg_1", timestamp: Math.floor(Date.now() / 1000), body: Buffer.from(text) }),
    body: text,
  };
}

describe("a signature", () => {
  it("is taken by the library of Standard Webhooks, by our client, and by anybody with the public key", async () => {
    const keys = place().open();
    const one = secret();
    const request = await signed([one], keys);
    assert.deepEqual(new Webhook(one).verify(text, { ...request.headers }), JSON.parse(text));
    const { keys: published } = publicKeysOf(await keys.current());
    const [jwk] = published;
    await verifyWebhook(request, { publicKeys: [jwk!["whpk"]!], seen });
    const [, v1a] = /v1a,(\S+)/.exec(request.headers["webhook-signature"]!)!;
    const key = createPublicKey({ key: { ...jwk! }, format: "jwk" });
    const content = Buffer.from(`msg_1.${request.headers["webhook-timestamp"]}.${text}`);
    assert.equal(verify(null, content, key, Buffer.from(v1a!, "base64")), true);
    assert.doesNotMatch(JSON.stringify(published), /"d"/);
  });

  // keeps: push-attempts-rotation
  it("is made with the secret before as well, while one replaces another", async () => {
    const keys = place().open();
    const [old, next, other] = [secret(), secret(), secret()];
    const request = await signed([next, old], keys);
    for (const one of [old, next]) await verifyWebhook(request, { secrets: [one], seen });
    await assert.rejects(verifyWebhook(request, { secrets: [other], seen }), { code: "webhook.forged" });
  });

  // keeps: push-attempts-forgery
  it("is no other receiver's to make: who has the secret cannot pose as the Runtime to one that checks v1a", async () => {
    const keys = place().open();
    const shared = secret();
    const [published] = publicKeysOf(await keys.current()).keys;
    const timestamp = new Date();
    const forged = {
      body: text,
      headers: {
        "webhook-id": "msg_2",
        "webhook-timestamp": String(Math.floor(timestamp.getTime() / 1000)),
        "webhook-signature": new Webhook(shared).sign("msg_2", timestamp, text),
      },
    };
    await verifyWebhook(forged, { secrets: [shared], seen });
    await assert.rejects(verifyWebhook(forged, { publicKeys: [published!["whpk"]!], seen }), {
      code: "webhook.forged",
    });
    // A v1a signature of its own key is none either; and a signature is good for its delivery alone.
    const own = await signed([shared], place().open());
    await assert.rejects(verifyWebhook(own, { publicKeys: [published!["whpk"]!], seen }), { code: "webhook.forged" });
    const real = await signed([shared], keys);
    const moved = { ...real, headers: { ...real.headers, "webhook-id": "msg_3" } };
    await assert.rejects(verifyWebhook(moved, { publicKeys: [published!["whpk"]!], seen }), { code: "webhook.forged" });
  });
});

describe("the key that webhooks are signed with", () => {
  it("is made once, by whichever node comes first, and the same ever after", async () => {
    const { open } = place();
    const texts = await Promise.all(
      [open(), open(), open()].map(async (keys) => (await keys.current()).map((key) => key.text)),
    );
    assert.equal(texts[0]!.length, 1);
    assert.deepEqual(texts[1], texts[0]);
    assert.deepEqual(texts[2], texts[0]);
  });

  // keeps: push-attempts-rotation
  it("signs beside the next one for two days, on every node, without a restart", async () => {
    const { time, open } = place();
    const [here, there] = [open(), open()];
    const [old] = await here.current();
    await there.current();
    time.now += HOUR;
    await here.rotate();
    const [next, ...others] = await here.current();
    assert.notEqual(next!.text, old!.text);
    assert.deepEqual(
      others.map((key) => key.text),
      [old!.text],
    );
    time.now += 11_000;
    assert.deepEqual(
      (await there.current()).map((key) => key.text),
      [next!.text, old!.text],
    );
    const request = await signed([], there);
    for (const key of [old!, next!]) await verifyWebhook(request, { publicKeys: [key.text], seen });
    time.now += 48 * HOUR;
    assert.deepEqual(
      (await there.current()).map((key) => key.text),
      [next!.text],
    );
  });
});
