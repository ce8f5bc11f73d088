/** Leases: who runs a turn, and what becomes of it when that is somebody else (E7, E9, E18). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { Turn } from "@nylorun/agents";

import { agent, output, settle, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

const leaseMs = 15_000;

describe("a node that has lost its lease (E18)", () => {
  test("writes nothing any more: the turn is the other's", async () => {
    await using stage = new Stage();
    const gates: ((value: unknown) => void)[] = [];
    const run = async (turn: Turn) => {
      const value = await turn.effect("read", () => new Promise((resolve) => gates.push(resolve)), {
        idempotent: true,
      });
      return { value };
    };
    const slow = await stage.start(agent(run));
    const turn = await slow.send();
    await slow.until(turn, () => gates.length === 1);
    // Its heart-beats do not reach the store.
    slow.faulty.faults = {
      before: ({ name }) => {
        if (name === "renew") throw new Error("No way through.");
      },
    };
    stage.pass(leaseMs);
    const quick = await stage.start(agent(run), { beside: true });
    await quick.until(turn, () => gates.length === 2);
    gates[0]!("slow");
    await settle(30);
    assert.ok(!(await slow.told(turn)).includes("outcome"));
    gates[1]!("quick");
    assert.deepEqual(output(await quick.ended(turn)), { value: "quick" });
    assert.equal((await quick.load(turn)).deaths, 1);
    slow.faulty.faults = {};
    await slow.stop();
    await quick.stop();
  });

  // keeps: effects-settled-itself
  test("and whose effect comes back late resolves it, as long as it is uncertain (E9)", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    let ran = 0;
    const run = async (turn: Turn) => ({ value: await turn.effect("pay", () => (ran++, gate.promise)) });
    const slow = await stage.start(agent(run));
    const turn = await slow.send();
    await slow.until(turn, () => ran === 1);
    slow.faulty.faults = {
      before: ({ name }) => {
        if (name === "renew") throw new Error("No way through.");
      },
    };
    stage.pass(leaseMs - 1000);
    const quick = await stage.start(agent(run), { beside: true });
    await settle(30);
    // Not before the lease has ended by the store's clock.
    assert.equal((await quick.load(turn)).state, "running");
    stage.pass(1001);
    await quick.inState(turn, "uncertain");
    gate.resolve("paid");
    assert.deepEqual(output(await quick.ended(turn)), { value: "paid" });
    assert.equal(ran, 1);
    await slow.stop();
    await quick.stop();
  });

  test("and whose effect comes back before anybody has missed it: the outcome is taken, and never asked for", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    let ran = 0;
    const run = async (turn: Turn) => ({ value: await turn.effect("pay", () => (ran++, gate.promise)) });
    const slow = await stage.start(agent(run));
    const turn = await slow.send();
    await slow.until(turn, () => ran === 1);
    slow.faulty.faults = {
      before: ({ name }) => {
        if (name === "renew") throw new Error("No way through.");
      },
    };
    stage.pass(leaseMs);
    const quick = await stage.start(agent(run), {
      beside: true,
      faults: {
        before: async ({ commit }) => {
          if (commit?.entries?.[0]?.kind !== "lost") return;
          gate.resolve("paid");
          await settle(30);
        },
      },
    });
    assert.deepEqual(output(await quick.ended(turn)), { value: "paid" });
    assert.equal(await quick.told(turn), "effect outcome");
    await slow.stop();
    await quick.stop();
  });

  test("begins no effect: it asks the store first when its own clock says that the lease has ended (E7)", async () => {
    await using stage = new Stage({ limits: { leaseMs: 1000 } });
    const ran: string[] = [];
    const run = (name: string) => async (turn: Turn) => {
      await turn.effect("read", () => setTimeout(50));
      return { by: await turn.effect("pay", () => (ran.push(name), name)) };
    };
    // Its own clock goes faster than the world's: after 50 ms its lease is long over.
    const slow = await stage.start(agent(run("slow")), {
      timers: { now: () => performance.now() * 100, after: () => () => {} },
    });
    const sent = slow.send();
    const quick = Promise.withResolvers<Node>();
    slow.faulty.faults = {
      before: async ({ name }) => {
        if (name !== "renew") return;
        slow.faulty.faults = {};
        stage.pass(1000);
        const other = await stage.start(agent(run("quick")), { beside: true });
        await other.inState(await sent, "uncertain");
        quick.resolve(other);
      },
    };
    const turn = await sent;
    const other = await quick.promise;
    await settle(50);
    assert.deepEqual(ran, []);
    await other.engine.resolve((await other.load(turn)).view.lost![0]!.id, { outcome: "retry" });
    assert.deepEqual([output(await other.ended(turn)), ran], [{ by: "quick" }, ["quick"]]);
    await slow.stop();
    await other.stop();
  });

  test("only by its own clock renews it, and goes on", async () => {
    await using stage = new Stage({ limits: { leaseMs: 1000 } });
    const run = async (turn: Turn) => {
      await turn.effect("a", () => setTimeout(50));
      return turn.effect("b", () => "Done.");
    };
    await using node = await stage.start(agent(run), {
      timers: { now: () => performance.now() * 100, after: () => () => {} },
    });
    const turn = await node.send();
    assert.equal(output(await node.ended(turn)), "Done.");
    assert.equal(await node.told(turn), "effect outcome effect outcome");
  });

  test("counts its lease from when it asked, not from when it was told", async () => {
    await using stage = new Stage({ limits: { leaseMs: 1000 } });
    let renewals = 0;
    let ahead = 0;
    const timers = { now: () => performance.now() + ahead, after: () => () => {} };
    const run = async (turn: Turn) => turn.effect("pay", () => "paid");
    const node = await stage.start(agent(run), {
      timers,
      faults: {
        // The answer to the claim takes longer than the lease.
        after: ({ name }) => {
          if (name === "accept" || name === "claimDue") ahead += 1001;
        },
        before: ({ name }) => {
          if (name === "renew") renewals++;
        },
      },
    });
    const turn = await node.send();
    assert.equal(output(await node.ended(turn)), "paid");
    assert.equal(renewals, 1);
    await node.stop();
  });

  test("to a cancel tells its function so: what it awaits rejects with Cancelled", async () => {
    await using stage = new Stage({ limits: { leaseMs: 60 } });
    const log: string[] = [];
    const run = async (turn: Turn) => {
      try {
        await turn.effect(
          "x",
          ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop")))),
        );
      } catch (error) {
        log.push((error as Error).name);
      } finally {
        log.push("finally");
      }
      return {};
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    // The signal of it is lost on its way: the next heart-beat tells.
    node.signal.turnChanged = () => {};
    await node.other.cancel(node.scope(), node.taskId(turn));
    await node.letGo(turn);
    assert.deepEqual(log, ["Cancelled", "finally"]);
  });
});

describe("signals are hints (I9)", () => {
  test("an answer whose signal is lost is seen by the next write", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<string>();
    const run = async (turn: Turn) =>
      Promise.all([turn.approve({ prompt: "Go on?" }), turn.effect("slow", () => gate.promise)]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    const deaf = test.mock.method(node.signal, "turnChanged", () => {});
    await node.answer(turn, { approved: true });
    deaf.mock.restore();
    gate.resolve("done");
    assert.deepEqual(output(await node.ended(turn)), [true, "done"]);
    assert.equal(await node.told(turn), "approval effect end:answered outcome");
  });
});

describe("a store that is down for a while", () => {
  test("delays what is to be written, and nothing is lost or done twice", async () => {
    for (let failing = 1; failing <= 6; failing++) {
      await using stage = new Stage();
      const ran: string[] = [];
      const run = async (turn: Turn) => {
        await Promise.all(["a", "b"].map((name) => turn.effect(name, () => ran.push(name))));
        await turn.approve({ prompt: "Go on?" });
        return "Done.";
      };
      await using node = await stage.start(agent(run));
      let failures = 0;
      node.faulty.faults = {
        before: ({ name, commits }) => {
          if (name === "commit" && commits >= failing && failures++ < 3) throw new Error("Disk full.");
        },
      };
      const turn = await node.send();
      await node.interrupted(turn);
      await node.letGo(turn);
      await node.answer(turn, { approved: true });
      assert.equal(output(await node.ended(turn)), "Done.");
      assert.deepEqual(ran.toSorted(), ["a", "b"]);
    }
  });

  test("and cannot be read when somebody else has written is read again", async () => {
    await using stage = new Stage();
    const gate = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) =>
      Promise.all([turn.approve({ prompt: "Go on?" }), turn.effect("slow", () => gate.promise)]);
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    let failures = 0;
    node.faulty.faults = {
      before: async ({ name, commit }) => {
        if (name === "loadJournal" && failures++ < 3) throw new Error("Disk gone.");
        if (commit?.entries?.[0]?.kind === "outcome" && failures === 0) {
          await node.answer(turn, { approved: true });
          await settle();
        }
      },
    };
    gate.resolve("done");
    assert.deepEqual(output(await node.ended(turn)), [true, "done"]);
    assert.ok(failures >= 3);
  });
});

describe("a claim that cannot be run", () => {
  test("is held though something was appended in between: an answer to a turn whose agent is gone", async () => {
    await using stage = new Stage();
    let node = await stage.start(
      agent(async (turn: Turn) => ({
        ok: await turn.approve({ prompt: "Go on?" }),
        then: await turn.ask({ prompt: "And?" }),
      })),
    );
    const turn = await node.send();
    await node.interrupted(turn);
    await node.kill();
    const other = agent(() => "Hello.", { id: "other" });
    node = await stage.start(other);
    let heard = false;
    node.faulty.faults = {
      before: async ({ commit }) => {
        if (heard || commit?.state !== "held") return;
        heard = true;
        const now = await node.load(turn);
        await node.inner.commit({ key: now, length: now.length, entries: [{ kind: "heard", at: 0 }] });
      },
    };
    stage.pass(1);
    await node.inner.commit({ key: turn, length: (await node.load(turn)).length, then: { do: "wake" } });
    const held = await node.inState(turn, "held");
    assert.equal(held.view.held?.code, "agent.missing");
    assert.equal(heard, true);
  });
});

describe("turns that are held", () => {
  test("are all tried again at a start, however many there are (E5)", async () => {
    await using stage = new Stage();
    const asking = agent((turn: Turn) => turn.ask({ prompt: "What?" }));
    let node = await stage.start(asking);
    // More than are read in one go.
    const count = 520;
    const held = { code: "agent.missing", message: "No agent of that id is served." };
    let last = await node.send();
    for (let sent = 1; sent <= count; sent++) {
      const turn = last;
      await node.interrupted(turn);
      const { length } = await node.load(turn);
      await node.inner.commit({ key: turn, length, state: "held", view: { held } });
      if (sent < count) last = await node.send();
    }
    assert.equal((await node.engine.held()).length, count);
    await node.kill();
    node = await stage.start(asking);
    assert.deepEqual(await node.engine.held(), []);
  });
});

describe("a heart-beat while the end of a turn is being written (E18)", () => {
  for (const store of ["memory", "sqlite"] as const) {
    test(`takes nothing from the next turn of the context: it runs (${store})`, async () => {
      await using stage = new Stage({ store, limits: { leaseMs: 300 } });
      const gate = Promise.withResolvers<boolean>();
      await using node = await stage.start(
        agent(async (turn) => {
          if (turn.text === "first") await gate.promise;
          return turn.text;
        }),
      );
      // The end is on disk, the next turn claimed, and nobody has been told yet: the lease that the run had is gone.
      let ending = false;
      let beats = 0;
      const beaten = Promise.withResolvers<boolean>();
      node.faulty.faults = {
        before: ({ name }) => {
          if (ending && name === "renew" && ++beats === 2) beaten.resolve(true);
        },
        after: async ({ commit }) => {
          if (commit?.then?.do !== "end" || ending) return;
          ending = true;
          await beaten.promise;
          await settle();
        },
      };
      const first = await node.send("first", { contextId: "one" });
      const second = await node.send("second", { contextId: "one" });
      gate.resolve(true);
      assert.equal(output(await node.ended(first)), "first");
      assert.equal(output(await node.ended(second)), "second");
      assert.equal((await node.load(second)).deaths, 0);
    });
  }
});
