/** Waiting for people and for time: E11-E14, and answers that come in the middle of things (E18). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

import { WaitExpired } from "@nylorun/agents";
import type { Turn } from "@nylorun/agents";

import type { TurnRecord } from "../../src/turn/record.ts";
import { dueAt } from "../../src/turn/view.ts";
import type { Asked } from "./faulty-store.ts";
import { agent, messageOf, nameOf, output, settle, Stage } from "./stage.ts";

const day = 86_400_000;

function shown({ view }: TurnRecord): string | undefined {
  return view.status?.interaction?.prompt;
}

describe("a turn that waits", () => {
  test("shows its interaction at once, while a sibling still runs, and is parked when that has ended (E11)", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    const run = async (turn: Turn) =>
      Promise.all([turn.effect("slow", () => gate.promise), turn.approve({ prompt: "Go on?" })]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    assert.equal(shown(await node.interrupted(turn)), "Go on?");
    await settle();
    assert.ok(node.faulty.holds(turn));
    gate.resolve("done");
    await node.letGo(turn);
    assert.equal(shown(await node.load(turn)), "Go on?");
    await node.answer(turn, { approved: false });
    assert.deepEqual(output(await node.ended(turn)), ["done", false]);
  });

  test("is answered while a sibling still runs, and goes on without being dropped", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    let runs = 0;
    const run = async (turn: Turn) => {
      runs++;
      return Promise.all([
        turn.effect("slow", () => gate.promise),
        turn.approve({ prompt: "Go on?" }).then(async (ok) => [ok, await turn.effect("after", () => "after")]),
      ]);
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: true });
    await node.until(turn, ({ length }) => length === 5);
    gate.resolve("slow");
    assert.deepEqual(output(await node.ended(turn)), ["slow", [true, "after"]]);
    assert.equal(runs, 1);
  });

  test("drops the function: its signal is not aborted, finally does not run then, but at the real end (E12)", async () => {
    await using stage = new Stage();
    const log: string[] = [];
    const signals: AbortSignal[] = [];
    const run = async (turn: Turn) => {
      signals.push(turn.signal);
      try {
        await turn.approve({ prompt: "Go on?" });
        return {};
      } finally {
        log.push("finally");
      }
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    await settle();
    assert.deepEqual([log, signals[0]!.aborted], [[], false]);
    await node.answer(turn, { approved: true });
    await node.ended(turn);
    assert.deepEqual(log, ["finally"]);
    assert.equal(signals.length, 2);
  });

  test("that is cancelled while it is parked runs nothing any more (E12, E16)", async () => {
    await using stage = new Stage();
    const log: string[] = [];
    const run = async (turn: Turn) => {
      log.push("run");
      try {
        await turn.approve({ prompt: "Go on?" });
      } finally {
        log.push("finally");
      }
      return {};
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    const next = await node.send("Hello", { contextId: turn.contextId });
    await node.engine.cancel(node.scope(), node.taskId(turn));
    await node.interrupted(next);
    assert.deepEqual(log, ["run", "run"]);
    const canceled = await node.load(turn);
    assert.deepEqual([canceled.state, canceled.view.status, canceled.view.waits], ["canceled", undefined, undefined]);
    await assert.rejects(node.answer(turn, { approved: true }), { code: -32_004 });
  });

  for (const { what, then } of [
    { what: "calls turn again", then: async (turn: Turn) => turn.effect("late", () => 1, { key: "late" }) },
    { what: "says something", then: async (turn: Turn) => turn.say("Too late.") },
    { what: "returns", then: async () => "late" },
    {
      what: "throws",
      then: async () => {
        throw new Error("late");
      },
    },
  ]) {
    test(`and awaits what is not turn's is dropped all the same; when it then ${what}, that is reported and ignored (E11)`, async () => {
      await using stage = new Stage();
      const gate = Promise.withResolvers<unknown>();
      let first = true;
      const run = async (turn: Turn) => {
        const approval = turn.approve({ prompt: "Go on?" });
        if (first) {
          first = false;
          await Promise.race([approval, gate.promise]);
          return then(turn);
        }
        return { approved: await approval };
      };
      await using node = await stage.start(agent(run));
      const turn = await node.send();
      await node.interrupted(turn);
      await node.letGo(turn);
      gate.resolve(undefined);
      await settle();
      assert.equal(stage.logged(/turn\.unjournaled/).length, 1, JSON.stringify(stage.log));
      assert.equal(await node.told(turn), "approval");
      await node.answer(turn, { approved: true });
      assert.deepEqual(output(await node.ended(turn)), { approved: true });
    });
  }

  // keeps: interactions-asks-one
  test("for several answers shows them one after another, in the order in which it asked (E13)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.all([
        turn.approve({ prompt: "First?" }),
        turn.ask({ prompt: "Second?" }),
        turn.approve({ prompt: "Third?" }),
      ]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    assert.equal(shown(await node.interrupted(turn)), "First?");
    const second = (await node.load(turn)).view.waits![1] as { id: string };
    await assert.rejects(node.answer(turn, { interactionId: second.id, value: "early" }), { code: -32_602 });
    await node.answer(turn, { approved: true });
    assert.equal(shown(await node.load(turn)), "Second?");
    await node.answer(turn, { value: "two" });
    assert.equal(shown(await node.load(turn)), "Third?");
    await node.answer(turn, { approved: false });
    const ended = await node.ended(turn);
    assert.deepEqual(output(ended), [true, "two", false]);
    assert.deepEqual(
      ended.view.history?.map(({ by, parts }) => `${by}: ${parts[0]!.text}`),
      ["agent: First?", "user: (answered)", "agent: Second?", "user: (answered)", "agent: Third?", "user: (answered)"],
    );
  });

  // keeps: interactions-answer-once
  test("is answered once: the second of two answers at the same moment finds nothing open", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => ({ is: await turn.approve({ prompt: "Go on?" }) });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    const both = await Promise.allSettled([
      node.answer(turn, { approved: true }),
      node.answer(turn, { approved: false }),
    ]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    await node.ended(turn);
    assert.equal(await node.told(turn), "approval end:answered");
  });

  // keeps: profile-contexts-again-first, interactions-answer-again
  test("takes a retried answer as the success that it was, whatever came after (E14)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => ({
      is: [await turn.approve({ prompt: "One?" }), await turn.approve({ prompt: "Two?" })],
    });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    const interactionId = (await node.load(turn)).view.status!.interaction!.interactionId;
    const answer = { interactionId, approved: true };
    await node.answer(turn, answer, { messageId: "answer" });
    await node.until(turn, (now) => shown(now) === "Two?");
    assert.equal((await node.answer(turn, answer, { messageId: "answer" })).turn, turn.turn);
    assert.equal(shown(await node.load(turn)), "Two?");
    await assert.rejects(node.answer(turn, { ...answer, approved: false }, { messageId: "answer" }), { code: -32_602 });
    await node.answer(turn, { approved: false });
    await node.ended(turn);
    assert.equal((await node.answer(turn, answer, { messageId: "answer" })).state, "completed");
    assert.deepEqual(output(await node.load(turn)), { is: [true, false] });
  });
});

describe("an answer in the middle of a commit, from another node (E18)", () => {
  for (const { what, hit } of [
    { what: "before the turn is parked", hit: (then: string | undefined) => then === "park" },
    {
      what: "before another effect's outcome is written",
      hit: (_: unknown, kind: string | undefined) => kind === "outcome",
    },
    {
      what: "before a sibling begins an effect",
      hit: (_: unknown, kind: string | undefined, n: number) => kind === "effect" && n > 2,
    },
  ]) {
    for (const when of ["before", "after"] as const) {
      test(`${what} (${when} the commit is durable) is seen at once, and delivered in the order of the journal`, async () => {
        await using stage = new Stage();
        const seen: string[] = [];
        const run = async (turn: Turn) => {
          seen.length = 0;
          const approval = turn.approve({ prompt: "Go on?" }).then((ok) => void seen.push(`answer ${ok}`));
          const work = (async () => {
            for (const name of ["a", "b", "c"]) {
              await turn.effect(name, () => setTimeout(2));
              seen.push(name);
            }
          })();
          await Promise.all([approval, work]);
          await turn.sleep(day);
          return [...seen];
        };
        let answered = false;
        let node = await stage.start(agent(run));
        const sent = node.send();
        node.faulty.faults = {
          [when]: async ({ commit }: Asked) => {
            if (answered || commit === undefined) return;
            const now = await node.load(await sent);
            if (now.state !== "waiting" || !hit(commit.then?.do, commit.entries?.[0]?.kind, now.length)) return;
            answered = true;
            await node.answer(now, { approved: true });
          },
        };
        const turn = await sent;
        await node.until(turn, ({ view }) => view.waits?.length === 1 && view.waits[0]!.kind === "sleep");
        const live = [...seen];
        assert.equal(answered, true);
        await node.letGo(turn);
        await node.kill();
        node = await stage.start(agent(run));
        stage.pass(day);
        assert.deepEqual(output(await node.ended(turn)), live);
        assert.equal((await node.journal(turn)).filter(({ kind }) => kind === "end").length, 2);
      });
    }
  }

  test("before the function's end is written: the turn ends all the same, and the answer was taken", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.race([
        turn.approve({ prompt: "Go on?" }).then(() => "answered"),
        turn.effect("fast", () => setTimeout(5, "fast")),
      ]);
    await using node = await stage.start(agent(run));
    let answered = false;
    const sent = node.send();
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (answered || commit?.then?.do !== "end") return;
        answered = true;
        await node.answer(await sent, { approved: true });
      },
    };
    const turn = await sent;
    assert.equal(output(await node.ended(turn)), "fast");
    assert.equal(await node.told(turn), "approval effect outcome end:answered");
  });

  test("a claim of a connection is neither lost nor overwritten by what the runner shows meanwhile", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<unknown>();
    let connected = false;
    const run = async (turn: Turn) =>
      Promise.all([
        turn.connect({ prompt: "Connect", provider: "p", verify: () => connected }),
        turn.effect("slow", async (effect) => {
          await gate.promise;
          effect.say("Nearly.");
          await setTimeout(20);
        }),
      ]);
    await using node = await stage.start(agent(run));
    let said = false;
    const sent = node.send();
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (said || !connected || commit === undefined || commit.entries !== undefined) return;
        said = true;
        await node.answer(await sent, { approved: true });
      },
    };
    const turn = await sent;
    await node.interrupted(turn);
    connected = true;
    gate.resolve(undefined);
    assert.deepEqual(output(await node.ended(turn)), [true, null]);
    assert.equal(said, true);
    const { view } = await node.load(turn);
    assert.equal(view.claims, 1);
    assert.ok(
      view.history!.some(({ by }) => by === "user"),
      "what the caller said is in the history",
    );
    assert.ok(
      view.history!.some(({ parts }) => parts[0]!.text === "Nearly."),
      "what the agent said is in the history",
    );
  });
});

describe("time", () => {
  test("a sleep lasts over restarts and costs nothing meanwhile; a moment may be named (E11)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      await turn.sleep(day);
      const first = turn.now().getTime();
      await turn.sleep(new Date(first + day));
      return { slept: turn.now().getTime() - first };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await node.letGo(turn);
    assert.equal((await node.load(turn)).view.waitsFor, undefined);
    await node.kill();
    node = await stage.start(agent(run));
    stage.pass(day - 1000);
    await settle(50);
    assert.equal((await node.load(turn)).length, 1);
    stage.pass(1001);
    await node.until(turn, ({ length }) => length === 3);
    await node.letGo(turn);
    stage.pass(day);
    const { slept } = output(await node.ended(turn)) as { slept: number };
    assert.ok(slept >= day && slept < day + 5000, String(slept));
  });

  test("a time that no date reaches is as good as for ever, and every time is whole: any store can keep when it is over", async () => {
    await using stage = new Stage();
    const node = await stage.start(
      agent(async (turn) => {
        if (turn.text === "sleep") await turn.sleep(1e300);
        if (turn.text === "half") await turn.sleep(day + 0.5);
        if (turn.text === "ask") await turn.ask({ prompt: "What?", expiresInMs: Number.MAX_VALUE });
        await turn.connect({ prompt: "Connect.", provider: "x", verify: () => false, pollMs: 1e300 });
        return "";
      }),
    );
    for (const text of ["sleep", "half", "ask", "connect"]) {
      const turn = await node.send(text);
      const { view } = await node.until(turn, ({ view: { waits } }) => waits?.length === 1);
      const due = dueAt(view.waits, Date.now());
      assert.ok(Number.isSafeInteger(due) && new Date(due!).getTime() === due, `${text}: ${due}`);
    }
  });

  test("what a turn has called for is looked at less and less often, at times that are whole", () => {
    let last = 0;
    for (let now = 0; now < 200_000; now += 997) {
      const due = dueAt([{ of: 0, kind: "task", at: 0, since: 0, agent: "other", task: "its" }], now)!;
      assert.ok(Number.isSafeInteger(due), `after ${now} ms: ${due}`);
      assert.ok(due - now >= last && due - now <= 60_000);
      last = due - now;
    }
    assert.equal(last, 60_000);
  });

  test("a sleep that lost a race is over with the turn", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.race([turn.sleep(day).then(() => "slept"), turn.effect("x", () => "done")]);
    await using node = await stage.start(agent(run));
    assert.equal(output(await node.ended(await node.send())), "done");
  });

  test("a sleep ends a race though the other side never does, while the turn is in memory", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.race([
        turn.sleep(30).then(() => "slept"),
        turn.effect("x", () => new Promise(() => {}), { timeoutMs: 400, idempotent: true }),
      ]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 3);
    assert.equal(await node.told(turn), "sleep effect end:elapsed");
  });

  test("a sleep that is due wakes a run whose timer came a little early", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) =>
      Promise.race([turn.sleep(200).then(() => "slept"), turn.effect("x", () => new Promise(() => {}))]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    // The store's clock goes slower than the node's: when the timer fires, it is not time yet.
    stage.pass(-100);
    await node.until(turn, ({ length }) => length === 3);
    assert.equal(await node.told(turn), "sleep effect end:elapsed");
  });

  test("an interaction expires: the wait throws WaitExpired, live and on replay (E13)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const first = await turn.approve({ prompt: "Go on?", expiresInMs: day }).catch((error: unknown) => error);
      assert.ok(first instanceof WaitExpired);
      return { then: await turn.ask({ prompt: "Why not?" }) };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    const { view } = await node.interrupted(turn);
    await node.letGo(turn);
    stage.pass(day);
    await node.until(turn, (now) => shown(now) === "Why not?");
    await assert.rejects(
      node.answer(turn, { interactionId: view.status!.interaction!.interactionId, approved: true }),
      { code: -32_602 },
    );
    await node.letGo(turn);
    await node.kill();
    node = await stage.start(agent(run));
    await node.answer(turn, { value: "busy" });
    assert.deepEqual(output(await node.ended(turn)), { then: "busy" });
    assert.equal(await node.told(turn), "approval end:expired question end:answered");
  });

  test("an answer that comes as the interaction expires is either taken or refused, never both", async () => {
    for (const first of ["answer", "expiry"]) {
      await using stage = new Stage();
      const run = async (turn: Turn) => ({
        is: await turn.approve({ prompt: "Go on?", expiresInMs: day }).catch(nameOf),
      });
      await using node = await stage.start(agent(run));
      const turn = await node.send();
      await node.interrupted(turn);
      await node.letGo(turn);
      let answer: Promise<unknown> = Promise.resolve();
      node.faulty.faults = {
        [first === "answer" ? "before" : "after"]: async ({
          commit,
        }: {
          commit?: { entries?: readonly { kind: string }[] };
        }) => {
          if (commit?.entries?.[0]?.kind !== "end") return;
          node.faulty.faults = {};
          answer = node.answer(turn, { approved: true });
          await answer.catch(() => undefined);
        },
      };
      stage.pass(day);
      const ended = await node.ended(turn);
      const took = await answer.then(
        () => true,
        () => false,
      );
      assert.deepEqual(
        [output(ended), took],
        first === "answer" ? [{ is: true }, true] : [{ is: "WaitExpired" }, false],
      );
      assert.equal((await node.journal(turn)).length, 2);
    }
  });
});

describe("a wait that is taken back by its signal (E11)", () => {
  const take = (later: (controller: AbortController, turn: Turn) => unknown) => async (turn: Turn) => {
    const controller = new AbortController();
    const asked = turn.ask({ prompt: "Who?", signal: controller.signal }).catch(nameOf);
    await later(controller, turn);
    return { asked: await asked, then: await turn.ask({ prompt: "Then?" }) };
  };
  for (const { what, run, told } of [
    {
      what: "when something else has come first",
      run: take(async (controller, turn) => {
        await turn.effect("x", () => 1);
        controller.abort();
      }),
      told: "question effect outcome end:withdrawn question",
    },
    {
      what: "in the very step in which it was asked",
      run: take((controller) => controller.abort()),
      told: "question end:withdrawn question",
    },
  ]) {
    test(`${what} is withdrawn, live and on replay`, async () => {
      await using stage = new Stage();
      let node = await stage.start(agent(run));
      const turn = await node.send();
      await node.until(turn, (now) => shown(now) === "Then?");
      assert.equal(await node.told(turn), told);
      await node.letGo(turn);
      await node.kill();
      node = await stage.start(agent(run));
      await node.answer(turn, { value: "now" });
      assert.deepEqual(output(await node.ended(turn)), { asked: "AbortError", then: "now" });
    });
  }

  test("throws the reason that it was given, live and on replay", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const controller = new AbortController();
      const asked = turn.ask({ prompt: "Who?", signal: controller.signal }).catch(messageOf);
      controller.abort(new Error("Nobody is there."));
      return { asked: await asked, then: await turn.ask({ prompt: "Then?" }) };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, (now) => shown(now) === "Then?");
    await node.letGo(turn);
    await node.kill();
    node = await stage.start(agent(run));
    await node.answer(turn, { value: "now" });
    assert.deepEqual(output(await node.ended(turn)), { asked: "Nobody is there.", then: "now" });
  });

  test("before it was asked at all is not asked", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => ({
      is: await turn.ask({ prompt: "Who?", signal: AbortSignal.abort() }).catch(nameOf),
    });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    assert.deepEqual(output(await node.ended(turn)), { is: "AbortError" });
    assert.equal(await node.told(turn), "");
  });

  test("that outlives the run keeps nothing of it alive, and does nothing to it later", async () => {
    await using stage = new Stage();
    const shutdown = new AbortController();
    const run = async (turn: Turn) => ({ is: await turn.ask({ prompt: "Who?", signal: shutdown.signal }) });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    const { getEventListeners } = await import("node:events");
    assert.equal(getEventListeners(shutdown.signal, "abort").length, 0);
    shutdown.abort();
    await settle();
    assert.equal(await node.told(turn), "question");
  });

  test("when the answer is on its way has no effect", async () => {
    await using stage = new Stage();
    let controller: AbortController;
    const gate = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) => {
      controller = new AbortController();
      return Promise.all([
        turn.ask({ prompt: "Who?", signal: controller.signal }),
        turn.effect("slow", () => gate.promise),
      ]);
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { value: "me" });
    controller!.abort();
    await settle();
    gate.resolve(undefined);
    assert.deepEqual(output(await node.ended(turn)), ["me", null]);
    assert.equal(await node.told(turn), "question effect end:answered outcome");
  });
});

describe("a connection (E13)", () => {
  const connect =
    (state: { connected: boolean | Error; looks: number; gate?: Promise<unknown> }) => async (turn: Turn) => ({
      is: await turn.connect({
        prompt: "Connect your calendar.",
        provider: "calendar",
        url: "https://example.com/connect",
        pollMs: 60_000,
        verify: async () => {
          state.looks++;
          await state.gate;
          if (state.connected instanceof Error) throw state.connected;
          return state.connected;
        },
      }),
    });

  // keeps: interactions-connection-verified
  test("is verified when the caller says so; while it is not, the same interaction stays open", async () => {
    await using stage = new Stage();
    const state = { connected: false, looks: 0 };
    await using node = await stage.start(agent(connect(state)));
    const turn = await node.send();
    const { view } = await node.interrupted(turn);
    assert.deepEqual(view.status!.interaction!.detail, { provider: "calendar", url: "https://example.com/connect" });
    await node.letGo(turn);
    assert.equal(state.looks, 0);
    await node.answer(turn, { approved: true });
    await node.until(turn, () => state.looks === 1);
    await node.letGo(turn);
    const still = await node.load(turn);
    assert.equal(still.view.status!.interaction!.interactionId, view.status!.interaction!.interactionId);
    state.connected = true;
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), { is: true });
    assert.equal(state.looks, 2);
  });

  // keeps: interactions-connection-by-itself
  test("is verified every pollMs without anybody saying so", async () => {
    await using stage = new Stage();
    const state = { connected: false, looks: 0 };
    await using node = await stage.start(agent(connect(state)));
    const turn = await node.send();
    await node.interrupted(turn);
    for (let n = 1; n <= 3; n++) {
      await node.letGo(turn);
      stage.pass(59_000);
      await settle(30);
      assert.equal(state.looks, n - 1);
      state.connected = n === 3;
      stage.pass(1001);
      await node.until(turn, () => state.looks === n);
    }
    assert.deepEqual(output(await node.ended(turn)), { is: true });
  });

  // keeps: interactions-connection-declined
  test("that the caller declines is false", async () => {
    await using stage = new Stage();
    const state = { connected: true, looks: 0 };
    await using node = await stage.start(agent(connect(state)));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: false });
    assert.deepEqual(output(await node.ended(turn)), { is: false });
    assert.equal(state.looks, 0);
  });

  test("whose look fails stays open and is looked at again", async () => {
    await using stage = new Stage();
    const state: { connected: boolean | Error; looks: number } = { connected: new Error("Down."), looks: 0 };
    await using node = await stage.start(agent(connect(state)));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: true });
    await node.until(turn, () => state.looks === 1);
    await node.letGo(turn);
    state.connected = true;
    stage.pass(60_001);
    assert.deepEqual(output(await node.ended(turn)), { is: true });
  });

  test("that is said to be made while a look is being taken is looked at once more", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<unknown>();
    const state = { connected: false, looks: 0, gate: gate.promise };
    await using node = await stage.start(agent(connect(state)));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: true });
    await node.until(turn, () => state.looks === 1);
    await node.answer(turn, { approved: true });
    await settle();
    gate.resolve(undefined);
    await node.until(turn, () => state.looks === 2);
    await setImmediate();
    assert.equal(shown(await node.load(turn)), "Connect your calendar.");
  });
});
