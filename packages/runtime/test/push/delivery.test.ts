/** What a receiver sees, in a process of its own, whatever it answers; and what it costs others. Time passes when it is told to. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { verifyWebhook } from "@nylorun/agents/a2a";
import type { StreamResponse } from "@nylorun/protocol";

import { Receiver } from "../../../../test/e2e/receiver.ts";
import type { Received } from "../../../../test/e2e/receiver.ts";
import { serveNames } from "../dial/name-server.ts";
import { Post } from "./post.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const hosts = ["http://127.0.0.1:*"];

function textsOf(received: readonly Received[]): (string | undefined)[] {
  return received.map(({ body }) => {
    const { artifactUpdate, statusUpdate } = JSON.parse(body) as StreamResponse;
    return (
      artifactUpdate?.artifact.parts[0]?.text ?? statusUpdate?.status.state.replace("TASK_STATE_", "").toLowerCase()
    );
  });
}

/** Checks every signature as a receiver would: one with the secret, another with the public key alone. */
async function verify(received: readonly Received[], post: Post): Promise<void> {
  const [key] = await post.keys.current();
  const seen = { add: () => true, delete: () => true };
  for (const { headers, body } of received) {
    for (const trust of [{ secrets: [...post.secrets] }, { publicKeys: [key!.text] }]) {
      const { id } = await verifyWebhook({ headers, body }, { ...trust, toleranceMs: 48 * HOUR, seen });
      assert.equal(id, headers["webhook-id"]);
    }
  }
}

describe("a webhook", () => {
  let receiver: Receiver;
  before(async () => {
    receiver = await Receiver.start();
  });
  after(() => receiver[Symbol.asyncDispose]());

  // keeps: push-attempts-id, push-attempts-taken, push-sent-ordered
  it("that fails in every way hears of each change, in order, under one id for all attempts, signed anew for each (A26, A27)", async () => {
    await using post = await Post.open({ hosts });
    const fails = ["500", "hang", "429:60", "close", "broken", "301", "moved:elsewhere", "400", "hang", "503"];
    const turn = await post.listen(receiver.url("fails", ...fails, "ok"));
    await post.change(turn, "first");
    await post.change(turn, "second");
    await post.change(turn, "last", "completed");
    const times: number[] = [];
    for (let n = 1; n <= fails.length; n++) {
      if (fails[n - 1] === "hang") {
        await post.until("it hangs", () => receiver.of("fails").length === n);
        post.clock.pass(15_000);
      }
      await post.attempts(n);
      const next = await post.nextDue();
      times.push(next! - post.now());
      post.clock.pass(next! - post.now());
    }
    // Of those that failed; the 429 asked for a minute, which is less than its step; and no jitter.
    const steps = [5, 30, 120, 600, 1800, 3600].map((seconds) => seconds * 1000);
    assert.deepEqual(times, [...steps, ...Array.from({ length: 4 }, () => 3 * HOUR)]);
    await post.attempts(fails.length + 4);
    const received = receiver.of("fails");
    assert.deepEqual(textsOf(received), [
      ...Array.from({ length: fails.length + 1 }, () => "first"),
      "second",
      "last",
      "completed",
    ]);
    const ids = received.map(({ headers }) => headers["webhook-id"]);
    assert.equal(new Set(ids.slice(0, fails.length + 1)).size, 1);
    assert.equal(new Set(ids).size, 4);
    const stamps = received.slice(0, fails.length + 1).map(({ headers }) => Number(headers["webhook-timestamp"]));
    assert.ok(
      stamps.every((stamp, n) => n === 0 || stamp > stamps[n - 1]!),
      "each attempt has its own time",
    );
    const bodies = received.slice(0, fails.length + 1).map(({ body }) => body);
    assert.equal(new Set(bodies).size, bodies.length, "and is rendered anew");
    await verify(received, post);
    assert.equal(receiver.of("elsewhere").length, 0, "no redirect is followed");
    assert.equal(await post.waiting(), 0);
  });

  it("is told soon though what was due was in somebody else's hands when it was looked for (I9)", async () => {
    await using post = await Post.open({ hosts });
    const turn = await post.listen(receiver.url("overlooked", "500", "ok"));
    for (const attempt of [1, 2]) {
      post.overlooks = 3;
      if (attempt === 1) await post.change(turn, "one", "completed");
      else await post.passToNext();
      // In less time than an attempt may take, and than what is overlooked for good waits.
      for (let ms = 0; ms < 10_000 && receiver.of("overlooked").length < attempt; ms += 250) {
        post.clock.pass(250);
        await delay(20);
      }
      assert.equal(post.overlooks, 0);
      await post.attempts(attempt);
    }
    await post.attempts(3);
    assert.deepEqual(textsOf(receiver.of("overlooked")), ["one", "one", "completed"]);
  });

  // keeps: push-attempts-taken
  it("that takes a delivery and breaks off, or never ends its answer, has taken it", async () => {
    await using post = await Post.open({ hosts });
    for (const [n, way] of ["half", "drip"].entries()) {
      await post.change(await post.listen(receiver.url(way, way)), way, "completed");
      await post.attempts(2 * (n + 1));
    }
    assert.deepEqual(post.outcomes, ["delivered", "delivered", "delivered", "delivered"]);
  });

  // keeps: push-attempts-gone
  it("that says 410 is told nothing more, not even what waited", async () => {
    await using post = await Post.open({ hosts });
    const turn = await post.listen(receiver.url("gone", "500", "410", "ok"));
    await post.change(turn, "first");
    await post.attempts(1);
    await post.change(turn, "second");
    post.clock.pass(5000);
    await post.attempts(2);
    await post.change(turn, "last", "completed");
    assert.deepEqual(await post.store.push.list(turn), []);
    assert.equal(await post.waiting(), 0);
    post.clock.pass(24 * HOUR);
    assert.deepEqual(textsOf(receiver.of("gone")), ["first", "first"]);
  });

  // keeps: push-attempts-retry-after
  it("that asks to be left alone is, for as long as it says, but not beyond the day", async () => {
    await using post = await Post.open({ hosts });
    await post.change(await post.listen(receiver.url("later", "503:1800", "429:999999999", "ok")), "x");
    await post.attempts(1);
    assert.equal((await post.nextDue())! - post.now(), 30 * MINUTE);
    post.clock.pass(30 * MINUTE);
    await post.attempts(2);
    assert.equal((await post.nextDue())! - post.now(), 23.5 * HOUR);
  });

  // keeps: push-attempts-day
  it("hears nothing of a task that its subject may not know of any more, is not held to be down for that, and hears all once it may again", async () => {
    await using post = await Post.open({ hosts });
    const turn = await post.listen(receiver.url("closed"));
    await post.change(turn, "first");
    await post.attempts(1);
    post.mayBeTold = false;
    await post.change(turn, "a secret");
    await post.attempts(2);
    assert.equal(receiver.of("closed").length, 1);
    const [delivery] = await post.store.push.deliveries({ givenUp: false, limit: 10 });
    assert.equal(delivery?.error, "the agent is not open to the subject");
    const other = await post.listen(receiver.url("other"));
    post.mayBeTold = true;
    await post.change(other, "now", "completed");
    await receiver.until("other", (all) => all.length === 2);
    await post.passToNext();
    await receiver.until("closed", (all) => all.length === 2);
    assert.deepEqual(textsOf(receiver.of("closed")).at(-1), "a secret");
  });

  it("that is down for a day is given up, visibly, after at least one attempt of each; what comes later is tried, and what is sent again arrives (A26)", async () => {
    await using post = await Post.open({ hosts });
    const down = await Receiver.start();
    const url = down.url("back");
    await down[Symbol.asyncDispose]();
    const turn = await post.listen(url);
    await post.change(turn, "first");
    await post.attempts(1);
    const born = post.now();
    post.clock.pass(MINUTE);
    await post.change(turn, "second");
    let made = post.outcomes.length;
    for (let steps = 0; (await post.waiting()) > 0; steps++) {
      assert.ok(steps < 60, "it does not end");
      // After one that was given up, the next one is tried at once.
      if (post.outcomes.at(-1) === "failed") await post.passToNext();
      await post.attempts(++made);
    }
    assert.ok(
      post.now() - born >= 24 * HOUR && post.now() - born <= 24 * HOUR + MINUTE,
      `${(post.now() - born) / HOUR} h`,
    );
    const givenUp = await post.store.push.deliveries({ givenUp: true, limit: 10 });
    assert.deepEqual(
      givenUp.map(({ error }) => error),
      ["ECONNREFUSED", "ECONNREFUSED"],
    );
    assert.ok(givenUp[0]!.attempts >= 12 && givenUp[0]!.attempts < 20, `${givenUp[0]!.attempts}`);
    assert.ok(givenUp[1]!.attempts >= 1);

    await using up = await Receiver.start(down.port);
    await post.change(turn, "third", "completed");
    await up.until("back", (all) => all.length === 2);
    for (const { delivery } of givenUp) assert.equal(await post.store.push.resend(delivery), true);
    const received = await up.until("back", (all) => all.length === 4);
    assert.deepEqual(textsOf(received), ["third", "completed", "first", "second"]);
    assert.equal(received[2]!.headers["webhook-id"], givenUp[0]!.id, "the receiver knows it again");
    await verify(received, post);
  });

  // keeps: push-attempts-drained
  it("that is back is told at once all that waited, without pauses", async () => {
    await using post = await Post.open({ hosts });
    const turn = await post.listen(receiver.url("backlog", "500", "500", "500", "ok"));
    for (let n = 0; n < 50; n++) await post.change(turn, String(n));
    for (let n = 1; n <= 3; n++) {
      await post.attempts(n);
      await post.passToNext();
    }
    await post.attempts(53);
    const received = receiver.of("backlog");
    assert.deepEqual(
      textsOf(received.slice(3)),
      Array.from({ length: 50 }, (_, n) => String(n)),
    );
  });

  // keeps: push-attempts-restart
  it("hears what waited when the process ended, from the next one (A25)", async () => {
    await using post = await Post.open({ hosts });
    const turn = await post.listen(receiver.url("restarted", "hang", "ok"));
    await post.change(turn, "first");
    await receiver.until("restarted", (all) => all.length === 1);
    await post.change(turn, "last", "completed");
    await post.restart();
    const received = await receiver.until("restarted", (all) => all.length === 4);
    assert.deepEqual(textsOf(received), ["first", "first", "last", "completed"]);
    assert.equal(received[0]!.headers["webhook-id"], received[1]!.headers["webhook-id"]);
  });

  // keeps: push-attempts-address
  it("at an address that is not public is not called, though its host was allowed when it was asked for (A23)", async () => {
    await using names = await serveNames({
      "rebind.test": [["93.184.216.34"], ["127.0.0.1"]],
      "inside.test": [["10.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]],
    });
    const errors: (string | undefined)[] = [];
    for (const name of ["rebind", "inside"]) {
      await using post = await Post.open({ hosts: ["http://*.test:*"], lookup: names.lookup });
      await post.change(await post.listen(`http://${name}.test:${receiver.port}/${name}`), "x");
      await post.until("it is looked up", () => names.asked.includes(`${name}.test`));
      // Where a public address cannot be reached, that is said at once; elsewhere nobody answers there.
      if (name === "rebind") {
        for (let tries = 0; tries < 250 && !post.isTried; tries++) await delay(2);
        if (!post.isTried) post.clock.pass(15_000);
      }
      for (let n = 1; n <= 3; n++) {
        await post.attempts(n);
        const [waiting] = await post.store.push.deliveries({ givenUp: false, limit: 1 });
        errors.push(waiting?.error);
        await post.passToNext();
      }
    }
    assert.deepEqual(
      errors.slice(1),
      Array.from({ length: 5 }, () => "dial.privateAddress"),
    );
    assert.notEqual(errors[0], "dial.privateAddress", "that one was public");
    assert.deepEqual([receiver.of("inside"), receiver.of("rebind")], [[], []]);
  });
});

describe("an origin that is down", () => {
  // keeps: push-attempts-apart
  it("with thousands of deliveries delays nobody else's, and has one attempt at a time (A28)", async () => {
    await using hanging = await hang();
    await using receiver = await Receiver.start();
    await using post = await Post.open({ hosts, workers: 8 });
    const turns = await Promise.all(
      Array.from({ length: 2000 }, () => post.listen(`http://127.0.0.1:${hanging.port}/x`)),
    );
    await Promise.all(turns.map((turn) => post.change(turn, "x", "completed")));
    await hanging.until(1);
    for (let n = 1; n <= 20; n++) {
      await post.change(await post.listen(receiver.url("lively")), String(n), "completed");
      await receiver.until("lively", (all) => all.length === 2 * n, 5000);
    }
    assert.equal(hanging.calls, 1, "and no more of it is tried meanwhile");
    post.clock.pass(15_000);
    await hanging.until(2);
    assert.ok(hanging.most <= 1, `${hanging.most} at once`);
  });

  it("is one of many, and still those that answer find room", async () => {
    const dead = await Promise.all(Array.from({ length: 12 }, () => hang()));
    await using receiver = await Receiver.start();
    await using post = await Post.open({ hosts, workers: 8 });
    try {
      await post.change(await post.listen(receiver.url("proven")), "0", "completed");
      await receiver.until("proven", (all) => all.length === 2);
      for (const { port } of dead) await post.change(await post.listen(`http://127.0.0.1:${port}/x`), "x", "completed");
      await post.until("half of the workers hang", () => dead.filter(({ calls }) => calls > 0).length === 4);
      for (let n = 1; n <= 10; n++) {
        await post.change(await post.listen(receiver.url("proven")), String(n), "completed");
        await receiver.until("proven", (all) => all.length === 2 * (n + 1), 5000);
      }
      assert.equal(
        dead.reduce((sum, { calls }) => sum + calls, 0),
        4,
      );
    } finally {
      for (const one of dead) await one[Symbol.asyncDispose]();
    }
  });
});

/** Takes connections and says nothing. */
async function hang() {
  const sockets = new Set<Socket>();
  let calls = 0;
  let most = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    calls++;
    most = Math.max(most, sockets.size);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get calls() {
      return calls;
    },
    get most() {
      return most;
    },
    async until(count: number) {
      const deadline = performance.now() + 20_000;
      for (;;) {
        if (calls >= count) return;
        if (performance.now() > deadline) throw new Error(`After 20 s there were ${calls} calls, not ${count}.`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
