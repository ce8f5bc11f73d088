import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { createA2aClient } from "@nylorun/agents/a2a";
import type { A2aClient, A2aTask, TaskView } from "@nylorun/agents/a2a";
import { startRuntime } from "@nylorun/runtime";
import type { Runtime } from "@nylorun/runtime";
import { answer, approve, assertDurable, testAgent } from "@nylorun/runtime/testing";
import type { CalledAgent } from "@nylorun/runtime/testing";

import concierge from "../concierge.ts";
import { refunds } from "../refunds.ts";
import { Shop } from "../refunds/shop.ts";

describe("concierge, tested", () => {
  const scripted: CalledAgent = ({ text }, [approved]) => {
    if (!text.includes("1001")) return { refuses: "There is no such order." };
    if (approved === undefined) return { approve: "Refund 42.00 EUR to Ada?" };
    return { output: approved ? "Refunded 42.00 EUR." : "Not refunded." };
  };
  const agents = { refunds: scripted };

  test("has its caller approve what refunds asks, whatever dies meanwhile", async () => {
    const { run } = await assertDurable(concierge, { agents, message: "Order 1001 is broken", answers: [approve()] });
    assert.equal(run.output, "Thank you for telling us. Refunded 42.00 EUR.");
    assert.deepEqual(
      run.calls.map(({ text, answers }) => [text, answers]),
      [["Refund order 1001", [true]]],
    );
  });

  test("asks which order when it is not told, and says no in its own words", async () => {
    const run = await testAgent(concierge, { agents, message: "It is broken", answers: [answer("1009")] });
    assert.equal(run.state, "TASK_STATE_REJECTED");
    assert.equal(run.status, "I cannot refund order 1009: it is not there, or refunded already.");
  });
});

describe("concierge, served beside refunds", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-concierge-"));
  const shop = new Shop(join(folder, "shop"));
  let runtime: Runtime;
  let client: A2aClient;
  let other: A2aClient;

  before(async () => {
    shop.reset();
    const agents = [concierge, refunds(shop)];
    runtime = await startRuntime({ agents, home: join(folder, "home"), port: 0, logLevel: "silent" });
    const auth = await runtime.addKey({ role: "subject", subject: "ada" });
    const at = (id: string) => createA2aClient({ url: `${runtime.url}/v1/a2a/agents/${id}/`, auth, pollMs: 100 });
    client = await at("concierge");
    other = await at("refunds");
  });

  after(async () => {
    await runtime?.stop();
    shop.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function asked(task: A2aTask): Promise<TaskView> {
    for await (const now of task.updates({ signal: AbortSignal.timeout(20_000) })) if (now.interaction) return now;
    throw new Error(`It asks nothing: ${task.state}`);
  }

  // keeps: profile-rules-visible
  test("pays once, when the person it talks to approves; of refunds nothing else is seen (I10)", async () => {
    const task = await client.send("The teapot of order 1001 came in pieces");
    const { interaction, plan, state } = await asked(task);
    assert.equal(state, "TASK_STATE_AUTH_REQUIRED");
    assert.equal(interaction?.kind, "approval");
    assert.equal(interaction.prompt, "Refund 42.00 EUR to Ada?");
    assert.deepEqual(interaction.detail, { action: "refund", order: "1001", amount: 42, currency: "EUR" });
    assert.deepEqual(
      plan?.steps.map(({ label }) => label),
      ["Find out which order", "See to it"],
    );
    assert.equal(shop.refunds("1001").length, 0);
    await task.approve(true);
    const { output } = await task.done({ signal: AbortSignal.timeout(20_000) });
    assert.match(String(output), /^Thank you for telling us\. Refunded 42\.00 EUR to Ada\./);
    assert.equal(shop.refunds("1001").length, 1);
    const listed = [];
    for await (const { id } of other.tasks()) listed.push(id);
    assert.deepEqual(listed, [], "what it called for is listed nowhere (I7)");
  });

  test("pays nothing for a complaint that is cancelled while it is asked about", async () => {
    const task = await client.send("Order 1002 is late");
    await asked(task);
    await task.cancel();
    assert.equal(task.state, "TASK_STATE_CANCELED");
    assert.equal(shop.refunds("1002").length, 0);
  });
});
