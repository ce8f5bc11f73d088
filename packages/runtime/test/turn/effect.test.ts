/** Effects: begun at most once, and nothing about their outcome is guessed (E7-E10). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

import { Cancelled, OutcomeUnknown } from "@nylorun/agents";
import type { Effect, Turn } from "@nylorun/agents";
import { EXTENSION_URIS, EXTENSIONS } from "@nylorun/protocol";

import type { TurnRecord } from "../../src/turn/record.ts";
import { taskOf } from "../../src/turn/task.ts";
import { systemTimers } from "../../src/turn/timers.ts";
import { agent, codeOf, nameOf, messageOf, output, settle, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

const never = () => new Promise<never>(() => {});

/** The id that operators, and callers through effects/v1, know the lost effect by. */
function lostId({ view }: TurnRecord): string {
  return view.lost![0]!.id;
}

/** What effects/v1 says. */
function uncertain(node: Node, turn: TurnRecord): unknown {
  const task = taskOf(turn, { taskIds: node.taskIds, active: new Set(EXTENSION_URIS) });
  return (task.metadata?.[EXTENSIONS.effects] as { uncertain: unknown } | undefined)?.uncertain;
}

describe("an effect", () => {
  test("is on disk as begun before its function runs (E7)", async () => {
    await using stage = new Stage();
    const started = Promise.withResolvers<Node>();
    const sent = started.promise.then((node) => node.send());
    const run = async (turn: Turn) => turn.effect("x", async () => (await started.promise).told(await sent));
    await using node = await stage.start(agent(run));
    started.resolve(node);
    assert.equal(output(await node.ended(await sent)), "effect");
  });

  test("does not run when its beginning could not be written", async () => {
    await using stage = new Stage();
    let ran = 0;
    const run = async (turn: Turn) => ({ n: await turn.effect("x", () => ++ran) });
    let node = await stage.start(agent(run));
    node.faulty.faults = {
      before: ({ commit }) => {
        if (commit?.entries?.[0]?.kind === "effect") node.faulty.die();
      },
    };
    const turn = await node.send();
    await settle(50);
    assert.equal(ran, 0);
    await node.kill();
    node = await stage.start(agent(run));
    assert.deepEqual(output(await node.ended(turn)), { n: 1 });
  });

  test("runs once more, and no more, when it did not begin before the process died: its beginning is lost, not its outcome", async () => {
    await using stage = new Stage();
    let ran = 0;
    const run = async (turn: Turn) => ({ n: await turn.effect("x", () => ++ran) });
    let node = await stage.start(agent(run));
    // Durable, but the process never learns of it.
    node.faulty.faults = {
      after: ({ commit }) => {
        if (commit?.entries?.[0]?.kind === "effect") node.faulty.die();
      },
    };
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await node.kill();
    node = await stage.start(agent(run));
    const { view } = await node.inState(turn, "uncertain");
    assert.equal(ran, 0);
    assert.deepEqual(
      view.lost?.map(({ name, why }) => [name, why]),
      [["x", "died"]],
    );
    await node.engine.resolve(view.lost[0]!.id, { outcome: "retry" });
    assert.deepEqual(output(await node.ended(turn)), { n: 1 });
  });

  test("has a key that is opaque, stable over attempts and processes, and its own (E7)", async () => {
    await using stage = new Stage();
    const keys: string[] = [];
    let fails = true;
    const run = async (turn: Turn) => {
      await turn.effect(
        "a",
        ({ key }) => {
          keys.push(key);
          if (fails) {
            fails = false;
            throw new OutcomeUnknown();
          }
          if (keys.length === 2) return never();
          return 1;
        },
        { idempotent: true },
      );
      await turn.effect("a", ({ key }) => void keys.push(key));
      return {};
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, () => keys.length === 2);
    await node.kill();
    node = await stage.start(agent(run));
    await node.ended(turn);
    assert.equal(keys.length, 4);
    assert.equal(new Set(keys.slice(0, 3)).size, 1);
    assert.notEqual(keys[3], keys[0]);
    assert.match(keys[0]!, /^[0-9a-f]{32}$/);
    const other = await node.send();
    await node.ended(other);
    assert.equal(new Set(keys).size, 4);
  });

  test("is not handed turn's other calls: each throws turn.nested (E7)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const calls: Record<string, () => unknown> = {
        effect: () => turn.effect("inner", () => 1),
        ask: () => turn.ask({ prompt: "?" }),
        approve: () => turn.approve({ prompt: "?" }),
        connect: () => turn.connect({ prompt: "?", provider: "p", verify: () => true }),
        sleep: () => turn.sleep(1),
        say: () => turn.say("x"),
        usage: () => turn.usage({ tokens: 1 }),
        plan: () => turn.plan(["a"]),
        progress: () => turn.progress({ percent: 1 }),
        patch: () => turn.patch("p"),
        now: () => turn.now(),
        random: () => turn.random(),
        uuid: () => turn.uuid(),
      };
      return turn.effect("outer", async () => {
        const codes: Record<string, unknown> = {};
        await setTimeout(1);
        for (const [name, call] of Object.entries(calls)) {
          try {
            await call();
          } catch (error) {
            codes[name] = (error as { code: unknown }).code;
          }
        }
        return codes;
      });
    };
    await using node = await stage.start(agent(run));
    const codes = output(await node.ended(await node.send())) as object;
    assert.deepEqual(new Set(Object.values(codes)), new Set(["turn.nested"]));
    assert.equal(Object.keys(codes).length, 13);
  });

  test("shows what it says, and records what it used with its outcome", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      await turn.effect("x", (effect) => {
        effect.usage({ tokens: 3 });
        effect.usage({ tokens: 4, costUsd: 0.5 });
        effect.say("Half way.");
        effect.progress({ percent: 50, stage: "Half" });
      });
      await turn.approve({ prompt: "Go on?" });
      return {};
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    const { view } = await node.interrupted(turn);
    assert.deepEqual(view.totals, { steps: 1, tokens: 7, costUsd: 0.5 });
    assert.deepEqual(view.progress, { percent: 50, stage: "Half" });
    assert.deepEqual(
      view.history?.map(({ parts }) => parts[0]!.text),
      ["Half way."],
    );
    await node.letGo(turn);
    await node.kill();
    node = await stage.start(agent(run));
    await node.answer(turn, { approved: true });
    assert.deepEqual((await node.ended(turn)).view.totals, { steps: 1, tokens: 7, costUsd: 0.5 });
  });

  test("is told when it reports what cannot be (I11)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      turn.effect("x", (effect) =>
        [
          () => effect.progress({ percent: Number.NaN }),
          () => effect.usage({ tokens: -1 }),
          () => effect.usage({ tokens: 1.5 }),
          () => effect.usage({ costUsd: 1e308 }),
          () => effect.say(""),
        ].map((call) => {
          try {
            call();
            return "taken";
          } catch (error) {
            return (error as { code: string }).code;
          }
        }),
      );
    await using node = await stage.start(agent(run));
    assert.deepEqual(output(await node.ended(await node.send())), [
      "progress.invalid",
      "call.invalid",
      "call.invalid",
      "call.invalid",
      "say.invalid",
    ]);
  });

  test("many of them leave no listener behind", async () => {
    await using stage = new Stage();
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on("warning", warn);
    const run = async (turn: Turn) => {
      for (let n = 0; n < 30; n++) await turn.effect("x", () => n, { timeoutMs: 60_000 });
      await Promise.all(Array.from({ length: 30 }, () => turn.effect("x", () => setTimeout(1), { timeoutMs: 60_000 })));
      return {};
    };
    await using node = await stage.start(agent(run));
    await node.ended(await node.send());
    process.off("warning", warn);
    assert.deepEqual(warnings, []);
  });
});

describe("an effect whose outcome is unknown (E8)", () => {
  const causes: Record<
    string,
    { readonly why: string; readonly run: (effect: Effect) => unknown; readonly timeoutMs?: number }
  > = {
    "whose time is up": { why: "timeout", run: never, timeoutMs: 10 },
    "whose time is up, and that throws then": {
      why: "timeout",
      run: ({ signal }) => setTimeout(5000, 0, { signal }),
      timeoutMs: 10,
    },
    "that throws OutcomeUnknown": {
      why: "unknown",
      run: () => {
        throw new OutcomeUnknown("The connection broke.");
      },
    },
    "that throws another copy's OutcomeUnknown": {
      why: "unknown",
      run: () => {
        throw Object.assign(new Error("?"), { name: "OutcomeUnknown" });
      },
    },
  };
  for (const [what, { why, run: code, timeoutMs }] of Object.entries(causes)) {
    test(`${what} makes the turn uncertain; it waits, costs nothing, and runs nothing again`, async () => {
      await using stage = new Stage();
      let ran = 0;
      const run = async (turn: Turn) => {
        const value = await turn.effect("pay", (effect) => (ran++, code(effect)), timeoutMs ? { timeoutMs } : {});
        return { value };
      };
      let node = await stage.start(agent(run));
      const turn = await node.send();
      const lost = await node.inState(turn, "uncertain");
      assert.equal(await node.told(turn), `effect lost:${why}`);
      assert.equal(uncertain(node, lost), lostId(lost));
      assert.match(lostId(lost), /^[\w-]{20,}$/);
      await node.letGo(turn);
      await node.kill();
      node = await stage.start(agent(run));
      stage.pass(86_400_000);
      await settle(50);
      assert.equal((await node.load(turn)).state, "uncertain");
      assert.equal(ran, 1);
    });

    test(`${what} runs again when it is idempotent`, async () => {
      await using stage = new Stage();
      let ran = 0;
      const run = async (turn: Turn) => ({
        value: await turn.effect("read", (effect) => (++ran < 3 ? code(effect) : ran), {
          idempotent: true,
          ...(timeoutMs && { timeoutMs }),
        }),
      });
      await using node = await stage.start(agent(run));
      const turn = await node.send();
      assert.deepEqual(output(await node.ended(turn)), { value: 3 });
      assert.equal(await node.told(turn), "effect retry retry outcome");
    });
  }

  test("is not taken for one that failed: an error is an outcome", async () => {
    await using stage = new Stage();
    let ran = 0;
    const run = async (turn: Turn) => {
      const message = await turn
        .effect("pay", () => {
          ran++;
          throw new Error("No money.");
        })
        .catch(messageOf);
      return { message };
    };
    await using node = await stage.start(agent(run));
    assert.deepEqual(output(await node.ended(await node.send())), { message: "No money." });
    assert.equal(ran, 1);
  });

  test("is tried ten times in all when it is idempotent, over a restart too, after pauses that double up to 30 s", async () => {
    const pauses: number[] = [];
    await using stage = new Stage({
      timers: {
        now: () => performance.now(),
        after(ms, code) {
          pauses.push(ms);
          return systemTimers.after(ms / 1000, code);
        },
      },
      limits: { leaseMs: 600_000 },
    });
    let times = 0;
    const lastOfLife = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) => {
      const lost = () => {
        if (++times === 4) {
          lastOfLife.resolve(undefined);
          return never();
        }
        throw new OutcomeUnknown();
      };
      return { code: await turn.effect("read", lost, { idempotent: true }).catch(codeOf) };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await lastOfLife.promise;
    await node.kill();
    node = await stage.start(agent(run));
    assert.deepEqual(output(await node.ended(turn)), { code: "effect.exhausted" });
    assert.equal(times, 10);
    const doubling = [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600];
    // The fourth attempt was lost with its process, and tried again at once.
    assert.deepEqual(
      pauses.filter((ms) => doubling.includes(ms)),
      doubling.filter((ms) => ms !== 1600),
    );
    assert.ok(pauses.every((ms) => ms <= 30_000 || ms >= 200_000));
  });

  test("that ignores its abort signal is not waited for when its time is up; what it says late is taken (E9)", async () => {
    await using stage = new Stage();
    const late = Promise.withResolvers<string>();
    const run = async (turn: Turn) => ({ value: await turn.effect("pay", () => late.promise, { timeoutMs: 10 }) });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.inState(turn, "uncertain");
    await node.letGo(turn);
    late.resolve("paid");
    assert.deepEqual(output(await node.ended(turn)), { value: "paid" });
    assert.equal(await node.told(turn), "effect lost:timeout outcome");
  });

  test("that comes back while its loss is being written is not lost (E9)", async () => {
    await using stage = new Stage();
    const late = Promise.withResolvers<string>();
    const run = async (turn: Turn) => ({ value: await turn.effect("pay", () => late.promise, { timeoutMs: 10 }) });
    await using node = await stage.start(agent(run));
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (commit?.entries?.[0]?.kind !== "lost") return;
        late.resolve("paid");
        await settle();
      },
    };
    const turn = await node.send();
    assert.deepEqual(output(await node.ended(turn)), { value: "paid" });
  });

  test("keeps what the late one used", async () => {
    await using stage = new Stage();
    const late = Promise.withResolvers<string>();
    const run = async (turn: Turn) => ({
      value: await turn.effect(
        "pay",
        async (effect) => {
          effect.usage({ tokens: 5 });
          return late.promise;
        },
        { timeoutMs: 10 },
      ),
    });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.inState(turn, "uncertain");
    late.resolve("paid");
    assert.equal((await node.ended(turn)).view.totals?.tokens, 5);
  });
});

describe("an uncertain turn (E9, E10)", () => {
  const pay =
    (log: string[], gate: () => unknown = never) =>
    async (turn: Turn) => {
      try {
        const value = await turn.effect("pay", () => (log.push("pay"), gate()), { timeoutMs: 10 });
        log.push("went on");
        return { value };
      } catch (error) {
        return { failed: (error as Error).message, code: (error as { code?: string }).code };
      }
    };

  test("goes on with the value that an operator gives", async () => {
    await using stage = new Stage();
    const log: string[] = [];
    await using node = await stage.start(agent(pay(log)));
    const turn = await node.send();
    const id = lostId(await node.inState(turn, "uncertain"));
    assert.equal(await node.other.resolve(id, { outcome: "completed", value: { receipt: 7 } }), true);
    assert.deepEqual(output(await node.ended(turn)), { value: { receipt: 7 } });
    assert.deepEqual(log, ["pay", "went on"]);
    assert.equal(await node.other.resolve(id, { outcome: "completed", value: 8 }), false);
  });

  test("goes on with an error when an operator says that it failed", async () => {
    await using stage = new Stage();
    await using node = await stage.start(agent(pay([])));
    const turn = await node.send();
    const id = lostId(await node.inState(turn, "uncertain"));
    assert.equal(await node.other.resolve(id, { outcome: "failed", message: "It did not happen." }), true);
    const { failed } = output(await node.ended(turn)) as { failed: string };
    assert.equal(failed, "It did not happen.");
  });

  test("tries once more when an operator says so, with the same key; a second loss is a loss again", async () => {
    await using stage = new Stage();
    const keys: string[] = [];
    const run = async (turn: Turn) => ({
      value: await turn.effect("pay", ({ key }) => (keys.push(key), keys.length < 3 ? never() : "paid"), {
        timeoutMs: 10,
      }),
    });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    for (let n = 1; n <= 2; n++) {
      const lost = await node.until(turn, ({ view }) => view.lost !== undefined && keys.length === n);
      assert.equal(await node.other.resolve(lostId(lost), { outcome: "retry" }), true);
    }
    assert.deepEqual(output(await node.ended(turn)), { value: "paid" });
    assert.equal(new Set(keys).size, 1);
    assert.equal(keys.length, 3);
  });

  test("after a retry takes no late outcome of the attempt before: that one says nothing of the new one", async () => {
    await using stage = new Stage();
    const attempts = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let n = 0;
    const run = async (turn: Turn) => ({
      value: await turn.effect("pay", () => attempts[n++]!.promise, { timeoutMs: 30 }),
    });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const id = lostId(await node.inState(turn, "uncertain"));
    await node.other.resolve(id, { outcome: "retry" });
    await node.until(turn, () => n === 2);
    attempts[0]!.resolve("first");
    await settle();
    assert.equal(await node.told(turn), "effect lost:timeout retry retry");
    await node.inState(turn, "uncertain");
    attempts[0]!.resolve("first");
    await settle();
    assert.equal((await node.load(turn)).state, "uncertain");
    attempts[1]!.resolve("second");
    assert.deepEqual(output(await node.ended(turn)), { value: "second" });
  });

  // keeps: effects-shown-oldest
  test("shows several lost effects one after another, oldest first, and hides an open interaction meanwhile", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const [a, b, ok] = await Promise.all([
        turn.effect("a", never, { timeoutMs: 40 }),
        turn.effect("b", never, { timeoutMs: 10 }),
        turn.approve({ prompt: "Go on?" }),
      ]);
      return { a, b, ok };
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const approval = (await node.interrupted(turn)).view.status!.interaction!.interactionId;
    const both = await node.until(turn, ({ view }) => view.lost?.length === 2);
    // Lost first: b.
    assert.deepEqual(
      both.view.lost!.map(({ name }) => name),
      ["b", "a"],
    );
    assert.equal(uncertain(node, both), both.view.lost![0]!.id);
    assert.equal(both.view.status, undefined);
    await assert.rejects(node.answer(turn, { interactionId: approval, approved: true }), { code: -32_004 });
    await node.other.resolve(both.view.lost![1]!.id, { outcome: "completed", value: "A" });
    const one = await node.load(turn);
    assert.equal(one.state, "uncertain");
    assert.equal(uncertain(node, one), both.view.lost![0]!.id);
    await node.other.resolve(both.view.lost![0]!.id, { outcome: "completed", value: "B" });
    const open = await node.interrupted(turn);
    assert.equal(open.view.status!.interaction!.interactionId, approval);
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), { a: "A", b: "B", ok: true });
  });

  test("settles only when every effect that was begun has an outcome: a race's loser too", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    const run = async (turn: Turn) =>
      Promise.race([turn.effect("fast", () => "fast"), turn.effect("slow", () => gate.promise)]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 3);
    await setTimeout(20);
    assert.equal((await node.load(turn)).state, "running");
    gate.resolve("slow");
    assert.equal(output(await node.ended(turn)), "fast");
    assert.equal(await node.told(turn), "effect effect outcome outcome");
  });

  for (const how of ["returned", "threw"]) {
    test(`that has ${how} is uncertain until its lost effect is resolved, over a restart too`, async () => {
      await using stage = new Stage();
      let ran = 0;
      const run = async (turn: Turn) => {
        void turn.effect("slow", () => (ran++, never()), { timeoutMs: 20 });
        await turn.effect("fast", () => 1);
        if (how === "threw") throw new Error("No.");
        return { done: true };
      };
      let node = await stage.start(agent(run));
      const turn = await node.send();
      const id = lostId(await node.inState(turn, "uncertain"));
      await node.letGo(turn);
      await node.kill();
      node = await stage.start(agent(run));
      await settle(50);
      assert.equal((await node.load(turn)).state, "uncertain");
      await node.other.resolve(id, { outcome: "failed", message: "No." });
      assert.equal((await node.ended(turn)).state, how === "threw" ? "failed" : "completed");
      assert.equal(ran, 1);
    });
  }

  test("settling withdraws the waits that are open", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.race([
        turn.effect("fast", () => setTimeout(10, "fast")),
        turn.ask({ prompt: "Who?" }),
        turn.sleep(86_400_000),
      ]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const ended = await node.ended(turn);
    assert.equal(output(ended), "fast");
    assert.equal(await node.told(turn), "effect question sleep outcome end:withdrawn end:withdrawn");
    assert.equal(ended.view.waits, undefined);
    assert.equal(ended.view.status, undefined);
    assert.deepEqual(
      ended.view.history?.map(({ parts }) => parts[0]!.text),
      ["Who?"],
    );
  });

  test("of which something still runs is resolved while it runs", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    const run = async (turn: Turn) =>
      Promise.all([turn.effect("a", never, { timeoutMs: 10 }), turn.effect("b", () => gate.promise)]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const id = lostId(await node.inState(turn, "uncertain"));
    await node.other.resolve(id, { outcome: "completed", value: "A" });
    await node.until(turn, ({ state }) => state === "running");
    gate.resolve("B");
    assert.deepEqual(output(await node.ended(turn)), ["A", "B"]);
  });

  test("is resolved once, though an operator and the effect itself say so at the same moment", async () => {
    await using stage = new Stage();
    const late = Promise.withResolvers<string>();
    const hold = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) =>
      Promise.all([turn.effect("a", () => late.promise, { timeoutMs: 10 }), turn.effect("b", () => hold.promise)]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const id = lostId(await node.inState(turn, "uncertain"));
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (!commit?.entries?.some((entry) => entry.kind === "outcome")) return;
        node.faulty.faults = {};
        await node.other.resolve(id, { outcome: "completed", value: "the operator's" });
      },
    };
    late.resolve("its own");
    await node.until(turn, ({ view }) => view.lost === undefined);
    hold.resolve(undefined);
    assert.deepEqual(output(await node.ended(turn)), ["the operator's", null]);
    assert.equal(await node.told(turn), "effect effect lost:timeout outcome outcome");
  });

  test("that is held stays held when its late outcome comes", async () => {
    await using stage = new Stage();
    const late = Promise.withResolvers<string>();
    const run = async (turn: Turn) => ({ value: await turn.effect("pay", () => late.promise, { timeoutMs: 10 }) });
    const node = await stage.start(agent(run));
    const turn = await node.send();
    await node.inState(turn, "uncertain");
    const { turn: key, context, view, length } = await node.letGo(turn);
    await node.inner.commit({
      key: { turn: key, context },
      length,
      state: "held",
      view: { ...view, held: { code: "turn.kills", message: "For tests." } },
    });
    late.resolve("paid");
    await node.until(turn, (now) => now.length === length + 1);
    await settle();
    assert.equal((await node.load(turn)).state, "held");
    await node.engine.release(turn);
    assert.deepEqual(output(await node.ended(turn)), { value: "paid" });
  });

  test("that is retried begins on the recorded terms, not on those of newer code (I4)", async () => {
    await using stage = new Stage();
    let ran = 0;
    let idempotent = false;
    const run = async (turn: Turn) => ({
      value: await turn.effect("pay", () => (++ran === 1 ? never() : ran), { idempotent }),
    });
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, () => ran === 1);
    await node.kill();
    idempotent = true;
    node = await stage.start(agent(run));
    await node.inState(turn, "uncertain");
    await settle(50);
    assert.equal(ran, 1);
    assert.equal(await node.told(turn), "effect lost:died");
  });

  test("whose effect was idempotent when it began is tried again under newer code", async () => {
    await using stage = new Stage();
    let ran = 0;
    let idempotent = true;
    const run = async (turn: Turn) => ({
      value: await turn.effect("read", () => (++ran === 1 ? never() : ran), { idempotent }),
    });
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, () => ran === 1);
    await node.kill();
    idempotent = false;
    node = await stage.start(agent(run));
    assert.deepEqual(output(await node.ended(turn)), { value: 2 });
  });
});

describe("a turn that is cancelled while effects run (E16)", () => {
  test("names those that are not known to have ended, for the operator, though the process dies", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => turn.effect("pay", never);
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await node.other.cancel(node.scope(), node.taskId(turn));
    await node.kill();
    node = await stage.start(agent(run));
    const [lost] = await node.engine.lost();
    assert.equal(lost?.turn, turn.turn);
    assert.equal(lost.state, "canceled");
    assert.deepEqual(
      lost.view.lost?.map(({ name }) => name),
      ["pay"],
    );
    assert.equal(uncertain(node, lost), undefined);
    await assert.rejects(node.engine.resolve(lostId(lost), { outcome: "retry" }), { code: "effect.ended" });
    assert.equal(await node.engine.resolve(lostId(lost), { outcome: "completed", value: 1 }), true);
    assert.deepEqual(await node.engine.lost(), []);
    assert.equal((await node.load(turn)).state, "canceled");
  });

  test("records what comes late as evidence, and forgets the question then", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    const run = async (turn: Turn) => turn.effect("pay", () => gate.promise);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await node.other.cancel(node.scope(), node.taskId(turn));
    gate.resolve("paid");
    await node.until(turn, ({ view }) => view.lost === undefined);
    const journal = await node.journal(turn);
    assert.deepEqual(
      journal.flatMap((entry) => (entry.kind === "outcome" ? [entry.result] : [])),
      [{ value: "paid" }],
    );
    assert.equal((await node.load(turn)).state, "canceled");
  });

  test("loses no outcome that was on its way to the disk", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => turn.effect("pay", () => "paid");
    await using node = await stage.start(agent(run));
    const sent = node.send();
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (commit?.entries?.[0]?.kind !== "outcome") return;
        node.faulty.faults = {};
        await node.other.cancel(node.scope(), node.taskId(await sent));
      },
    };
    const turn = await sent;
    await node.ended(turn);
    await node.until(turn, ({ view }) => view.lost === undefined);
    assert.match(await node.told(turn), /outcome/);
  });

  test("has no idempotent effect to ask an operator about", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => turn.effect("read", never, { idempotent: true });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await node.other.cancel(node.scope(), node.taskId(turn));
    await settle(30);
    assert.deepEqual(await node.engine.lost(), []);
  });

  test("tells its effects through their signal, and lets the next turn begin when they and the function have ended", async () => {
    await using stage = new Stage();
    const log: string[] = [];
    const run = async (turn: Turn) => {
      if (turn.text === "next") return log.push("next began");
      try {
        await turn.effect("wait", async ({ signal }) => {
          await setTimeout(60_000, 0, { signal }).catch(() => undefined);
          await setTimeout(30);
          log.push("effect ended");
          throw new Error("Aborted.");
        });
      } catch (error) {
        log.push(`function saw ${(error as Error).name}`);
        assert.ok(error instanceof Cancelled);
        await turn.effect("more", () => log.push("ran")).catch((late: unknown) => log.push(`more: ${nameOf(late)}`));
      } finally {
        log.push("finally");
      }
      return {};
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    const next = await node.send("next", { contextId: turn.contextId });
    assert.equal(next.state, "queued");
    await node.other.cancel(node.scope(), node.taskId(turn));
    assert.equal((await node.load(turn)).state, "canceled");
    await node.ended(next);
    assert.deepEqual(log, ["function saw Cancelled", "more: Cancelled", "finally", "effect ended", "next began"]);
    await setImmediate();
  });
});
