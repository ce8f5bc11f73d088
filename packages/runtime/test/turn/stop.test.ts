/** A node that is stopped: it lets go of what it runs, begins nothing more, and loses nothing of what has come back. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { Turn } from "@nylorun/agents";

import { systemTimers } from "../../src/turn/timers.ts";
import type { Timers } from "../../src/turn/timers.ts";
import type { Faults } from "./faulty-store.ts";
import { agent, output, settle, Stage } from "./stage.ts";

const never = () => new Promise<never>(() => {});

describe("a node that is stopped", () => {
  test("a graceful stop is no death: what runs is let go of, and resumed", async () => {
    await using stage = new Stage();
    let ran = 0;
    const run = async (turn: Turn) => {
      ran++;
      await turn.effect("x", () => (ran < 5 ? never() : 1), { idempotent: true });
      return "Done.";
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    for (let n = 1; n < 5; n++) {
      await node.until(turn, () => ran === n);
      await node.stop();
      node = await stage.start(agent(run));
    }
    const ended = await node.ended(turn);
    assert.deepEqual([output(ended), ended.deaths], ["Done.", 0]);
  });

  test("a graceful stop begins no turn that it meets between its claim and its first step", async () => {
    await using stage = new Stage();
    let ran = 0;
    const run = async (turn: Turn) => {
      ran++;
      await turn.sleep(1000);
      return "Done.";
    };
    const first = await stage.start(agent(run));
    const turn = await first.send();
    await first.until(turn, ({ state }) => state === "waiting");
    await first.stop();
    stage.pass(1000);

    const read = Promise.withResolvers<undefined>();
    const reading = Promise.withResolvers<undefined>();
    /** What would keep the process for longer than a stop may take. */
    const long = new Set<() => void>();
    const timers: Timers = {
      now: () => systemTimers.now(),
      after(ms, code) {
        const end = systemTimers.after(ms, code);
        const stop = () => (long.delete(stop), end());
        if (ms > 60_000) long.add(stop);
        return stop;
      },
    };
    const faults: Faults = {
      before: async ({ name }) => {
        if (name !== "loadEarlier") return;
        reading.resolve(undefined);
        await read.promise;
      },
    };
    const second = await stage.start(agent(run), { faults, timers });
    await reading.promise;
    const stopped = second.stop();
    await settle(5);
    read.resolve(undefined);
    await stopped;
    await settle(20);
    assert.deepEqual([ran, long.size], [1, 0], "it is not run, and no timer waits for its end");
    const third = await stage.start(agent(run));
    assert.equal(output(await third.ended(turn)), "Done.");
    assert.equal((await third.load(turn)).deaths, 0);
  });

  test("a graceful stop begins nothing more, and keeps what has come back", async () => {
    await using stage = new Stage();
    const ran: string[] = [];
    const run = async (turn: Turn) => {
      await turn.effect("a", () => ran.push("a"));
      await turn.effect("b", () => ran.push("b"));
      return "Done.";
    };
    for (let commit = 1; commit <= 4; commit++) {
      ran.length = 0;
      let node = await stage.start(agent(run));
      const stopping = Promise.withResolvers<Promise<void>>();
      node.faulty.faults = {
        before: async (asked) => {
          if (asked.name === "commit" && asked.commits === commit) {
            stopping.resolve(node.stop());
            await settle(2);
          }
        },
      };
      const turn = await node.send();
      await stopping.promise;
      node = await stage.start(agent(run));
      assert.equal(output(await node.ended(turn)), "Done.", `stopped at commit ${commit}`);
      assert.deepEqual(ran, ["a", "b"], `stopped at commit ${commit}`);
      await node.kill();
    }
  });
});
