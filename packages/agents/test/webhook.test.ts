/** Deliveries to a webhook: who signed them, when, and whether they have been here before. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { describe, test } from "node:test";

import { verifyWebhook } from "@nylorun/agents/a2a";
import type { SeenIds, WebhookOptions } from "@nylorun/agents/a2a";
import { Webhook } from "standardwebhooks";

const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;
const secret = newSecret();
const update = {
  statusUpdate: {
    taskId: "t1",
    contextId: "c1",
    status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-10-14T02:00:00.000Z" },
  },
};
const body = JSON.stringify(update);

interface Delivery {
  readonly id?: string;
  /** Seconds since 1970. */
  readonly at?: number;
  readonly body?: string;
  readonly signature?: string;
  readonly headers?: Record<string, string | undefined>;
}

let deliveries = 0;
const now = () => Math.floor(Date.now() / 1000);

/** As a sender makes it, with the shared secret unless a signature is given. */
function headersOf({
  id = `msg_${++deliveries}`,
  at = now(),
  body: content = body,
  signature,
  headers,
}: Delivery = {}) {
  const all = {
    "content-type": "application/a2a+json",
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": signature ?? new Webhook(secret).sign(id, new Date(at * 1000), content),
    ...headers,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function request(delivery: Delivery = {}): Request {
  return new Request("https://example.com/hook", {
    method: "POST",
    headers: headersOf(delivery),
    body: delivery.body ?? body,
  });
}

const check = (delivery: Delivery, options: WebhookOptions = { secrets: [secret] }) =>
  verifyWebhook(request(delivery), options);

describe("a delivery", () => {
  test("gives a typed update, its task and whether that has ended", async () => {
    const hook = await check({ id: "msg_first" });
    assert.deepEqual(hook.update, update);
    assert.equal(hook.update.statusUpdate?.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual([hook.taskId, hook.ended, hook.id, hook.duplicate], ["t1", true, "msg_first", false]);
    assert.ok(Math.abs(hook.timestamp - Date.now()) < 2_000);
  });

  test("of any of the four kinds is taken, and of no other shape", async () => {
    const task = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } };
    const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "Hi" }] };
    const artifactUpdate = { taskId: "t1", contextId: "c1", artifact: { artifactId: "a", parts: [{ text: "x" }] } };
    for (const good of [{ task }, { message }, { artifactUpdate }, update]) {
      const hook = await check({ body: JSON.stringify(good) });
      assert.deepEqual(hook.update, good);
    }
    const wrong = [
      {},
      [],
      7,
      { task, message },
      { task: { ...task, id: "" } },
      { statusUpdate: { taskId: "t1", status: { state: "DONE" } } },
    ];
    for (const one of wrong) {
      await assert.rejects(check({ body: JSON.stringify(one) }), { code: "webhook.invalid", status: 400 });
    }
  });

  // keeps: a2a-client-webhook-verified
  test("whose body was changed, or that somebody else signed, is refused", async () => {
    const signature = new Webhook(secret).sign("msg_x", new Date(now() * 1000), body);
    const changed = body.replace("COMPLETED", "REJECTED");
    await assert.rejects(check({ id: "msg_x", body: changed, signature }), { code: "webhook.forged", status: 401 });
    await assert.rejects(check({ id: "msg_other", signature }), { code: "webhook.forged" });
    await assert.rejects(check({}, { secrets: [newSecret()] }), { code: "webhook.forged" });
    await assert.rejects(check({ signature: "v1," }), { code: "webhook.forged" });
    await assert.rejects(check({ signature: "v2,AAAA v1" }), { code: "webhook.forged" });
  });

  test("is checked over its very bytes: white space and byte order marks count", async () => {
    const spaced = `\uFEFF ${body}\n`;
    await assert.rejects(check({ body: spaced }), { code: "webhook.invalid" }, "signed, but no JSON");
    const signature = new Webhook(secret).sign("msg_y", new Date(now() * 1000), body);
    await assert.rejects(check({ id: "msg_y", body: `${body} `, signature }), { code: "webhook.forged" });
    assert.ok(await check({ body: `${body}\n` }));
  });

  test("without its headers, or with a time that is none, is refused", async () => {
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      await assert.rejects(check({ headers: { [name]: undefined } }), { code: "webhook.invalid", status: 400 });
    }
    await assert.rejects(check({ headers: { "webhook-timestamp": "yesterday" } }), { code: "webhook.invalid" });
  });

  test("that is old, or from the future, is refused beyond the tolerance", async () => {
    await assert.rejects(check({ at: now() - 400 }), { code: "webhook.stale", status: 401 });
    await assert.rejects(check({ at: now() + 400 }), { code: "webhook.stale" });
    assert.ok(await check({ at: now() - 400 }, { secrets: [secret], toleranceMs: 600_000 }));
    await assert.rejects(check({ at: now() - 30 }, { secrets: [secret], toleranceMs: 10_000 }), {
      code: "webhook.stale",
    });
  });

  test("is taken with the old and the new secret while they change", async () => {
    const fresh = newSecret();
    assert.ok(await check({}, { secrets: [fresh, secret] }));
    const at = now();
    const both = [fresh, secret].map((one) => new Webhook(one).sign("msg_r", new Date(at * 1000), body)).join(" ");
    assert.ok(await check({ id: "msg_r", at, signature: both }, { secrets: [secret] }));
    assert.ok(
      await check(
        { id: "msg_r2", at, signature: new Webhook(fresh).sign("msg_r2", new Date(at * 1000), body) },
        { secrets: [fresh] },
      ),
    );
  });

  test("signed with a private key is taken with its public one (v1a)", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
    const publicKeys = [`whpk_${raw.toString("base64")}`];
    const at = now();
    const signatureOf = (id: string) =>
      `v1a,${sign(null, Buffer.from(`${id}.${at}.${body}`), privateKey).toString("base64")}`;
    assert.ok(await check({ id: "msg_e1", at, signature: `v1,AAAA ${signatureOf("msg_e1")}` }, { publicKeys }));
    await assert.rejects(check({ id: "msg_e2", at, signature: signatureOf("msg_e1") }, { publicKeys }), {
      code: "webhook.forged",
    });
    await assert.rejects(check({ id: "msg_e3", at, signature: "v1a,!!!" }, { publicKeys }), { code: "webhook.forged" });
    // The shared secret's signature says nothing to who has only the public key, and the other way round.
    await assert.rejects(check({}, { publicKeys }), { code: "webhook.forged" });
    await assert.rejects(check({ id: "msg_e4", at, signature: signatureOf("msg_e4") }), { code: "webhook.forged" });
  });

  // keeps: a2a-client-webhook-expected
  test("carries the token of its config, or is refused", async () => {
    const headers = { "x-a2a-notification-token": "s3cret" };
    const options = { secrets: [secret], token: "s3cret" };
    assert.ok(await check({ headers }, options));
    await assert.rejects(check({}, options), { code: "webhook.token", status: 401 });
    await assert.rejects(check({ headers: { "x-a2a-notification-token": "s3cre" } }, options), {
      code: "webhook.token",
    });
    const byTask = { secrets: [secret], token: async (taskId: string) => (taskId === "t1" ? "s3cret" : undefined) };
    assert.ok(await check({ headers }, byTask));
    await assert.rejects(check({ headers }, { secrets: [secret], token: () => undefined }), { code: "webhook.token" });
  });

  test("longer than allowed is not read", async () => {
    await assert.rejects(check({}, { secrets: [secret], maxBytes: 20 }), { code: "webhook.tooLarge", status: 413 });
  });
});

describe("a delivery that comes again", () => {
  // keeps: a2a-client-webhook-once
  test("is told apart, and handled once", async () => {
    const handled: unknown[] = [];
    for (const duplicate of [false, true, true]) {
      const hook = await check({ id: "msg_twice" });
      assert.equal(hook.duplicate, duplicate);
      await hook.once((one) => handled.push(one));
    }
    assert.deepEqual(handled, [update]);
  });

  test("is handled again when that failed the first time", async () => {
    const first = await check({ id: "msg_fails" });
    await assert.rejects(
      first.once(() => Promise.reject(new Error("The disk is full."))),
      /disk is full/,
    );
    const second = await check({ id: "msg_fails" });
    assert.equal(second.duplicate, false);
    let handled = 0;
    await second.once(() => handled++);
    assert.equal(handled, 1);
  });

  test("is not remembered when it was forged: the true one is still taken", async () => {
    await assert.rejects(check({ id: "msg_race", signature: "v1,AAAA" }));
    assert.equal((await check({ id: "msg_race" })).duplicate, false);
  });

  test("is known to all servers that share a memory", async () => {
    const ids = new Map<string, number>();
    const seen: SeenIds = {
      add: async (id, keepMs) => !ids.has(id) && Boolean(ids.set(id, keepMs)),
      delete: (id) => ids.delete(id),
    };
    assert.equal((await check({ id: "msg_shared" }, { secrets: [secret], seen })).duplicate, false);
    assert.equal((await check({ id: "msg_shared" }, { secrets: [secret], seen })).duplicate, true);
    // Longer than a sender tries.
    assert.ok(ids.get("msg_shared")! > 24 * 3_600_000);
  });
});

describe("a framework's request", () => {
  test("is taken with its raw body, in whatever case its headers are", async () => {
    const headers = Object.fromEntries(Object.entries(headersOf()).map(([name, value]) => [name.toUpperCase(), value]));
    assert.ok(await verifyWebhook({ headers, body: Buffer.from(body) }, { secrets: [secret] }));
    assert.ok(await verifyWebhook({ headers: headersOf(), body }, { secrets: [secret] }));
  });

  test("with a body that was parsed is refused in words that help", async () => {
    const parsed = { headers: headersOf(), body: JSON.parse(body) };
    await assert.rejects(verifyWebhook(parsed, { secrets: [secret] }), {
      code: "webhook.invalid",
      message: /express\.raw/,
    });
    const read = request();
    await read.text();
    await assert.rejects(verifyWebhook(read, { secrets: [secret] }), { code: "webhook.invalid" });
  });
});

test("options that cannot check anything are refused", async () => {
  await assert.rejects(check({}, {}), { code: "call.invalid" });
  await assert.rejects(check({}, { secrets: [""] }), { code: "call.invalid" });
  await assert.rejects(check({}, { publicKeys: ["whpk_AAAA"] }), { code: "call.invalid" });
});
