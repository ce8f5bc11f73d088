import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { OutcomeUnknown } from "@nylorun/agents";
import { approve, assertDurable, cancel, testAgent } from "@nylorun/runtime/testing";
import type { Script } from "@nylorun/runtime/testing";

import { refunds } from "../refunds.ts";
import { Shop } from "../refunds/shop.ts";

describe("refunds", () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-refunds-"));
  const shop = new Shop(folder);
  const agent = refunds(shop);
  /** A new shop for each run; afterwards, what it has paid. */
  const world: Pick<Script, "prepare" | "world"> = {
    prepare: () => shop.reset(),
    world: () => ["1001", "1002", "1003"].flatMap((order) => shop.refunds(order)),
  };
  after(() => {
    shop.close();
    rmSync(folder, { recursive: true });
  });

  test("an approved order is paid back", async () => {
    const run = await testAgent(agent, { ...world, message: "Refund order 1001", answers: [approve()] });
    assert.equal(run.output, "Refunded 42.00 EUR to Ada. Receipt 1.");
    assert.deepEqual(
      run.effects.map(({ name }) => name),
      ["find order", "find order", "refund"],
    );
    assert.deepEqual(run.interactions[0]?.detail, { action: "refund", order: "1001", amount: 42, currency: "EUR" });
    assert.equal(shop.refunds("1001").length, 1);
  });

  test("whatever dies at whichever moment, an order is paid back once, or an operator is asked", async () => {
    const { uncertain, crashes } = await assertDurable(agent, {
      ...world,
      message: "Refund order 1001",
      answers: [approve()],
    });
    assert.ok(crashes > 10);
    assert.deepEqual(
      uncertain.map(({ name }) => name),
      ["refund"],
    );
  });

  test("a denial pays nothing, and neither does a cancel", async () => {
    const denied = await testAgent(agent, { ...world, message: "Refund order 1002", answers: [approve(false)] });
    assert.equal(denied.output, "Not refunded.");
    assert.deepEqual(
      denied.plan?.map(({ state }) => state),
      ["done", "done", "skipped"],
    );
    const cancelled = await testAgent(agent, { ...world, message: "Refund order 1002", answers: [cancel()] });
    assert.equal(cancelled.state, "TASK_STATE_CANCELED");
    assert.deepEqual(shop.refunds("1002"), []);
  });

  test("what it cannot refund it refuses, and asks nobody", async () => {
    for (const [message, status] of [
      ["Refund order 4711", "There is no order 4711."],
      ["Refund my order", "Say which order: its number has four digits."],
    ] as const) {
      const run = await testAgent(agent, { ...world, message });
      assert.equal(run.state, "TASK_STATE_REJECTED");
      assert.equal(run.status, status);
      assert.deepEqual(run.interactions, []);
    }
  });

  test("an order that somebody else refunds while this one waits is not paid again", async () => {
    const run = await testAgent(agent, {
      ...world,
      message: "Refund order 1003",
      answers: [approve()],
      effects: {
        // What the look before the approval sees, and the one after it.
        "find order": (() => {
          let looks = 0;
          return () => ({ ...shop.order("1003"), refunded: ++looks > 1 });
        })(),
      },
    });
    assert.equal(run.status, "Order 1003 was refunded meanwhile.");
    assert.deepEqual(shop.refunds("1003"), []);
  });

  test("when nobody can know whether it was paid, it is not paid again", async () => {
    const run = await testAgent(agent, {
      ...world,
      message: "Refund order 1001",
      answers: [approve()],
      effects: {
        refund() {
          shop.refund("1001");
          throw new OutcomeUnknown("The line is dead.");
        },
      },
    });
    assert.equal(run.state, "TASK_STATE_WORKING");
    assert.equal(run.uncertain, "refund");
    assert.equal(shop.refunds("1001").length, 1);
  });
});
