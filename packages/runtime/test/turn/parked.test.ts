/** A parked turn costs no memory: no run, timer, listener or closure of it is left (E11, I12). */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import type { Turn } from "@nylorun/agents";

import { systemTimers } from "../../src/turn/timers.ts";
import type { Timers } from "../../src/turn/timers.ts";
import { agent, Stage } from "./stage.ts";

const turns = 1000;
const never = () => new Promise<never>(() => {});

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects until nothing more goes, and tells how much is left. */
async function heapAtRest(): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 10; round++) {
    await setTimeout(20);
    collect();
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

const outlives = new AbortController();

/** Ways in which a turn may come to wait. */
const ways: readonly ((turn: Turn) => unknown)[] = [
  (turn) => turn.approve({ prompt: "Go on?", expiresInMs: 86_400_000 }),
  (turn) => turn.ask({ prompt: "What?", signal: outlives.signal }),
  (turn) => turn.sleep(86_400_000),
  (turn) => turn.connect({ prompt: "Connect", provider: "p", verify: () => false }),
  (turn) => Promise.race([turn.approve({ prompt: "Go on?" }), turn.sleep(86_400_000), never()]),
  async (turn) => {
    const plan = turn.plan(["a", "b"]);
    plan.start("a");
    turn.say("Working.");
    await turn.effect(
      "x",
      async (effect) => {
        effect.signal.addEventListener("abort", () => plan.fail("a"));
        effect.progress({ percent: 10 });
      },
      { timeoutMs: 86_400_000 },
    );
    await Promise.all([turn.ask({ prompt: "One?" }), turn.ask({ prompt: "Two?" })]);
  },
  (turn) => turn.effect("lost", never, { timeoutMs: 1 }),
];

describe("a thousand turns that wait", () => {
  for (const store of ["memory", "sqlite"] as const) {
    test(`leave nothing of themselves behind (${store})`, { timeout: 60_000 }, async (t) => {
      let timersSet = 0;
      let listeners = 0;
      const timers: Timers = {
        now: () => systemTimers.now(),
        after(ms, code) {
          timersSet++;
          const stop = systemTimers.after(ms, () => {
            timersSet--;
            code();
          });
          let stopped = false;
          return () => {
            if (!stopped) timersSet--;
            stopped = true;
            stop();
          };
        },
      };
      await using stage = new Stage({ store, timers });
      let alive = 0;
      const registry = new FinalizationRegistry(() => alive--);
      const run = async (turn: Turn) => {
        // The run's own face, and what the function holds while it waits.
        const held = { large: Array.from({ length: 10_000 }, () => turn.taskId) };
        for (const one of [turn, held, turn.signal]) {
          alive++;
          registry.register(one, undefined);
        }
        try {
          await ways[Number(turn.text) % ways.length]!(turn);
        } finally {
          held.large.length = 0;
        }
        return {};
      };
      const node = await stage.start(agent(run));
      const onTurn = node.signal.onTurn.bind(node.signal);
      node.signal.onTurn = (key, listener) => {
        listeners++;
        const stop = onTurn(key, listener);
        return () => {
          listeners--;
          stop();
        };
      };
      await node.letGo(await node.send("0"));
      const before = await heapAtRest();
      const timersBefore = timersSet;
      for (let n = 0; n < turns; n += 50) {
        const sent = await Promise.all(Array.from({ length: 50 }, (_, index) => node.send(String(n + index))));
        for (const turn of sent) {
          await node.until(turn, ({ view }) => view.waits !== undefined || view.lost !== undefined);
          await node.letGo(turn);
        }
      }
      await setImmediate();
      const after = await heapAtRest();
      t.diagnostic(
        `heap: ${Math.round((after - before) / turns)} bytes a turn; ${alive} objects of ${3 * turns + 3} alive`,
      );
      // The last one's may live on for a while: the node's own next timer was set on its behalf.
      assert.ok(alive <= 3, `${alive} objects are kept alive`);
      assert.equal(listeners, 0);
      assert.ok(timersSet <= timersBefore + 1, `${timersSet} timers, before ${timersBefore}`);
      assert.equal(getEventListeners(outlives.signal, "abort").length, 0);
      assert.equal(node.engine.running, 0);
      // On disk nothing of them is in memory; in memory it is their records.
      if (store === "sqlite") assert.ok((after - before) / turns < 1000, `${after - before} bytes`);
    });
  }
});
