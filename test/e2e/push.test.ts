/** Webhooks of several subjects, over the wire, with authentication on (A24): what they are told, and what they cannot do to each other. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, it } from "node:test";

import { reply } from "@nylorun/agents";
import { verifyWebhook } from "@nylorun/agents/a2a";
import { EXTENSIONS } from "@nylorun/protocol";
import type { StreamResponse } from "@nylorun/protocol";
import { Webhook } from "standardwebhooks";

import { makeAgent, messageOf, serve } from "./callers.ts";
import { Receiver } from "./receiver.ts";
import type { Received } from "./receiver.ts";

const secret = `whsec_${randomBytes(24).toString("base64")}`;
const seen = { add: () => true, delete: () => true };
const agent = makeAgent("worker", async (turn) => {
  switch (turn.text) {
    case "ask":
      return `You said ${await turn.ask({ prompt: "What?" })}`;
    case "approve":
      return (await turn.approve({ prompt: "May I?" })) ? "Done." : "Left alone.";
    case "file":
      await turn.file("made/report.txt", "The report.", { mediaType: "text/plain" });
      return "There is a report.";
    case "reply":
      return reply("Just a word.");
    default: {
      const plan = turn.plan(["First", "Second"]);
      plan.start(0);
      await turn.effect("work", () => "done", { idempotent: true });
      plan.start(1);
      return turn.text;
    }
  }
});

/** What a webhook was told, each delivery once, in words; plans and step texts may be passed over, and are left out. */
function toldOf(received: readonly Received[]): string[] {
  const first = new Map(received.toReversed().map((one) => [one.headers["webhook-id"], one.body]));
  return [...first.values()].toReversed().flatMap((body) => {
    const { artifactUpdate, statusUpdate, message, task } = JSON.parse(body) as StreamResponse;
    if (artifactUpdate !== undefined) return [`artifact ${artifactUpdate.artifact.parts[0]?.text ?? "file"}`];
    if (message !== undefined) return [`message ${message.parts[0]?.text}`];
    const { state } = (task ?? statusUpdate).status;
    return state === "TASK_STATE_WORKING" ? [] : [`${task === undefined ? "" : "task "}${state}`];
  });
}

const hasEnded = (received: readonly Received[]) =>
  received.some(({ body }) => body.includes('"state":"TASK_STATE_COMPLETED"'));

describe("webhooks", { timeout: 120_000 }, async () => {
  const receiver = await Receiver.start();
  after(() => receiver[Symbol.asyncDispose]());
  const pushHosts = [`http://127.0.0.1:${receiver.port}`];
  const served = await serve({ agents: [agent], pushSecret: [secret], pushHosts });
  after(() => served[Symbol.asyncDispose]());
  const ada = await served.as("ada");
  const bob = await served.as("bob");

  it("are told the same, whether the call waits, does not, or waits in line", async () => {
    const told: string[][] = [];
    const text = "hello";
    for (const [name, returnImmediately] of [
      ["waits", false],
      ["does-not", true],
    ] as const) {
      await ada.send("worker", text, {
        configuration: { returnImmediately, taskPushNotificationConfig: { url: receiver.url(name) } },
      });
      told.push(toldOf(await receiver.until(name, hasEnded)));
    }
    const message = { contextId: "line" };
    const { id } = await ada.send("worker", "ask", { message });
    const queued = { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url("queued") } };
    assert.equal(
      (await ada.send("worker", text, { message, configuration: queued })).status.state,
      "TASK_STATE_SUBMITTED",
    );
    await ada.send("worker", "me", { message: { taskId: id } });
    const inLine = await receiver.until("queued", hasEnded);
    assert.match(inLine[0]!.body, /TASK_STATE_WORKING/, "it begins");
    told.push(toldOf(inLine));
    const all = ["artifact hello", "TASK_STATE_COMPLETED"];
    assert.deepEqual(told, [all, all, all]);
  });

  it("are told of questions, approvals and messages, each with what its own config may see", async () => {
    const { id: taskId } = await ada.send("worker", "approve", { extensions: EXTENSIONS.interactions });
    for (const [name, extensions] of [
      ["plain", ""],
      ["full", Object.values(EXTENSIONS).join(", ")],
    ] as const)
      await ada.result(
        "worker",
        "CreateTaskPushNotificationConfig",
        { taskId, url: receiver.url(name) },
        { extensions },
      );
    const [plain] = await receiver.until("plain", (all) => all.length === 1);
    const [full] = await receiver.until("full", (all) => all.length === 1);
    assert.doesNotMatch(plain!.body, /docs\.nylorun\.com/);
    assert.match(plain!.body, /nylorun answer/, "who cannot answer is told who can");
    const { task } = JSON.parse(full!.body) as StreamResponse;
    const { interactionId } = task!.status.message!.metadata![EXTENSIONS.interactions] as { interactionId: string };
    const answer = messageOf("", {
      taskId,
      parts: [{ text: "Yes" }],
      extensions: [EXTENSIONS.interactions],
      metadata: { [EXTENSIONS.interactions]: { interactionId, approved: true } },
    });
    await ada.call("worker", "SendMessage", { message: answer }, { extensions: EXTENSIONS.interactions });
    for (const name of ["plain", "full"])
      assert.deepEqual(
        toldOf(await receiver.until(name, hasEnded)),
        ["task TASK_STATE_AUTH_REQUIRED", "artifact Done.", "TASK_STATE_COMPLETED"],
        name,
      );
    const last = receiver.of("full").at(-1)!;
    assert.match(last.body, new RegExp(`"${EXTENSIONS.telemetry}":\\{"steps":0,"traceId":"[0-9a-f]{32}"\\}`));

    await ada.call("worker", "SendMessage", {
      message: messageOf("reply"),
      configuration: { taskPushNotificationConfig: { url: receiver.url("message") } },
    });
    assert.deepEqual(toldOf(await receiver.until("message", hasEnded)), [
      "message Just a word.",
      "TASK_STATE_COMPLETED",
    ]);
  });

  it("are given links that work, made anew for each attempt", async () => {
    const url = receiver.url("links", "500", "ok");
    await ada.send("worker", "file", {
      configuration: { taskPushNotificationConfig: { url } },
      extensions: EXTENSIONS.files,
    });
    const received = await receiver.until("links", hasEnded);
    const links = received.flatMap(
      ({ body }) => (JSON.parse(body) as StreamResponse).artifactUpdate?.artifact.parts[0]?.url ?? [],
    );
    assert.equal(links.length, 2, "two attempts of the file");
    assert.notEqual(links[0], links[1]);
    for (const link of links) assert.equal(await (await fetch(link)).text(), "The report.");
  });

  it("that hang delay no answer (A28)", async () => {
    const configuration = { taskPushNotificationConfig: { url: receiver.url("hangs", "hang") } };
    const began = performance.now();
    for (let n = 0; n < 5; n++)
      assert.equal((await ada.send("worker", `${n}`, { configuration })).status.state, "TASK_STATE_COMPLETED");
    // An attempt alone would take 15 s.
    assert.ok(performance.now() - began < 12_000);
    await receiver.until("hangs", (all) => all.length >= 1);
  });

  it("of one subject cannot be posed as the Runtime by another, who has the same secret", async () => {
    const token = "of ada's config";
    const { id: taskId } = await ada.send("worker", "hello", {
      configuration: { taskPushNotificationConfig: { url: receiver.url("adas"), token } },
    });
    await bob.send("worker", "hello", {
      configuration: { taskPushNotificationConfig: { url: receiver.url("bobs"), token: "of bob's" } },
    });
    const [real] = (await receiver.until("adas", hasEnded)).slice(-1);
    await receiver.until("bobs", hasEnded);
    const keys = (await (await fetch(`${served.runtime.url}/.well-known/nylorun-webhook-keys.json`)).json()) as {
      keys: { whpk: string }[];
    };
    const publicKeys = keys.keys.map(({ whpk }) => whpk);
    const { headers, body } = real!;
    for (const trust of [{ secrets: [secret], token }, { publicKeys }, { publicKeys, token }])
      assert.equal((await verifyWebhook({ headers, body }, { ...trust, seen })).taskId, taskId);

    // Bob signs what he makes up, and passes on what he was sent.
    const text = JSON.stringify({ statusUpdate: { taskId, contextId: "c", status: { state: "TASK_STATE_FAILED" } } });
    const now = new Date();
    const forged = {
      "webhook-id": "msg_forged",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign("msg_forged", now, text),
      "x-a2a-notification-token": "of bob's",
    };
    await assert.rejects(verifyWebhook({ headers: forged, body: text }, { publicKeys, seen }), {
      code: "webhook.forged",
    });
    await assert.rejects(verifyWebhook({ headers: forged, body: text }, { secrets: [secret], token, seen }), {
      code: "webhook.token",
    });
    const [passed] = receiver.of("bobs");
    await assert.rejects(verifyWebhook({ headers: passed!.headers, body: passed!.body }, { publicKeys, token, seen }), {
      code: "webhook.token",
    });
    await assert.rejects(verifyWebhook({ headers: passed!.headers, body: text }, { publicKeys, seen }), {
      code: "webhook.forged",
    });
  });
});
