import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { CallError } from "@nylorun/agents";
import type { Turn } from "@nylorun/agents";
import { answer, approve, assertDurable, cancel, testAgent, TestingError } from "@nylorun/runtime/testing";
import type { CalledAgent } from "@nylorun/runtime/testing";

import { agent } from "./agent.ts";

const refunds: CalledAgent = ({ text }, [approved]) => {
  if (text === "fail") return { fails: "Out of money." };
  if (approved === undefined) return { approve: "Refund 42.00 EUR?", detail: { amount: 42 } };
  return { output: approved ? "Refunded." : "Kept." };
};

const sizes: CalledAgent = (_, [size, connected]) => {
  if (size === undefined) return { ask: "Which size?", choices: ["S", "M"] };
  return connected === undefined ? { connect: "Connect the shop.", provider: "shop" } : { output: { size, connected } };
};

function callError(error: unknown): CallError {
  assert.ok(error instanceof CallError, String(error));
  return error;
}

const caller = agent(async (turn) => {
  const [one, two] = await Promise.all([
    turn.call("refunds", turn.text).then(
      ({ output }) => output,
      (error: unknown) => `${callError(error).code}: ${callError(error).text}`,
    ),
    turn.call("https://sizes.example/agent", "Which?", { auth: "key" }),
  ]);
  return { one, two: two.output };
});
const agents = { refunds, "https://sizes.example/agent": sizes };
const answers = [approve(), answer("S"), approve()];

describe("agents that an agent calls", () => {
  it("do what the script says, and ask the caller of the script", async () => {
    const run = await testAgent(caller, { agents, message: "Refund it", answers });
    assert.deepEqual(run.output, { one: "Refunded.", two: { size: "S", connected: true } });
    assert.deepEqual(
      run.interactions.map(({ prompt }) => prompt),
      ["Refund 42.00 EUR?", "Which size?", "Connect the shop."],
    );
    assert.deepEqual(run.calls, [
      { agent: "refunds", text: "Refund it", answers: [true], state: "TASK_STATE_COMPLETED" },
      {
        agent: "https://sizes.example/agent",
        text: "Which?",
        answers: ["S", true],
        state: "TASK_STATE_COMPLETED",
      },
    ]);
    assert.deepEqual(run.effects, [], "what turn.call does is not the author's");
  });

  it("are called once, and answered once, whatever dies at whichever moment (I4, I6)", async () => {
    const { crashes, uncertain, run } = await assertDurable(caller, { agents, message: "Refund it", answers });
    assert.ok(crashes > 40, String(crashes));
    assert.deepEqual(uncertain, []);
    assert.equal(run.calls.length, 2);
  });

  it("may fail, or be denied", async () => {
    const failed = await testAgent(caller, { agents, message: "fail", answers: [answer("M"), approve()] });
    assert.deepEqual(failed.output, { one: "callee.failed: Out of money.", two: { size: "M", connected: true } });
    const denied = await testAgent(caller, {
      agents,
      message: "Refund it",
      answers: [approve(false), answer("M"), approve()],
    });
    assert.deepEqual((denied.output as { readonly one: unknown }).one, "Kept.");
  });

  it("are cancelled with the turn that called them (E16), and when the author does not wait any more", async () => {
    const cancelled = await testAgent(caller, { agents, message: "Refund it", answers: [cancel()] });
    assert.equal(cancelled.state, "TASK_STATE_CANCELED");
    assert.deepEqual(
      cancelled.calls.map(({ state }) => state),
      ["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"],
    );
    const late = agent(async (turn: Turn) =>
      turn.call("slow", "Hello", { timeoutMs: 60_000 }).then(String, (error: unknown) => callError(error).code),
    );
    const slow: CalledAgent = () => ({ works: true });
    const { run } = await assertDurable(late, { agents: { slow } });
    assert.equal(run.output, "callee.timeout");
    assert.equal(run.calls[0]?.state, "TASK_STATE_CANCELED");
    const forever = await testAgent(
      agent(async (turn) => turn.call("slow", "Hello").then(String)),
      { agents: { slow } },
    );
    assert.equal(forever.state, "TASK_STATE_WORKING");
  });

  it("have to be in the script", async () => {
    await assert.rejects(testAgent(caller, { agents: { refunds }, message: "Refund it", answers }), (error) => {
      assert.ok(error instanceof TestingError);
      assert.equal(error.code, "agent.unscripted");
      return true;
    });
  });
});
