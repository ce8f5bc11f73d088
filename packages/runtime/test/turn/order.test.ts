/** What the function is handed, and in which order: E2-E6, E15. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

import { reply } from "@nylorun/agents";
import type { Turn } from "@nylorun/agents";

import type { Start } from "../../src/turn/journal.ts";
import type { TurnRecord } from "../../src/turn/record.ts";
import { Replay } from "../../src/turn/replay.ts";
import { agent, codeOf, messageOf, output, settle, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

/** Kills the process as soon as the turn is parked, and goes on in the next one. */
async function reborn(
  stage: Stage,
  node: Node,
  turn: TurnRecord,
  run: (turn: Turn) => Promise<object | string>,
): Promise<Node> {
  await node.letGo(turn);
  await node.kill();
  return stage.start(agent(run));
}

/** So many levels of lists. */
function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

describe("what the function is handed", () => {
  test("one result at a time, in the order in which they came, live as on replay (E2)", async () => {
    await using stage = new Stage();
    const seen: string[] = [];
    const gates = new Map<string, () => void>();
    const run = async (turn: Turn) => {
      seen.length = 0;
      const one = async (name: string) => {
        await turn.effect("same", () => new Promise<void>((resolve) => gates.set(name, resolve)));
        seen.push(`${name} came`);
        // So many microtasks that a result handed over in the same macrotask would slip in between.
        for (let tick = 0; tick < 50; tick++) await Promise.resolve();
        seen.push(`${name} done`);
      };
      await Promise.all(["a", "b", "c"].map(one));
      await turn.approve({ prompt: "Go on?" });
      return seen;
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    while (gates.size < 3) await setImmediate();
    // All three come back at once: one commit.
    for (const name of ["c", "a", "b"]) gates.get(name)!();
    await node.interrupted(turn);
    const live = [...seen];
    assert.deepEqual(live, ["c came", "c done", "a came", "a done", "b came", "b done"]);

    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), live);
  });

  test("each branch its own result, though all calls have one name (E2)", async () => {
    await using stage = new Stage();
    const gates = new Map<string, () => void>();
    const run = async (turn: Turn) =>
      Promise.all(
        ["a", "b", "c"].map(async (item) => {
          const first = await turn.effect("step", () => new Promise((resolve) => gates.set(item, () => resolve(item))));
          const second = await turn.effect("step", () => `${item}${item}`);
          if (item === "b") await turn.approve({ prompt: "Go on?" });
          const third = await turn.effect("step", () => `${item}${item}${item}`);
          return [first, second, third];
        }),
      );
    let node = await stage.start(agent(run));
    const turn = await node.send();
    while (gates.size < 3) await setImmediate();
    for (const name of ["c", "b", "a"]) {
      gates.get(name)!();
      await settle();
    }
    await node.interrupted(turn);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), [
      ["a", "aa", "aaa"],
      ["b", "bb", "bbb"],
      ["c", "cc", "ccc"],
    ]);
  });

  test("results and errors as JSON has them, the first time too (E4)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const date = await turn.effect("date", () => ({ at: new Date(0), gone: undefined }));
      const nothing = await turn.effect("nothing", () => undefined);
      const error = await turn
        .effect("fails", () => {
          throw Object.assign(new TypeError("No such order."), { code: "ORDER", data: { id: 7 }, secret: 1 });
        })
        .catch((thrown: unknown) => thrown);
      const { name, message, code, data, originalName, effect, secret } = error as Record<string, unknown>;
      const kept = { date, nothing: nothing === undefined, name, message, code, data, originalName, effect, secret };
      await turn.approve({ prompt: "Go on?", detail: JSON.parse(JSON.stringify(kept)) as object });
      return kept;
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    const { view } = await node.interrupted(turn);
    const expected = {
      date: { at: "1970-01-01T00:00:00.000Z" },
      nothing: true,
      name: "EffectError",
      message: "No such order.",
      code: "ORDER",
      data: { id: 7 },
      originalName: "TypeError",
      effect: "fails",
    };
    assert.deepEqual(view.status?.interaction?.detail, expected);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), expected);
  });

  test("a result of its own: changing it changes nothing for the next one who reads it (E4)", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const list = await turn.effect("list", () => [3, 1, 2]);
      list.sort((a, b) => a - b);
      list.push(4);
      const choice = await turn.ask({ prompt: "Which?", choices: ["1"] });
      return { list, choice };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { value: "1" });
    assert.deepEqual(output(await node.ended(turn)), { list: [1, 2, 3, 4], choice: "1" });
  });

  for (const { what, value, code } of [
    { what: "is no JSON", value: () => 1n, code: "effect.notJson" },
    { what: "is a function", value: () => () => 1, code: "effect.notJson" },
    {
      what: "refers to itself",
      value: () => {
        const self: Record<string, unknown> = {};
        self["self"] = self;
        return self;
      },
      code: "effect.notJson",
    },
    { what: "is larger than 1 MiB", value: () => "x".repeat(1024 * 1024), code: "effect.tooLarge" },
    { what: "is larger than 1 MiB in UTF-8 alone", value: () => "€".repeat(400_000), code: "effect.tooLarge" },
    { what: "is nested a little too deep", value: () => nested(501), code: "effect.tooLarge" },
    { what: "is nested as deep as 1 MiB can hold", value: () => nested(500_000), code: "effect.tooLarge" },
  ]) {
    test(`an error for a result that ${what}; the effect does not run again (E4, E6)`, async () => {
      await using stage = new Stage();
      let times = 0;
      const run = async (turn: Turn) => {
        const error = await turn
          .effect("bad", () => {
            times++;
            return value();
          })
          .catch(codeOf);
        await turn.approve({ prompt: "Go on?" });
        return { error };
      };
      let node = await stage.start(agent(run));
      const turn = await node.send();
      await node.interrupted(turn);
      node = await reborn(stage, node, turn, run);
      await node.answer(turn, { approved: true });
      assert.deepEqual(output(await node.ended(turn)), { error: code });
      assert.equal(times, 1);
    });
  }
});

test("what is nested deep enough to be kept is handed back; brackets and quotes in texts count for nothing (E4, E6)", async () => {
  await using stage = new Stage();
  const text = '[{"\\\\'.repeat(1000);
  await using node = await stage.start(
    agent(async (turn) => ({
      same: [
        JSON.stringify(await turn.effect("deep", () => nested(500))) === JSON.stringify(nested(500)),
        (await turn.effect("text", () => ({ [text]: text })))[text] === text,
      ],
    })),
  );
  assert.deepEqual(output(await node.ended(await node.send())), { same: [true, true] });
});

test("an output, a reply, a detail or a schema that is nested too deep fails the turn, once (E6)", async () => {
  await using stage = new Stage();
  await using node = await stage.start(
    agent(async (turn) => {
      if (turn.text === "reply") return reply({ data: nested(600) });
      if (turn.text === "detail") return turn.approve({ prompt: "Go on?", detail: { deep: nested(600) } });
      if (turn.text === "schema") return turn.ask({ prompt: "What?", schema: { deep: nested(600) } });
      return nested(600);
    }),
  );
  for (const text of ["output", "reply", "detail", "schema"]) {
    assert.equal((await node.ended(await node.send(text))).state, "failed", text);
  }
});

describe("calls out of step (E3)", () => {
  for (const { what, wait } of [
    { what: "a timer", wait: () => setTimeout(1) },
    { what: "an I/O callback", wait: () => readFile(import.meta.filename) },
    { what: "a macrotask", wait: () => setImmediate() },
  ]) {
    test(`after ${what} at the start, a call without a key throws turn.unjournaled at once`, async () => {
      await using stage = new Stage();
      const run = async (turn: Turn) => {
        await wait();
        return turn.effect("x", () => 1).catch((error: unknown) => [codeOf(error), messageOf(error)]);
      };
      await using node = await stage.start(agent(run));
      const [code, message] = output(await node.ended(await node.send())) as string[];
      assert.equal(code, "turn.unjournaled");
      assert.match(message!, /turn\.effect\(name, fn\)/);
    });

    test(`after ${what} between two entries, a call without a key throws turn.unjournaled at once`, async () => {
      await using stage = new Stage();
      const calls: readonly ((turn: Turn) => unknown)[] = [
        (turn) => turn.effect("x", () => 1),
        (turn) => turn.ask({ prompt: "What?" }),
        (turn) => turn.approve({ prompt: "Go on?" }),
        (turn) => turn.connect({ prompt: "Connect", provider: "p", verify: () => true }),
        (turn) => turn.sleep(1),
        (turn) => turn.usage({ tokens: 1 }),
        (turn) => turn.patch("p"),
        (turn) => turn.now(),
        (turn) => turn.random(),
        (turn) => turn.uuid(),
      ];
      const run = async (turn: Turn) => {
        await turn.effect("first", () => 1);
        await wait();
        const codes: unknown[] = [];
        for (const call of calls) {
          try {
            await call(turn);
            codes.push("taken");
          } catch (error) {
            codes.push((error as { code: unknown }).code);
          }
        }
        return codes;
      };
      await using node = await stage.start(agent(run));
      const turn = await node.send();
      assert.deepEqual(
        output(await node.ended(turn)),
        calls.map(() => "turn.unjournaled"),
      );
      assert.equal(await node.told(turn), "effect outcome");
    });
  }

  test("words may be said out of step: they are shown, once, whatever is replayed", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      await setTimeout(1);
      turn.say("Beginning.");
      await turn.effect("x", () => 1, { key: "x" });
      await turn.approve({ prompt: "Go on?" });
      return {};
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    const { view } = await node.ended(turn);
    assert.deepEqual(
      view.history?.map(({ parts }) => parts[0]!.text),
      ["Beginning.", "Go on?", "(answered)"],
    );
  });

  test("what is said may change from version to version, and from replay to replay: it fits whatever was said before", async () => {
    const first = async (turn: Turn) => {
      turn.say("One.");
      await turn.effect("x", () => 1);
      turn.say("Two.");
      turn.say("Three.");
      await turn.approve({ prompt: "Go on?" });
      return turn.effect("y", () => "Done.");
    };
    const others: readonly (typeof first)[] = [
      async (turn) => {
        await turn.effect("x", () => assert.fail("ran"));
        await turn.approve({ prompt: "Go on?" });
        return turn.effect("y", () => "Done.");
      },
      async (turn) => {
        turn.say("Zero.");
        turn.say("One.");
        await turn.effect("x", () => assert.fail("ran"));
        turn.say("Other.");
        await turn.approve({ prompt: "Go on?" });
        turn.say("More.");
        return turn.effect("y", () => "Done.");
      },
    ];
    for (const other of others) {
      await using stage = new Stage();
      let node = await stage.start(agent(first));
      const turn = await node.send();
      await node.interrupted(turn);
      node = await reborn(stage, node, turn, other);
      await node.answer(turn, { approved: true });
      assert.equal(output(await node.ended(turn)), "Done.");
    }
  });

  test("words that are in step now and were not then, or the other way round, hold up nothing", async () => {
    for (const [before, after] of [
      [5, 0],
      [0, 5],
    ]) {
      await using stage = new Stage();
      let ms = before!;
      const run = async (turn: Turn) => {
        if (ms > 0) await setTimeout(ms);
        turn.say("Beginning.");
        await turn.effect("x", () => 1, { key: "x" });
        await turn.approve({ prompt: "Go on?" });
        return {};
      };
      let node = await stage.start(agent(run));
      const turn = await node.send();
      await node.interrupted(turn);
      ms = after!;
      node = await reborn(stage, node, turn, run);
      await node.answer(turn, { approved: true });
      const { view, state } = await node.ended(turn);
      assert.equal(state, "completed");
      assert.deepEqual(
        view.history?.map(({ parts }) => parts[0]!.text),
        ["Beginning.", "Go on?", "(answered)"],
      );
    }
  });

  test("a race against a timer is found out by the first call after it", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const slow = turn.effect("slow", () => setTimeout(50));
      await Promise.race([slow, setTimeout(5)]);
      await turn.effect("next", () => 1);
      return {};
    };
    await using node = await stage.start(agent(run));
    const turn = await node.ended(await node.send());
    assert.equal(turn.state, "failed");
    assert.equal(await node.told(turn), "effect outcome");
  });

  test("what is awaited in the same macrotask as another turn's result is out of step all the same", async () => {
    await using stage = new Stage();
    const shared = Promise.withResolvers<unknown>();
    const run = async (turn: Turn) => {
      if (turn.text === "opens") {
        await turn.effect("open", () => 1);
        shared.resolve(undefined);
        return {};
      }
      await turn.effect("first", () => 1);
      await shared.promise;
      return turn.effect("second", () => 1).catch(codeOf);
    };
    await using node = await stage.start(agent(run));
    const waits = await node.send("waits");
    await node.until(waits, ({ length }) => length === 2);
    await node.send("opens");
    assert.equal(output(await node.ended(waits)), "turn.unjournaled");
  });

  test("a call with a key is met by it, in whatever order the branches come", async () => {
    await using stage = new Stage();
    const ran: string[] = [];
    let delays = [20, 1];
    const run = async (turn: Turn) => {
      const values = await Promise.all(
        ["a", "b"].map(async (item, index) => {
          await setTimeout(delays[index]);
          const value = await turn.effect("same", () => (ran.push(item), item), { key: item });
          return [value, turn.uuid()];
        }),
      );
      await turn.approve({ prompt: "Go on?", detail: { values } });
      return values;
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    const { view } = await node.interrupted(turn);
    delays = [1, 20];
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    const { values } = view.status!.interaction!.detail as { values: unknown };
    assert.deepEqual(output(await node.ended(turn)), values);
    assert.deepEqual(ran, ["b", "a"]);
  });

  test("a key is met whether or not the call is in step this time: a cache that is warm now, or cold", async () => {
    for (const [before, after] of [
      [5, 0],
      [0, 5],
    ]) {
      await using stage = new Stage();
      const ran: string[] = [];
      let ms = before!;
      const run = async (turn: Turn) => {
        if (ms > 0) await setTimeout(ms);
        const a = await turn.effect("same", () => ran.push("a"), { key: "a" });
        if (ms > 0) await setTimeout(ms);
        const b = await turn.effect("same", () => ran.push("b"), { key: "b" });
        await turn.approve({ prompt: "Go on?" });
        return [a, b];
      };
      let node = await stage.start(agent(run));
      const turn = await node.send();
      await node.interrupted(turn);
      ms = after!;
      node = await reborn(stage, node, turn, run);
      await node.answer(turn, { approved: true });
      assert.deepEqual(output(await node.ended(turn)), [1, 2]);
      assert.deepEqual(ran, ["a", "b"]);
    }
  });

  test("a key that was used before is refused", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      await turn.effect("x", () => 1, { key: "k" });
      await turn.effect("y", () => 1, { key: "k" });
      return turn.effect("x", () => 1, { key: "k" }).catch(codeOf);
    };
    await using node = await stage.start(agent(run));
    assert.equal(output(await node.ended(await node.send())), "turn.unjournaled");
  });

  test("an open wait that is called after a slow start is met before the turn is parked again", async () => {
    await using stage = new Stage();
    let connected = false;
    let looks = 0;
    const run = async (turn: Turn) => {
      await setTimeout(20);
      const verify = () => (looks++, connected);
      return { is: await turn.connect({ prompt: "Connect", provider: "p", key: "c", pollMs: 1000, verify }) };
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    await node.letGo(turn);
    connected = true;
    stage.pass(1001);
    assert.deepEqual(output(await node.ended(turn)), { is: true });
    assert.equal(looks, 1);
  });
});

describe("code that does not fit its journal (E5)", () => {
  const first = async (turn: Turn) => {
    const a = await turn.effect("a", () => 1);
    await turn.approve({ prompt: "Go on?" });
    return { a };
  };
  for (const { what, run, why } of [
    {
      what: "calls another effect",
      why: /entry 0 is effect\("a"\), the code now calls effect\("b"\)/,
      run: async (turn: Turn) => turn.effect("b", () => assert.fail("ran")),
    },
    {
      what: "calls it with a key",
      why: /entry 0 is effect\("a"\), which the code no longer calls/,
      run: async (turn: Turn) => turn.effect("a", () => assert.fail("ran"), { key: "k" }),
    },
    {
      what: "calls something else",
      why: /entry 0 is effect\("a"\), the code now calls sleep\(\)/,
      run: async (turn: Turn) => turn.sleep(1),
    },
    { what: "no longer calls it", why: /entry 0 is effect\("a"\)/, run: async () => ({ done: true }) },
    {
      what: "calls it later than it did",
      why: /entry 0 is effect\("a"\)/,
      run: async (turn: Turn) => {
        await setTimeout(5);
        return turn.effect("a", () => assert.fail("ran"));
      },
    },
    {
      what: "ends before what it waited for",
      why: /entry 2 is approve\(\)/,
      run: async (turn: Turn) => turn.effect("a", () => assert.fail("ran")),
    },
    {
      what: "does what it did, and more at once",
      why: /entry 2 is approve\(\), the code now calls effect\("more"\)/,
      run: async (turn: Turn) => {
        await turn.effect("a", () => assert.fail("ran"));
        await turn.effect("more", () => assert.fail("ran"));
        return first(turn);
      },
    },
  ] as const) {
    test(`that ${what} holds the turn, hides what it waits for, and goes on under code that fits`, async () => {
      await using stage = new Stage();
      let node = await stage.start(agent(first));
      const turn = await node.send();
      await node.interrupted(turn);
      await node.answer(turn, { approved: true }).then(() => node.ended(turn));
      const other = await node.send();
      await node.interrupted(other);
      await node.letGo(other);
      await node.kill();

      node = await stage.start(agent(run));
      await node.other.send({
        ...node.scope(),
        message: { messageId: "wakes", role: "ROLE_USER", parts: [{ text: "yes" }], taskId: node.taskId(other) },
        active: new Set(),
        traceparent: undefined,
      });
      await node.answer(other, { approved: true });
      const held = await node.inState(other, "held");
      assert.equal(held.view.held?.code, "journal.diverged");
      assert.match(held.view.held.message, why);
      assert.equal(held.view.status?.interaction, undefined);
      assert.deepEqual(
        (await node.engine.held()).map(({ turn: key }) => key),
        [other.turn],
      );
      await node.letGo(other);
      await node.kill();

      node = await stage.start(agent(first));
      assert.deepEqual(output(await node.ended(other)), { a: 1 });
    });
  }

  test("that does not make a recorded call for replayStallMs holds the turn", async () => {
    await using stage = new Stage({ limits: { replayStallMs: 30 } });
    let stall = false;
    const run = async (turn: Turn) => {
      await setTimeout(stall ? 500 : 1);
      await turn.effect("a", () => 1, { key: "a" });
      await turn.approve({ prompt: "Go on?" });
      return {};
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    stall = true;
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    const { view } = await node.inState(turn, "held");
    assert.match(view.held!.message, /entry 0 is effect\("a"\) with the key "a", which the code has not called yet/);
    stall = false;
    await node.engine.release(turn);
    assert.deepEqual(output(await node.ended(turn)), {});
  });

  test("a held turn is neither answered nor run until it is released; an operator may fail it", async () => {
    await using stage = new Stage();
    let node = await stage.start(agent(first));
    const turn = await node.send();
    await node.interrupted(turn);
    const { id } =
      (await node.load(turn)).view.status!.interaction!.interactionId === undefined
        ? { id: "" }
        : { id: (await node.load(turn)).view.status!.interaction!.interactionId };
    node = await reborn(stage, node, turn, async (t: Turn) => t.effect("other", () => ({})));
    await node.answer(turn, { approved: true });
    await node.inState(turn, "held");
    await assert.rejects(node.answer(turn, { interactionId: id, approved: true }), { code: -32_004 });
    assert.equal(await node.engine.fail(turn, "Start it again, please."), true);
    const { view } = await node.ended(turn);
    assert.equal(view.status?.parts[0]?.text, "Start it again, please.");
  });
});

describe("patch (E5)", () => {
  test("keeps turns on the way they began, and takes new ones the new way", async () => {
    await using stage = new Stage();
    const old = async (turn: Turn) => {
      const a = await turn.effect("a", () => "a");
      await turn.approve({ prompt: "Go on?" });
      const c = await turn.effect("c", () => "c");
      return [a, c];
    };
    const early = async (turn: Turn) => {
      const a = await turn.effect("a", () => "a");
      const b = turn.patch("early") ? await turn.effect("b", () => "b") : "-";
      await turn.approve({ prompt: "Go on?" });
      const late = turn.patch("late") ? await turn.effect("late", () => "late") : "-";
      const c = await turn.effect("c", () => "c");
      return [a, b, late, c];
    };
    let node = await stage.start(agent(old));
    const begun = await node.send();
    await node.interrupted(begun);
    await node.letGo(begun);
    await node.kill();
    node = await stage.start(agent(early));
    const fresh = await node.send();
    await node.interrupted(fresh);
    await node.letGo(fresh);
    await node.kill();
    node = await stage.start(agent(early));
    await node.answer(begun, { approved: true });
    await node.answer(fresh, { approved: true });
    assert.deepEqual(output(await node.ended(begun)), ["a", "-", "late", "c"]);
    assert.deepEqual(output(await node.ended(fresh)), ["a", "b", "late", "c"]);
  });

  test("is false while a recorded call with a key lies ahead", async () => {
    await using stage = new Stage();
    let patched = false;
    const run = async (turn: Turn) => {
      const way = patched && turn.patch("new") ? "new" : "old";
      await setTimeout(1);
      await turn.approve({ prompt: "Go on?", key: "k" });
      return { way };
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    patched = true;
    node = await reborn(stage, node, turn, run);
    stage.pass(0);
    await node.answer(turn, { approved: true });
    assert.deepEqual(output(await node.ended(turn)), { way: "old" });
  });

  describe("tells every replay the same, whenever a branch out of step makes its call:", () => {
    const mark = { kind: "patched", name: "p", after: 1 } as const;
    const key = { key: "k", outOfStep: true } as const;
    const replayTo = (late: Start) => {
      const replay = new Replay();
      replay.load([
        { kind: "effect", name: "a", id: "0", after: 0 },
        { kind: "outcome", of: 0, at: 1, result: {} },
        late,
      ]);
      replay.meet({ kind: "effect", name: "a", id: "x", after: 0 });
      replay.closeStep();
      replay.deliver(1);
      assert.equal(replay.isNext(mark), false);
      return replay;
    };

    test("what was called first before this step is behind it, met or not", () => {
      const late: Start = { kind: "effect", name: "b", id: "2", after: 0, ...key };
      const replay = replayTo(late);
      assert.deepEqual([replay.startsAhead, replay.isRecordedBeyond], [true, false]);
      replay.meet(late);
      assert.equal(replay.isRecordedBeyond, false);
    });

    test("what was called first after this step is ahead of it, met or not", () => {
      const late: Start = { kind: "effect", name: "b", id: "2", after: 1, ...key };
      const replay = replayTo(late);
      assert.equal(replay.isRecordedBeyond, true);
      replay.meet(late);
      assert.deepEqual([replay.startsAhead, replay.isRecordedBeyond], [false, true]);
    });

    test("what was called first in this step is ahead of it until it is met", () => {
      const late: Start = { kind: "effect", name: "b", id: "2", after: 1, key: "k" };
      const replay = replayTo(late);
      assert.equal(replay.isRecordedBeyond, true);
      replay.meet(late);
      assert.equal(replay.isRecordedBeyond, false);
    });
  });
});

describe("time and chance (E15)", () => {
  test("are the same on every replay, and differ between turns", async () => {
    await using stage = new Stage();
    const runs: unknown[][] = [];
    const run = async (turn: Turn) => {
      const drawn: unknown[] = [];
      runs.push(drawn);
      const draw = () => drawn.push(turn.now().toISOString(), turn.random(), turn.random(), turn.uuid());
      draw();
      await turn.effect("x", () => setTimeout(3));
      draw();
      await turn.approve({ prompt: "Go on?" });
      draw();
      return drawn;
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    const [live, replayed] = [runs[0]!, output(await node.ended(turn)) as unknown[]];
    assert.deepEqual(replayed.slice(0, 8), live);
    assert.equal(new Set(replayed.filter((value) => typeof value === "number")).size, 6);
    for (const value of replayed) if (typeof value === "number") assert.ok(value >= 0 && value < 1);
    assert.match(String(replayed[3]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const other = await node.send();
    await node.interrupted(other);
    assert.notEqual(runs.at(-1)![3], live[3]);
  });
});

describe("limits of a turn (E6)", () => {
  test("10,000 entries: the call that would be one more throws turn.tooLarge, on replay too", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      for (let n = 0; n < 9998; n++) turn.usage({ tokens: 1 });
      await turn.approve({ prompt: "Go on?" });
      try {
        turn.say("One more.");
        return { taken: true };
      } catch (error) {
        return { code: (error as { code: string }).code };
      }
    };
    let node = await stage.start(agent(run));
    const turn = await node.send();
    await node.interrupted(turn);
    node = await reborn(stage, node, turn, run);
    await node.answer(turn, { approved: true });
    const ended = await node.ended(turn);
    assert.deepEqual(output(ended), { code: "turn.tooLarge" });
    assert.equal(ended.length, 10_000);
  });

  test("64 MiB: a result that does not fit is an error, and the next call throws turn.tooLarge", async () => {
    await using stage = new Stage();
    const run = async (turn: Turn) => {
      const big = "x".repeat(1024 * 1024 - 2);
      const errors: unknown[] = [];
      for (let n = 0; n < 66; n++) {
        try {
          await turn.effect("big", () => big);
        } catch (error) {
          errors.push([n, (error as { code: string }).code]);
        }
      }
      return errors;
    };
    await using node = await stage.start(agent(run));
    const turn = await node.send();
    const errors = output(await node.ended(turn)) as [number, string][];
    assert.deepEqual(errors[0], [63, "effect.tooLarge"]);
    const bytes = (await node.journal(turn)).reduce((sum, entry) => sum + JSON.stringify(entry).length, 0);
    assert.ok(bytes <= 64 * 1024 * 1024, String(bytes));
  });
});
