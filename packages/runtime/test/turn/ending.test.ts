/** How turns end: of themselves, by their callers, by time, by errors that nobody hears, by the deaths of processes (E16, E17). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import { refuse, reply } from "@nylorun/agents";
import type { Turn } from "@nylorun/agents";

import { agent, nameOf, output, settle, Stage } from "./stage.ts";

const never = () => new Promise<never>(() => {});

describe("a turn ends", () => {
  for (const { what, run, state, shows } of [
    { what: "with a text", run: () => "Done.", state: "completed", shows: { text: "Done." } },
    {
      what: "with JSON",
      run: () => ({ a: [1] }),
      state: "completed",
      shows: { data: { a: [1] }, mediaType: "application/json" },
    },
    { what: "with nothing", run: () => undefined, state: "completed", shows: undefined },
    { what: "with a message", run: () => reply("Hello."), state: "completed", shows: { text: "Hello." } },
    { what: "by refusing", run: () => refuse("Not this."), state: "rejected", shows: { text: "Not this." } },
    {
      what: "by throwing, without a word of why",
      run: () => {
        throw new Error("secret");
      },
      state: "failed",
      shows: { text: "The agent could not finish this." },
    },
    {
      what: "by returning what is no JSON",
      run: () => ({ n: 1n }),
      state: "failed",
      shows: { text: "The agent could not finish this." },
    },
    {
      what: "by throwing in a promise",
      run: async () => {
        await Promise.resolve();
        throw new Error("secret");
      },
      state: "failed",
      shows: { text: "The agent could not finish this." },
    },
  ]) {
    test(`${what}, without a journal and with one`, async () => {
      await using stage = new Stage();
      await using node = await stage.start(
        agent(async (turn) => {
          if (turn.text === "effect") await turn.effect("x", () => 1);
          return run();
        }),
      );
      for (const text of ["plain", "effect"]) {
        const turn = await node.ended(await node.send(text));
        assert.equal(turn.state, state);
        assert.deepEqual(
          turn.view.artifacts?.[0]?.parts[0] ?? turn.view.reply?.[0] ?? turn.view.status?.parts[0],
          shows,
        );
        assert.ok(!JSON.stringify(turn).includes("secret"));
      }
    });
  }
});

describe("a cancelled turn (E16)", () => {
  test("while it is queued never runs; those behind it do", async () => {
    await using stage = new Stage();
    const ran: string[] = [];
    const gate = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) => {
      ran.push(turn.text);
      if (turn.text === "1") await turn.effect("x", () => gate.promise);
      return turn.text;
    };
    await using node = await stage.start(agent(run));
    const first = await node.send("1");
    const { contextId } = first;
    const [second, third] = [await node.send("2", { contextId }), await node.send("3", { contextId })];
    assert.equal((await node.engine.cancel(node.scope(), node.taskId(second))).state, "canceled");
    gate.resolve(undefined);
    await node.ended(third);
    assert.deepEqual(ran, ["1", "3"]);
    assert.equal((await node.load(second)).state, "canceled");
  });

  test("aborts its signal; what it called and calls rejects with Cancelled; its finally runs, and what it returns is ignored", async () => {
    await using stage = new Stage();
    const log: string[] = [];
    const run = async (turn: Turn) => {
      turn.signal.addEventListener("abort", () => log.push(`signal: ${nameOf(turn.signal.reason)}`));
      const work = turn.effect(
        "x",
        ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      );
      try {
        await Promise.all([work, turn.approve({ prompt: "Go on?" })]);
      } catch (error) {
        log.push(`await: ${nameOf(error)}`);
        for (const [name, call] of Object.entries({
          effect: async () => turn.effect("y", () => log.push("ran")),
          ask: async () => turn.ask({ prompt: "?" }),
          sleep: async () => turn.sleep(1),
          say: async () => turn.say("x"),
          usage: async () => turn.usage({ tokens: 1 }),
          patch: async () => turn.patch("p"),
        })) {
          await call().then(
            () => log.push(`${name}: taken`),
            (late: unknown) => log.push(`${name}: ${nameOf(late)}`),
          );
        }
      } finally {
        log.push("finally");
      }
      return "returned";
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.other.cancel(node.scope(), node.taskId(turn));
    assert.equal((await node.load(turn)).state, "canceled");
    await node.letGo(turn);
    assert.deepEqual(log, [
      "signal: Cancelled",
      "await: Cancelled",
      "effect: Cancelled",
      "ask: Cancelled",
      "sleep: Cancelled",
      "say: Cancelled",
      "usage: Cancelled",
      "patch: Cancelled",
      "finally",
    ]);
    const { state, view } = await node.load(turn);
    assert.deepEqual([state, view.artifacts, view.waits], ["canceled", undefined, undefined]);
  });

  test("is CANCELED at once and for good, whatever the function does about it, and however often it is asked", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => turn.effect("x", never).catch(() => "I go on.");
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.until(turn, ({ length }) => length === 1);
    await Promise.all([1, 2, 3].map(() => node.engine.cancel(node.scope(), node.taskId(turn))));
    await settle(50);
    assert.equal((await node.load(turn)).state, "canceled");
    await assert.rejects(node.engine.cancel(node.scope("eve"), node.taskId(turn)), { code: -32_001 });
  });

  test("that has ended otherwise cannot be cancelled", async () => {
    await using stage = new Stage();
    await using node = await stage.start(agent(() => "Done."));
    const turn = await node.ended(await node.send());
    await assert.rejects(node.engine.cancel(node.scope(), node.taskId(turn)), { code: -32_002 });
  });

  test("whose function does not heed it gives way after cancelGraceMs, to its context and to the node", async () => {
    await using stage = new Stage({ limits: { cancelGraceMs: 60, maxRunningTurns: 1 } });
    const run = async (turn: Turn) => {
      if (turn.text === "deaf") await never();
      return "Done.";
    };
    await using node = await stage.start(agent(run));
    const deaf = await node.send("deaf");
    const behind = await node.send("behind", { contextId: deaf.contextId });
    const other = await node.send("other");
    await settle();
    await node.engine.cancel(node.scope(), node.taskId(deaf));
    await settle(50);
    assert.equal((await node.load(behind)).state, "queued");
    const since = performance.now();
    await Promise.all([node.ended(behind), node.ended(other)]);
    assert.ok(performance.now() - since < 2000);
  });

  test("in the middle of any of its commits is cancelled once, and nothing comes after it", async () => {
    for (const when of ["before", "after"] as const) {
      for (let commit = 1; commit <= 6; commit++) {
        await using stage = new Stage();
        const ran: string[] = [];
        const run = async (turn: Turn) => {
          await turn.effect("a", () => ran.push("a"));
          await turn.effect("b", () => ran.push("b"));
          turn.say("Nearly.");
          await turn.sleep(0);
          return "Done.";
        };
        await using node = await stage.start(agent(run));
        const sent = node.send();
        node.faulty.faults = {
          [when]: async (asked: { name: string; commits: number }) => {
            if (asked.name !== "commit" || asked.commits !== commit) return;
            const turn = await sent;
            await node.other.cancel(node.scope(), node.taskId(turn)).catch(() => undefined);
          },
        };
        const turn = await sent;
        const ended = await node.ended(turn);
        await node.letGo(turn);
        const length = (await node.load(turn)).length;
        await settle(30);
        const now = await node.load(turn);
        assert.deepEqual([now.state, now.length], [ended.state, length], `${when} ${commit}`);
        if (ended.state !== "canceled") assert.equal(ended.state, "completed");
        assert.deepEqual(ran, [...new Set(ran)]);
        assert.equal(now.view.lost, undefined, `${when} ${commit}: what came of each effect is known`);
      }
    }
  });

  test("while it is found not to fit its code ends, and keeps no place", async () => {
    await using stage = new Stage({ limits: { maxRunningTurns: 1, replayStallMs: 30 } });
    const gate = Promise.withResolvers<unknown>();
    let ran = 0;
    const read = (turn: Turn) => turn.effect("read", () => (ran++, gate.promise), { idempotent: true });
    const first = async (turn: Turn) => {
      void read(turn);
      await turn.effect("step", () => 1, { key: "step" });
      return turn.effect("more", never, { idempotent: true });
    };
    const gone = await stage.start(agent(first));
    const turn = await gone.send();
    await gone.until(turn, ({ length }) => length === 4);
    await gone.kill();
    // The read begins again; while it goes on, the step is missed, and the turn would be held.
    const node = await stage.start(agent(async (t: Turn) => (t.text === "next" ? "Done." : (void read(t), never()))));
    await node.until(turn, () => ran === 2);
    await setTimeout(60);
    await node.engine.cancel(node.scope(), node.taskId(turn));
    await settle();
    gate.resolve(undefined);
    await node.letGo(turn);
    assert.equal(output(await node.ended(await node.send("next"))), "Done.");
  });
});

describe("a turn whose time is up (E17)", () => {
  test("fails, with a word of it; waiting does not count", async () => {
    await using stage = new Stage({ limits: { turnTimeoutMs: 50 } });
    const run = async (turn: Turn) => {
      if (turn.text === "waits") await turn.approve({ prompt: "Go on?" });
      else await never();
      return "Done.";
    };
    await using node = await stage.start(agent(run));
    const waits = await node.send("waits");
    const { state, view } = await node.ended(await node.send("hangs"));
    assert.equal(state, "failed");
    assert.match(view.status!.parts[0]!.text!, /did not finish this within 0 seconds|within .* second/);
    await setTimeout(60);
    await node.answer(waits, { approved: true });
    assert.equal(output(await node.ended(waits)), "Done.");
  });

  test("has run for as long as it ran before it waited, over restarts too", async () => {
    await using stage = new Stage({ limits: { turnTimeoutMs: 400 } });
    const run = async (turn: Turn) => {
      await turn.effect("a", () => setTimeout(250), { idempotent: true });
      await turn.approve({ prompt: "Go on?" });
      await turn.effect("b", () => setTimeout(250), { idempotent: true });
      return "Done.";
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    await node.kill();
    node = await stage.start(agent(run));
    await node.answer(turn, { approved: true });
    const { state, view } = await node.ended(turn);
    assert.equal(state, "failed");
    assert.match(view.status!.parts[0]!.text!, /did not finish/);
  });

  test("aborts its effects: one that may not be repeated is uncertain, another is given up", async () => {
    for (const idempotent of [false, true]) {
      await using stage = new Stage({ limits: { turnTimeoutMs: 50 } });
      let ran = 0;
      const run = async (turn: Turn) => turn.effect("x", () => (ran++, never()), { idempotent });
      await using node = await stage.start(agent(run));
      const turn = await node.send();
      if (idempotent) assert.equal((await node.ended(turn)).state, "failed");
      else assert.equal(await node.inState(turn, "uncertain").then(() => node.told(turn)), "effect lost:aborted");
      assert.equal(ran, 1);
    }
  });

  test("begins nothing more", async () => {
    await using stage = new Stage({ limits: { turnTimeoutMs: 50 } });
    let ran = 0;
    const run = async (turn: Turn) => {
      await turn
        .effect(
          "x",
          ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop")))),
        )
        .catch(() => undefined);
      return turn.effect("y", () => ran++);
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.inState(turn, "uncertain");
    await settle(50);
    assert.equal(ran, 0);
  });

  test("though its function has returned, waits for no effect that lags behind", async () => {
    await using stage = new Stage({ limits: { turnTimeoutMs: 50 } });
    const run = async (turn: Turn) => {
      void turn.effect("lags", never, { idempotent: true });
      return "Done.";
    };
    await using node = await stage.start(agent(run));
    assert.equal(output(await node.ended(await node.send())), "Done.");
  });

  test("does not wait for a look at a connection either", async () => {
    await using stage = new Stage({ limits: { turnTimeoutMs: 50 } });
    const run = async (turn: Turn) => turn.connect({ prompt: "Connect", provider: "p", verify: never });
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: true });
    await node.ended(turn);
  });
});

describe("an error that nobody hears (E17)", () => {
  for (const what of ["at once", "later", "in a timer's callback"]) {
    for (const where of ["the function", "an effect"]) {
      test(`a rejection in ${where}, ${what}, fails its turn, and nothing else`, async () => {
        // Node's test runner takes unheard errors for itself, but for those of other threads.
        const worker = new Worker(new URL("unheard.ts", import.meta.url), { workerData: { what, where } });
        const [states] = (await once(worker, "message")) as unknown[];
        await worker.terminate();
        assert.deepEqual(states, { careless: "failed", beside: "completed" });
      });
    }
  }

  test("is none when it comes from turn's own promises, however they are left behind", async () => {
    await using stage = new Stage();
    const unheard: unknown[] = [];
    const hear = (error: unknown) => void unheard.push(error);
    process.on("unhandledRejection", hear);
    const run = async (turn: Turn) => {
      void turn.effect("fails", () => {
        throw new Error("No.");
      });
      void turn.ask({ prompt: "?", expiresInMs: 1 });
      void turn.ask({ prompt: "?", signal: AbortSignal.abort() });
      const controller = new AbortController();
      void turn.sleep(1000, { signal: controller.signal });
      controller.abort();
      await turn.effect("x", () => setTimeout(10));
      await turn.sleep(5);
      await setImmediate();
      void turn.effect("late", () => 1);
      return "Done.";
    };
    await using node = await stage.start(agent(run));
    assert.equal(output(await node.ended(await node.send())), "Done.");
    const cancelled = await node.send();
    await node.other.cancel(node.scope(), node.taskId(cancelled));
    await settle(50);
    process.off("unhandledRejection", hear);
    assert.deepEqual(unheard, []);
  });
});

describe("a turn that processes die with (E17)", () => {
  test("runs again beside others, and after its second death alone: nothing else runs or begins meanwhile", async () => {
    await using stage = new Stage();
    const running = new Set<string>();
    const seen: string[] = [];
    const gates = new Map<string, () => void>();
    const run = async (turn: Turn) => {
      const { text } = turn;
      running.add(text);
      seen.push([...running].toSorted().join("+"));
      await turn.effect("x", () => new Promise<void>((resolve) => gates.set(text, resolve)), { idempotent: true });
      running.delete(text);
      return text;
    };
    let node = await stage.start(agent(run));
    const turns = [await node.send("a"), await node.send("b")];
    for (let deaths = 1; deaths <= 2; deaths++) {
      for (const turn of turns) await node.until(turn, () => running.size === 2 && gates.size === 2);
      await node.kill();
      running.clear();
      gates.clear();
      seen.length = 0;
      node = await stage.start(agent(run));
    }
    // Both died twice: each runs alone now, and what comes meanwhile waits.
    const late = await node.send("late");
    for (let left = 3; left > 0; left--) {
      await node.until(late, () => gates.size === 1);
      await settle(30);
      const [[text, end]] = [...gates] as [[string, () => void]];
      assert.deepEqual([...running], [text]);
      gates.delete(text);
      end();
      await node.until(late, () => !running.has(text));
    }
    for (const turn of [...turns, late]) assert.equal((await node.ended(turn)).state, "completed");
    assert.deepEqual(seen.toSorted(), ["a", "b", "late"]);
  });

  test("is held after its third death, is listed, and goes on when it is released", async () => {
    await using stage = new Stage();
    let ran = 0;
    let deadly = true;
    const run = async (turn: Turn) => {
      ran++;
      await turn.effect("x", () => (deadly ? never() : 1), { idempotent: true });
      return "Done.";
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    for (let deaths = 1; deaths <= 3; deaths++) {
      await node.until(turn, () => ran === deaths);
      await node.until(turn, ({ length }) => length > 0);
      await node.kill();
      node = await stage.start(agent(run));
    }
    const { view, deaths } = await node.inState(turn, "held");
    assert.deepEqual([ran, deaths, view.held?.code], [3, 3, "turn.kills"]);
    assert.deepEqual((await node.engine.held()).length, 1);
    await node.kill();
    node = await stage.start(agent(run));
    await settle(30);
    assert.equal((await node.load(turn)).state, "held");
    deadly = false;
    await node.engine.release(turn);
    assert.equal(output(await node.ended(turn)), "Done.");
  });

  test("and is failed by an operator names the effects that were begun", async () => {
    await using stage = new Stage();
    let ran = 0;
    let paying = false;
    const run = async (turn: Turn) => {
      ran++;
      await turn.effect("look", () => (ran < 3 ? never() : 1), { idempotent: true });
      return turn.effect("pay", () => {
        paying = true;
        return never();
      });
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    for (let deaths = 1; deaths <= 3; deaths++) {
      await node.until(turn, () => ran === deaths);
      await node.until(turn, ({ length }) => length > 0 && (deaths < 3 || paying));
      await node.kill();
      node = await stage.start(agent(run));
    }
    await node.inState(turn, "held");
    await node.engine.fail(turn, "Stopped.");
    const [lost] = await node.engine.lost();
    assert.deepEqual(
      lost?.view.lost?.map(({ name }) => name),
      ["pay"],
    );
    assert.equal(lost?.view.status?.parts[0]?.text, "Stopped.");
    assert.equal(await node.engine.resolve(lost.view.lost[0]!.id, { outcome: "completed", value: 1 }), true);
    const { state, view } = await node.load(turn);
    assert.deepEqual([state, view.status?.parts[0]?.text], ["failed", "Stopped."]);
  });
});

describe("how many turns run at once (E17)", () => {
  test("is maxRunningTurns; the others wait in order, and those that wait for people take no place", async () => {
    await using stage = new Stage();
    const running = new Set<string>();
    let most = 0;
    const order: string[] = [];
    const run = async (turn: Turn) => {
      if (turn.text === "waits") await turn.approve({ prompt: "Go on?" });
      running.add(turn.text);
      order.push(turn.text);
      most = Math.max(most, running.size);
      await turn.effect("x", () => setTimeout(5));
      running.delete(turn.text);
      return "Done.";
    };
    await using node = await stage.start(agent(run), { limits: { maxRunningTurns: 2 } });
    const waits = await Promise.all([1, 2, 3].map(() => node.send("waits")));
    for (const turn of waits) await node.interrupted(turn);
    const turns = await Promise.all(Array.from({ length: 10 }, (_, n) => node.send(`${n}`)));
    for (const turn of turns) await node.ended(turn);
    assert.equal(most, 2);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => Number(a) - Number(b)),
    );
    for (const turn of waits) await node.answer(turn, { approved: true });
    for (const turn of waits) await node.ended(turn);
  });

  test("a message that comes twice while there is no room keeps none of the room for itself", async () => {
    await using stage = new Stage();
    await using node = await stage.start(
      agent(async (turn: Turn) => turn.effect("x", () => "Done.")),
      { limits: { maxRunningTurns: 1 } },
    );
    const first = await node.send("1", { messageId: "m" });
    await node.ended(first);
    node.faulty.faults = {
      after: async ({ name }) => {
        if (name !== "accept") return;
        node.faulty.faults = {};
        // While the only place is kept for a message that turns out to be known, another turn becomes due.
        await node.other.send({
          ...node.scope(),
          message: { messageId: "other", role: "ROLE_USER", parts: [{ text: "2" }] },
          active: new Set(),
          traceparent: undefined,
        });
        await settle();
      },
    };
    await node.send("1", { messageId: "m" });
    const { turns } = await node.engine.list({ ...node.scope(), limit: 10 });
    for (const turn of turns) await node.ended(turn);
    assert.equal(turns.length, 2);
  });
});
