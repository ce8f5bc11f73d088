import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { verifyWebhook } from "@nylorun/agents/a2a";

import { Receiver } from "../../../../test/e2e/receiver.ts";
import { Place } from "./nylorun.ts";

const newSecret = () => `whsec_${randomBytes(24).toString("base64")}`;
const seen = { add: () => true, delete: () => true };

describe("nylorun push", () => {
  it("lists what waits and what was given up, and sends that again, alone and through the process that serves", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const agent = place.agent("echo");
    const env = { NYLORUN_PUSH_SECRET: newSecret(), NYLORUN_PUSH_HOSTS: "http://127.0.0.1:*" };
    const down = await Receiver.start();
    const url = `${down.url("late")}?token=hidden`;
    await down[Symbol.asyncDispose]();

    const first = await place.serve([agent], env);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "Hello" }] };
    const configuration = { taskPushNotificationConfig: { id: "hook", url } };
    const { result } = await first.call(key, "echo", "SendMessage", { message, configuration });
    const taskId = result!.task.id;
    let waiting = "";
    for (let tries = 0; !waiting.includes("ECONNREFUSED"); tries++) {
      assert.ok(tries < 30, waiting);
      await delay(100);
      waiting = (await place.run(["push", "list", "--waiting"])).stdout;
    }
    const [, artifact, status] = /^(\d+) [^]*\n(\d+)  http/.exec(waiting) ?? [];
    assert.match(
      waiting,
      new RegExp(
        `^${artifact}  ${down.url("late")}  since \\d{4}-[^\\n]+, tried once: ECONNREFUSED\\n  artifact of ${taskId} of echo, for ada\\n  msg_`,
      ),
    );
    assert.doesNotMatch(waiting, /hidden/, "a query may be a secret");
    assert.equal((await place.run(["push", "list"])).stdout, "No delivery was given up.\n");
    await first.kill("SIGTERM");

    // A day later, so to say.
    {
      using database = new DatabaseSync(join(place.home, "nylorun.db"));
      database.exec("UPDATE outbox SET given_up_at = created_at; UPDATE push_configs SET due_at = NULL");
    }
    const listed = JSON.parse((await place.run(["push", "list", "--json"])).stdout) as {
      id: string;
      error: string | null;
    }[];
    assert.deepEqual(
      listed.map(({ id, error }) => [id, error]),
      [
        [artifact, "ECONNREFUSED"],
        [status, null],
      ],
    );
    assert.deepEqual(await place.run(["push", "resend", status!]), {
      code: 0,
      stdout: "",
      stderr: "It is tried again.\n",
    });
    await using up = await Receiver.start(down.port);
    const second = await place.serve([agent], env);
    await up.until("late", (all) => all.length === 1);
    assert.equal((await place.run(["push", "resend", artifact!])).code, 0);
    const received = await up.until("late", (all) => all.length === 2);
    assert.match(received[0]!.body, /TASK_STATE_COMPLETED/);
    assert.match(received[1]!.body, /artifactUpdate/);
    for (const again of [artifact!, "x"]) {
      assert.deepEqual(await place.run(["push", "resend", again]), {
        code: 1,
        stdout: "",
        stderr: `nylorun: No delivery that was given up is ${again}; "nylorun push list" shows those that are.\n`,
      });
    }
    await second.kill("SIGTERM");
  });

  it("has secrets and keys change while it serves", async () => {
    await using place = new Place();
    await using receiver = await Receiver.start();
    const key = await place.addKey("--subject", "ada");
    const [old, next] = [newSecret(), newSecret()];
    place.write("secrets", `${old}\n`);
    const env = { NYLORUN_PUSH_SECRET_FILE: "secrets", NYLORUN_PUSH_HOSTS: "http://127.0.0.1:*" };
    const serving = await place.serve([place.agent("echo")], env);
    const keysUrl = `${await serving.ready}/.well-known/nylorun-webhook-keys.json`;
    const publicKeys = async () =>
      ((await (await fetch(keysUrl)).json()) as { keys: { whpk: string }[] }).keys.map(({ whpk }) => whpk);
    let count = 0;
    const pushed = async () => {
      const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "Hello" }] };
      const configuration = { taskPushNotificationConfig: { url: receiver.url("hook") } };
      await serving.call(key, "echo", "SendMessage", { message, configuration });
      count += 2;
      const { headers, body } = (await receiver.until("hook", (all) => all.length === count)).at(-1)!;
      return { headers, body };
    };
    const takes = async (trust: { secrets?: string[]; publicKeys?: string[] }) => {
      const request = await pushed();
      return verifyWebhook(request, { ...trust, seen }).then(
        () => true,
        (error: unknown) => (error as { code: string }).code,
      );
    };
    assert.equal(await takes({ secrets: [old] }), true);

    // As secrets are mounted: another file takes the place.
    writeFileSync(join(place.folder, "next"), `${next}\n${old}\n`);
    renameSync(join(place.folder, "next"), join(place.folder, "secrets"));
    for (let tries = 0; (await takes({ secrets: [next] })) !== true; tries++) {
      assert.ok(tries < 30, "the next secret signs");
      await delay(100);
    }
    assert.equal(await takes({ secrets: [old] }), true, "and so does the one before");
    place.write("secrets", "no secret at all");
    await delay(1100);
    assert.equal(await takes({ secrets: [next] }), true, "what is none changes nothing");
    place.write("secrets", next);
    for (let tries = 0; (await takes({ secrets: [old] })) !== "webhook.forged"; tries++) {
      assert.ok(tries < 30, "the one before signs no more");
      await delay(100);
    }

    const [before, ...none] = await publicKeys();
    assert.deepEqual(none, []);
    assert.equal((await place.run(["push", "rotate-key"])).code, 0);
    const [after, again] = await publicKeys();
    assert.notEqual(after, before);
    assert.equal(again, before);
    for (const one of [before!, after!]) assert.equal(await takes({ publicKeys: [one] }), true);
    assert.doesNotMatch(serving.stderr, /whsec_/);
    await serving.kill("SIGTERM");
  });

  it("says what is wrong with a secret without saying the secret", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    for (const [secret, env] of [
      ["whsec_c2hvcnQ=", { NYLORUN_PUSH_SECRET: "whsec_c2hvcnQ=" }],
      ["hunter2", { NYLORUN_PUSH_SECRET: "hunter2" }],
      ["hunter2", { NYLORUN_PUSH_SECRET_FILE: place.write("bad", "hunter2") }],
      ["whsec_", { NYLORUN_PUSH_SECRET: newSecret(), NYLORUN_PUSH_SECRET_FILE: place.write("good", newSecret()) }],
    ] as const) {
      const { code, stdout, stderr } = await place.run(["serve", "--port", "0", agent], env);
      assert.equal(code, 1);
      assert.match(stderr, /NYLORUN_PUSH_SECRET|pushSecretFile/);
      assert.equal(
        `${stdout}${stderr}`.includes(secret === "whsec_" ? env.NYLORUN_PUSH_SECRET : secret),
        false,
        stderr,
      );
    }
    assert.doesNotMatch((await place.run(["serve", "--help"])).stdout, /--push-secret </);
  });
});
