/** The agents that wait for people, as their callers meet them: served over A2A, answered through interactions/v1. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";

import { meetings } from "../meetings.ts";
import { Calendars } from "../meetings/calendars.ts";
import { refunds } from "../refunds.ts";
import { Shop } from "../refunds/shop.ts";
import { answerTo, Caller, openInteraction, planOf, wordsOf } from "./caller.ts";

class WatchedCalendars extends Calendars {
  /** How often somebody has looked whether one is connected. */
  looks = 0;

  override isConnected(owner: string): boolean {
    this.looks++;
    return super.isConnected(owner);
  }
}

/** A world of its own, and a Runtime that can be stopped and started on the same home. */
async function open(): Promise<{
  readonly shop: Shop;
  readonly calendars: WatchedCalendars;
  readonly start: () => Promise<Runtime>;
  readonly close: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-examples-"));
  const shop = new Shop(folder);
  const calendars = new WatchedCalendars(folder);
  const agents = [refunds(shop), meetings(calendars)];
  let runtime: Runtime | undefined;
  return {
    shop,
    calendars,
    async start() {
      await runtime?.stop();
      return (runtime = await startRuntime({ agents, home: join(folder, "home"), port: 0, logLevel: "silent" }));
    },
    async close() {
      await runtime?.stop();
      shop.close();
      calendars.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe("refunds, served", { timeout: 60_000 }, () => {
  let world: Awaited<ReturnType<typeof open>>;
  let caller: Caller;
  let key: string;

  before(async () => {
    world = await open();
    const runtime = await world.start();
    key = await runtime.addKey({ role: "subject", subject: "ada" });
    caller = new Caller(runtime.url, key);
  });
  after(() => world?.close());

  test("an order is paid back once it is approved, and not before, and not again", async () => {
    const asked = await caller.send("refunds", "Please refund order 1001");
    assert.equal(asked.status.state, "TASK_STATE_AUTH_REQUIRED");
    assert.deepEqual(openInteraction(asked)?.detail, {
      action: "refund",
      order: "1001",
      amount: 42,
      currency: "EUR",
    });
    const waiting = await caller.send("refunds", "yes, approve", { taskId: asked.id });
    assert.equal(waiting.status.state, "TASK_STATE_AUTH_REQUIRED", "words do not approve");
    assert.deepEqual(world.shop.refunds("1001"), []);

    const approval = answerTo(asked, { approved: true });
    const done = await caller.sendMessage("refunds", approval);
    assert.equal(done.status.state, "TASK_STATE_COMPLETED");
    assert.equal(wordsOf(done), "Refunded 42.00 EUR to Ada. Receipt 1.");
    assert.deepEqual(planOf(done), [
      { label: "Find the order", state: "done" },
      { label: "Ask for approval", state: "done", note: "42.00 EUR" },
      { label: "Refund", state: "done" },
    ]);
    assert.equal((await caller.sendMessage("refunds", approval)).id, done.id, "sent again, it is a success");
    assert.equal(world.shop.refunds("1001").length, 1);

    const again = await caller.send("refunds", "Refund order 1001");
    assert.equal(again.status.state, "TASK_STATE_REJECTED");
    assert.equal(wordsOf(again), "Order 1001 is refunded already.");
  });

  test("an order that nobody has is refused, and so is none", async () => {
    for (const [text, reason] of [
      ["Refund order 4711", "There is no order 4711."],
      ["Refund my order", "Say which order: its number has four digits."],
    ] as const) {
      const task = await caller.send("refunds", text);
      assert.equal(task.status.state, "TASK_STATE_REJECTED");
      assert.equal(wordsOf(task), reason);
    }
  });

  test("a denial pays nothing", async () => {
    const asked = await caller.send("refunds", "Refund order 1002");
    const done = await caller.answer("refunds", asked, { approved: false });
    assert.equal(wordsOf(done), "Not refunded.");
    assert.deepEqual(world.shop.refunds("1002"), []);
    assert.deepEqual(
      planOf(done)?.map(({ state }) => state),
      ["done", "done", "skipped"],
    );
  });

  test("of two approved refunds of one order, one is paid", async () => {
    const first = await caller.send("refunds", "Refund order 1002");
    const second = await caller.send("refunds", "Refund order 1002");
    assert.match(wordsOf(await caller.answer("refunds", first, { approved: true })) ?? "", /^Refunded 19.99 USD/);
    const refused = await caller.answer("refunds", second, { approved: true });
    assert.equal(wordsOf(refused), "Order 1002 was refunded meanwhile.");
    assert.equal(world.shop.refunds("1002").length, 1);
  });

  test("what waits for an approval is answered after a restart", async () => {
    const asked = await caller.send("refunds", "Refund order 1003");
    caller = new Caller((await world.start()).url, key);
    const done = await caller.answer("refunds", asked, { approved: true });
    assert.match(wordsOf(done) ?? "", /^Refunded 120.50 EUR to Edsger/);
    assert.equal(world.shop.refunds("1003").length, 1);
  });
});

describe("meetings, served", { timeout: 60_000 }, () => {
  let world: Awaited<ReturnType<typeof open>>;
  let runtime: Runtime;

  before(async () => {
    world = await open();
    runtime = await world.start();
  });
  after(() => world?.close());

  async function callerFor(subject: string): Promise<Caller> {
    return new Caller(runtime.url, await runtime.addKey({ role: "subject", subject }));
  }

  function choicesOf(task: Parameters<typeof openInteraction>[0]): readonly string[] {
    return openInteraction(task)?.detail?.["choices"] as readonly string[];
  }

  test("a calendar counts as connected when it is, whatever the caller says; then a time is chosen and booked", async () => {
    const caller = await callerFor("ada");
    const asked = await caller.send("meetings", "Meet with Grace");
    assert.equal(openInteraction(asked)?.kind, "connection");
    const looks = world.calendars.looks;
    await caller.answer("meetings", asked, { approved: true });
    while (world.calendars.looks === looks) await setTimeout(10);
    const still = await caller.get("meetings", asked);
    assert.equal(openInteraction(still)?.interactionId, openInteraction(asked)?.interactionId);

    world.calendars.connect("ada");
    await caller.answer("meetings", asked, { approved: true });
    const question = await caller.until("meetings", asked, "TASK_STATE_INPUT_REQUIRED");
    const [, slot = ""] = choicesOf(question);
    assert.match(slot, /^\d{4}-\d\d-\d\d \d\d:00 UTC$/);
    await assert.rejects(caller.send("meetings", "Tomorrow", { taskId: asked.id }), { code: -32602 });

    const done = await caller.answer("meetings", question, { value: slot });
    assert.equal(wordsOf(done), `You meet Grace at ${slot}.`);
    const booked = world.calendars.meetings("ada").map(({ guest, slot: at }) => [guest, at]);
    assert.deepEqual(booked, [["Grace", slot]]);
    const next = await caller.send("meetings", "Meet Edsger");
    assert.equal(openInteraction(next)?.kind, "question", "connected is connected");
    assert.ok(!choicesOf(next).includes(slot), "what is booked is no longer free");
  });

  test("without a calendar there is no meeting", async () => {
    const caller = await callerFor("bo");
    const asked = await caller.send("meetings", "Meet Grace");
    const done = await caller.answer("meetings", asked, { approved: false });
    assert.equal(done.status.state, "TASK_STATE_REJECTED");
  });

  test("what is cancelled in time is not booked", async () => {
    const caller = await callerFor("cy");
    world.calendars.connect("cy");
    const question = await caller.send("meetings", "Meet Grace");
    const [slot] = choicesOf(question);
    const booking = caller.answer("meetings", question, { value: slot });
    const working = await caller.until("meetings", question, "TASK_STATE_WORKING");
    assert.equal((await caller.cancel("meetings", working)).status.state, "TASK_STATE_CANCELED");
    assert.equal((await booking).status.state, "TASK_STATE_CANCELED");
    await setTimeout(2_200);
    assert.deepEqual(world.calendars.meetings("cy"), []);
  });

  test("who was faster has the time, and the other one is asked again", async () => {
    const caller = await callerFor("di");
    world.calendars.connect("di");
    const question = await caller.send("meetings", "Meet Grace");
    const [slot = ""] = choicesOf(question);
    const booking = caller.answer("meetings", question, { value: slot });
    await caller.until("meetings", question, "TASK_STATE_WORKING");
    world.calendars.book({ key: "somebody else", owner: "di", slot, guest: "Linus" });
    const again = await booking;
    assert.equal(again.status.state, "TASK_STATE_INPUT_REQUIRED");
    assert.ok(!choicesOf(again).includes(slot));
    assert.deepEqual(planOf(again)?.at(-1), { label: "Book", state: "failed", note: "taken meanwhile" });
  });
});
