/** What callers are shown while a turn runs: plan, progress, words (E15). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { Turn } from "@nylorun/agents";

import type { Commit } from "../../src/store/store.ts";
import type { TurnView } from "../../src/turn/record.ts";
import { agent, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

/** The views that a node writes, in order. */
function viewsOf(node: Node): TurnView[] {
  const views: TurnView[] = [];
  node.faulty.faults = {
    after: ({ commit }: { readonly commit: Commit | undefined }) => {
      if (commit?.view !== undefined) views.push(commit.view);
    },
  };
  return views;
}

function states({ plan }: TurnView): string {
  return plan?.map(({ state }) => state).join() ?? "";
}

describe("what a turn shows", () => {
  // keeps: plan-shown-pace
  test("is written four times a second at most, the last one always", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const plan = turn.plan(["Work", "Rest"]);
      plan.start("Work");
      await turn.effect("work", async (effect) => {
        for (let percent = 1; percent <= 100; percent++) {
          effect.progress({ percent });
          await setTimeout(10);
        }
      });
      plan.start("Rest");
      await turn.approve({ prompt: "Go on?" });
      return {};
    };
    const node = await stage.start(agent(run));
    const views = viewsOf(node);
    const since = performance.now();
    const turn = await node.send();
    await node.interrupted(turn);
    const seconds = (performance.now() - since) / 1000;
    const snapshots = views.filter(({ progress }) => progress?.percent !== undefined && progress.percent < 100);
    assert.ok(snapshots.length >= 2 && snapshots.length <= 4 * seconds + 2, `${snapshots.length} in ${seconds} s`);
    await node.letGo(turn);
    const { view } = await node.load(turn);
    assert.deepEqual([view.progress, states(view)], [{ percent: 100 }, "done,active"]);
  });

  test("does not go back on replay: it is muted until the record is met", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const plan = turn.plan(["a", "b", "c"]);
      for (const step of ["a", "b"] as const) {
        plan.start(step);
        turn.progress({ stage: step });
        await turn.effect(step, () => 1);
      }
      plan.start("c");
      turn.progress({ stage: "c" });
      await turn.approve({ prompt: "Go on?" });
      plan.done("c");
      await turn.effect("d", () => setTimeout(300));
      return {};
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    await node.kill();
    node = await stage.start(agent(run));
    const views = viewsOf(node);
    await node.answer(turn, { approved: true });
    const ended = await node.ended(turn);
    assert.ok(views.length >= 2);
    assert.deepEqual([...new Set(views.map(states))], ["done,done,done"]);
    assert.ok(views.every(({ progress }) => progress?.stage === "c"));
    assert.equal(states(ended.view), "done,done,done");
  });

  // keeps: plan-end-reconciled
  test("settles what the plan left open when the turn ends (progress/v1)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      turn.plan(["a", "b", "c"]).start("a");
      if (turn.text === "throws") throw new Error("No.");
      if (turn.text === "waits") await turn.approve({ prompt: "Go on?" });
      return {};
    };
    await using node = await stage.start(agent(run));
    assert.equal(states((await node.ended(await node.send("returns"))).view), "done,skipped,skipped");
    assert.equal(states((await node.ended(await node.send("throws"))).view), "failed,skipped,skipped");
    const waits = await node.send("waits");
    await node.interrupted(waits);
    await node.engine.cancel(node.scope(), node.taskId(waits));
    assert.equal(states((await node.load(waits)).view), "skipped,skipped,skipped");
  });

  test("keeps each word, in order, whatever is said between it by others", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      turn.say("One.");
      turn.say("Two.");
      await turn.effect("x", async (effect) => {
        effect.say("Three.");
        await setTimeout(5);
        effect.say("Four.");
      });
      turn.say("Five.");
      await turn.ask({ prompt: "Six?" });
      turn.say("Eight.");
      return {};
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { value: "Seven" });
    const { view } = await node.ended(turn);
    assert.deepEqual(
      view.history?.map(({ parts }) => parts[0]!.text),
      ["One.", "Two.", "Three.", "Four.", "Five.", "Six?", "(answered)", "Eight."],
    );
    assert.equal(new Set(view.history?.map(({ id }) => id)).size, 8);
  });

  test("loses nothing to an answer that comes at the same moment", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) =>
      Promise.all([
        turn.ask({ prompt: "Who?" }),
        turn.effect("slow", async (effect) => {
          effect.say("Begun.");
          effect.progress({ percent: 10 });
          await gate.promise;
        }),
      ]);
    await using node = await stage.start(agent(run));
    let answered = false;
    const sent = node.send();
    node.faulty.faults = {
      // The answer is made from the view that this write is about to change.
      before: async ({ commit }) => {
        if (answered || commit?.entries !== undefined || commit?.view?.progress === undefined) return;
        answered = true;
        const turn = await sent;
        await Promise.all([node.answer(turn, { value: "me" }), setTimeout(5)]);
      },
    };
    const turn = await sent;
    await node.until(turn, () => answered);
    gate.resolve(undefined);
    const { view } = await node.ended(turn);
    assert.deepEqual(view.progress, { percent: 10 });
    const texts = view.history!.map(({ parts }) => parts[0]!.text);
    for (const text of ["Begun.", "Who?", "(answered)"]) assert.ok(texts.includes(text), `${text} in ${texts.join()}`);
  });
});
