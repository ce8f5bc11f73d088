import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { AgentDefinition } from "@nylorun/agents";

import { keptFiles } from "../../src/files/kept.ts";
import { createEntropy } from "../../src/node/entropy.ts";
import { misfit } from "../../src/node/schema.ts";
import { asyncContext } from "../../src/node/unheard.ts";
import type { Callees } from "../../src/turn/callee.ts";
import { rehearse } from "../../src/turn/rehearsal.ts";
import { agent, limits, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

type RunCode = AgentDefinition["run"];

const day = 86_400_000;

/** Runs a turn with one code until it is parked, and rehearses it with another. */
async function rehearsed(
  before: RunCode,
  after: RunCode,
  {
    replayStallMs = 50,
    answers = 0,
    callees,
  }: { readonly replayStallMs?: number; readonly answers?: number; readonly callees?: Callees } = {},
): Promise<string | undefined> {
  await using stage = new Stage();
  const node = await stage.start(agent(before), callees === undefined ? {} : { callees });
  const sent = await node.send("1001");
  for (let n = 0; n < answers; n++) {
    await node.answer(await node.interrupted(sent), { approved: true });
    await node.until(sent, ({ length, state }) => state !== "running" && length > 2 * (n + 1));
  }
  const waiting = await node.until(
    sent,
    ({ state }) => state === "waiting" || state === "held" || state === "uncertain",
  );
  const turn = await node.letGo(waiting);
  const journal = await node.journal(turn);
  const ports = { ...(await portsOf(node)), limits: { ...limits, replayStallMs } };
  const why = await rehearse({ turn, journal, agent: agent(after) }, ports);
  assert.deepEqual(await node.load(turn), turn, "the turn is as it was");
  assert.deepEqual(await node.journal(turn), journal);
  return why;
}

async function portsOf(node: Node): Promise<Parameters<typeof rehearse>[1]> {
  const seed = await node.inner.secret("turn-seed", () => assert.fail("it is there"));
  return {
    store: node.inner,
    taskIds: node.taskIds,
    limits,
    entropy: createEntropy(seed),
    files: keptFiles({ store: node.inner, blobs: node.blobs }),
    asyncContext,
    misfit,
  };
}

const refunds: RunCode = async (turn) => {
  await turn.effect("find", () => 1);
  if (!(await turn.approve({ prompt: "Refund?" }))) return "no";
  await turn.effect("refund", () => 1);
  return "done";
};

describe("code that is rehearsed", () => {
  it("fits the record that it wrote, and records that it could have written", async () => {
    assert.equal(await rehearsed(refunds, refunds), undefined);
    const later: RunCode = async (turn) => {
      await turn.effect("find", () => assert.fail("it has run"));
      const approved = await turn.approve({ prompt: "Really refund?", expiresInMs: day });
      await turn.effect("another", () => approved);
    };
    assert.equal(await rehearsed(refunds, later), undefined);
  });

  it("does nothing: what it asks for beyond the record neither runs nor comes back", async () => {
    let went = 0;
    const goesOn: RunCode = async (turn) => {
      await turn.effect("find", () => went++);
      void turn.approve({ prompt: "Refund?" });
      await turn.effect("new", () => went++);
      went++;
    };
    assert.equal(await rehearsed(refunds, goesOn), undefined);
    const looks: RunCode = async (turn) => turn.connect({ prompt: "?", provider: "x", verify: () => ++went > 1 });
    const asks: RunCode = async (turn) => turn.connect({ prompt: "?", provider: "x", verify: () => false });
    assert.equal(await rehearsed(asks, looks), undefined);
    const fails: RunCode = async (turn) => turn.effect("pay", () => Promise.reject(new Error("?")), { timeoutMs: 5 });
    const hangs: RunCode = (turn) => turn.effect("pay", () => new Promise(() => undefined), { timeoutMs: 5 });
    assert.equal(await rehearsed(hangs, fails), undefined, "an effect whose outcome is lost stays lost");
    assert.equal(went, 0);
  });

  it("does not fit when it calls something else, and says which entry, and what it calls now", async () => {
    const other: RunCode = async (turn) => {
      await turn.effect("look up", () => 1);
      return refunds(turn);
    };
    assert.equal(await rehearsed(refunds, other), 'entry 0 is effect("find"), the code now calls effect("look up")');
    const shorter: RunCode = async (turn) => turn.effect("find", () => 1);
    assert.match(
      String(await rehearsed(refunds, shorter)),
      /entry 2 is approve\(\), and the code ended without calling it/,
    );
    const earlier: RunCode = async (turn) => {
      const approval = turn.approve({ prompt: "Refund?" });
      await turn.effect("find", () => 1);
      await approval;
    };
    assert.match(String(await rehearsed(refunds, earlier)), /entry 0 is effect\("find"\), the code now calls approve/);
    const throws: RunCode = async (turn) => {
      await turn.effect("find", () => 1);
      throw new TypeError("order is undefined");
    };
    assert.match(String(await rehearsed(refunds, throws)), /approve\(\).*it threw TypeError: order is undefined/);
  });

  it("does not fit when it no longer makes a call with a key, in the time that it is given", async () => {
    const keyed: RunCode = async (turn) => {
      await delay(1);
      await turn.effect("find", () => 1, { key: "a" });
      await turn.sleep(day);
    };
    assert.equal(await rehearsed(keyed, keyed), undefined);
    const lost: RunCode = async (turn) => {
      await delay(1000);
      await turn.effect("find", () => 1, { key: "b" });
    };
    assert.match(String(await rehearsed(keyed, lost)), /entry 0 is effect\("find"\) with the key "a"/);
  });

  it("is given the same time and chance as the turn was, and the answers that it got", async () => {
    const drawn: unknown[] = [];
    const draws: RunCode = async (turn) => {
      drawn.push([turn.random(), turn.uuid(), turn.now().getTime(), turn.text, turn.taskId]);
      const approved = await turn.approve({ prompt: "?" });
      drawn.push([approved, turn.random(), turn.now().getTime()]);
      await turn.sleep(day);
    };
    assert.equal(await rehearsed(draws, draws, { answers: 1 }), undefined);
    const lasts = drawn.slice(-2);
    assert.equal(drawn.length >= 4, true);
    assert.deepEqual(lasts, drawn.slice(-4, -2));
  });

  it("is told that it fits a turn which other code is held for", async () => {
    await using stage = new Stage();
    const old = await stage.start(agent(refunds));
    const turn = await old.interrupted(await old.send());
    await old.kill();
    const wrong = await stage.start(agent(async (t) => t.effect("other", () => 1)));
    await wrong.answer(turn, { approved: true });
    const held = await wrong.inState(turn, "held");
    const ports = await portsOf(wrong);
    const journal = await wrong.journal(held);
    assert.equal(await rehearse({ turn: held, journal, agent: agent(refunds) }, ports), undefined);
    assert.equal((await wrong.load(held)).state, "held");
  });

  it("goes along with a call of another agent, and calls nobody", async () => {
    const reached: string[] = [];
    const callees: Callees = {
      async reach({ agent: called }) {
        reached.push(called);
        const task = { id: "t", status: { state: "TASK_STATE_WORKING" } } as const;
        const none = () => assert.fail("nobody is to be called");
        return { repeats: true, send: async () => ({ task }), get: async () => task, answer: none, cancel: none };
      },
    };
    const calls: RunCode = async (turn) => String((await turn.call("https://a.example/", turn.text)).output);
    const other: RunCode = async (turn) => String((await turn.call("https://b.example/", turn.text)).output);
    assert.equal(await rehearsed(calls, calls, { callees }), undefined);
    assert.deepEqual(new Set(reached), new Set(["https://a.example/"]));
    assert.match((await rehearsed(calls, other, { callees }))!, /call https:\/\/a\.example\/: find/);
    assert.deepEqual(new Set(reached), new Set(["https://a.example/"]));
  });
});
