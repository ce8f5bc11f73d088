import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Agent, EffectError } from "@nylorun/agents";
import { answer, approve, assertDurable, cancel, expire, TestingError } from "@nylorun/runtime/testing";
import type { Script, TestingErrorCode } from "@nylorun/runtime/testing";

import { agent } from "./agent.ts";

/** A world for effects: what was done, and how often. */
class World {
  done: string[] = [];

  readonly script = { prepare: () => void (this.done = []), world: () => this.done };

  do(what: string): number {
    return this.done.push(what);
  }
}

async function caught(found: Agent, script: Script, ...expected: TestingErrorCode[]): Promise<TestingError> {
  let error: unknown;
  await assertDurable(found, script).catch((thrown: unknown) => (error = thrown));
  assert.ok(error instanceof TestingError, `it was not caught: ${String(error)}`);
  assert.ok(expected.includes(error.code), `${error.code}: ${error.message}`);
  return error;
}

describe("an agent that is durable", () => {
  it("passes, with as many crashes as it has writes, and is told which effects a crash leaves in doubt", async () => {
    const world = new World();
    const refunds = agent(async (turn) => {
      const order = await turn.effect("find order", () => ({ total: 42 }), { idempotent: true });
      const days = await turn.ask({ prompt: "In how many days?" });
      if (!(await turn.approve({ prompt: `Refund ${order.total}?` }))) return "no";
      await turn.sleep(Number(days) * 86_400_000);
      const receipt = await turn.effect("refund", ({ key }) => {
        world.do("refund");
        return { key };
      });
      await turn.effect("tell", () => world.do("tell"));
      return { receipt, token: turn.uuid(), at: turn.now() };
    });
    const { run, crashes, uncertain } = await assertDurable(refunds, {
      answers: [answer("3"), approve()],
      ...world.script,
    });
    assert.equal(run.state, "TASK_STATE_COMPLETED");
    assert.ok(crashes >= 20, `${crashes} crashes`);
    assert.deepEqual(
      uncertain.map(({ name }) => name),
      ["refund", "tell"],
    );
    assert.match(uncertain[0]!.message, /after write \d+ \(effect\("refund"\) begins\)/);
    assert.match(uncertain[0]!.message, /before write \d+ \(the outcome of effect\("refund"\)/);
    assert.match(uncertain[0]!.message, /nylorun effects resolve.*\{ idempotent: true \}/);
  });

  it("passes when it works in parallel, and its waits and effects race, fail and lose", async () => {
    const world = new World();
    const busy = agent(async (turn) => {
      const items = await Promise.all(
        [1, 2, 3].map(async (item) => {
          const found = await turn.effect("look", () => item * 10, { idempotent: true });
          const kept = await turn.effect("keep", () => world.do(`keep ${item}`) && found);
          return turn.random() >= 0 ? kept : 0;
        }),
      );
      const errors = await Promise.allSettled([
        turn.effect("fail", () => Promise.reject(Object.assign(new Error("no"), { code: "E_NO" }))),
        turn.sleep(1000),
      ]);
      const [failed] = errors;
      const code = failed.status === "rejected" && (failed.reason as EffectError).code;
      const abort = new AbortController();
      const first = await Promise.race([
        turn.ask({ prompt: "Who?", signal: abort.signal }),
        turn.sleep(86_400_000).then(() => "nobody"),
      ]);
      abort.abort();
      return [items, code, first];
    });
    // What runs at the same time is done in any order.
    const sorted = { ...world.script, world: () => world.done.toSorted() };
    const { run } = await assertDurable(busy, sorted);
    assert.deepEqual(run.output, [[10, 20, 30], "E_NO", "nobody"]);
  });

  it("may call after anything at all with keys", async () => {
    const keyed = agent(async (turn) => {
      await delay(2);
      const one = await turn.effect("one", () => 1, { key: "a", idempotent: true });
      await delay(2);
      return one + (await turn.effect("one", () => 2, { key: "b", idempotent: true }));
    });
    assert.equal((await assertDurable(keyed)).run.output, 3);
  });

  it("may wait for what its caller does in the world first", async () => {
    let connected = false;
    const connects = agent(async (turn) => {
      const made = await turn.connect({ prompt: "Connect.", provider: "x", verify: () => connected });
      return made ? turn.effect("use", () => "used", { idempotent: true }) : "declined";
    });
    const { run } = await assertDurable(connects, {
      prepare: () => void (connected = false),
      answers: [approve(true, { first: () => void (connected = true) })],
    });
    assert.equal(run.output, "used");
  });

  it("may have several waits open at once, let them expire, and be cancelled", async () => {
    const waits = agent(async (turn) => {
      const both = await Promise.all([
        turn.approve({ prompt: "Sure?" }),
        turn.ask({ prompt: "Which?" }),
        turn.sleep(5),
      ]);
      for (let times = 0; times < 3; times++) {
        const late = turn.ask({ prompt: "Still there?", expiresInMs: 1000 });
        const answered = await late.catch(() => turn.effect("remind", () => undefined, { idempotent: true }));
        if (answered !== undefined) return [...both, answered];
      }
      return turn.ask({ prompt: "Anybody?" });
    });
    const answers = [approve(), answer("this"), expire(), answer("yes")];
    assert.deepEqual((await assertDurable(waits, { answers })).run.output, [true, "this", null, "yes"]);
    const { run } = await assertDurable(waits, {
      answers: [...answers.slice(0, 2), expire(), expire(), expire(), cancel()],
    });
    assert.equal(run.state, "TASK_STATE_CANCELED");
  });

  it("may fail, if it fails alike", async () => {
    const fails = agent(async (turn) => {
      await turn.effect("work", () => 1);
      throw new Error("It broke.");
    });
    assert.equal((await assertDurable(fails)).run.state, "TASK_STATE_FAILED");
  });

  it("may use the clock and chance inside of effects, where they are real", async () => {
    const before = Date.now();
    const stamps = agent(async (turn) => {
      const at = await turn.effect("stamp", () => [Date.parse(new Date().toISOString()), Date.now()]);
      const chance = await turn.effect("dice", () => Math.random());
      return Math.max(...at) <= Date.now() + 1 && chance < 1 && at.every((time) => time >= before) ? "real" : "strange";
    });
    assert.equal((await assertDurable(stamps)).run.output, "real");
    assert.ok(Date.now() - before < 60_000, "outside, time is as it was");
    assert.ok(new Date() instanceof Date && Date.UTC(2026) > 0);
  });
});

describe("an agent that is not durable is caught, with the write at which its process died", () => {
  it("when chance decides what it asks for", async () => {
    const dice = agent(async (turn) => {
      await turn.effect("look", () => 1, { idempotent: true });
      if (Math.random() < 0.5) await turn.effect("extra", () => 1, { idempotent: true });
      await turn.effect("end", () => 1, { idempotent: true });
    });
    const error = await caught(dice, {}, "journal.diverged", "outcome.differs");
    assert.match(error.message, /^When the process dies (before|after) write \d+ \(.*"(extra|end)\\?".*Math\.random/);
    const named = agent((turn) => turn.effect(`pay ${Math.random()}`, () => 1, { idempotent: true }));
    await caught(named, {}, "journal.diverged", "outcome.differs");
  });

  it("when the clock decides the order of its effects", async () => {
    const clock = agent(async (turn) => {
      const names = new Date().getHours() < 12 ? ["a", "b"] : ["b", "a"];
      for (const name of names) await turn.effect(name, () => name, { idempotent: true });
      return "done";
    });
    await caught(clock, {}, "journal.diverged", "outcome.differs");
    const parity = agent(async (turn) => {
      await turn.effect(Date.now() % 2 === 0 ? "even" : "odd", () => 1, { idempotent: true });
    });
    await caught(parity, {}, "journal.diverged", "outcome.differs");
  });

  it("when it keeps what it knows in memory", async () => {
    const known = new Set<string>();
    const forgetful = agent(async (turn) => {
      if (!known.has(turn.taskId)) await turn.effect("learn", () => known.add(turn.taskId) && 1);
      await turn.effect("use", () => 1);
    });
    await caught(forgetful, { prepare: () => known.clear() }, "journal.diverged");
  });

  it("when it awaits a timer, or a request, between two calls", async () => {
    const waits = agent(async (turn) => {
      await turn.effect("one", () => 1);
      await delay(1);
      await turn.effect("two", () => 2);
    });
    assert.match((await caught(waits, {}, "turn.unjournaled")).message, /turn\.effect\("two"\)/);
    const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const fetches = agent(async (turn) => {
      await turn.effect("one", () => 1);
      const answered = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: "close" } });
      await turn.effect("two", async () => answered.status);
    });
    await caught(fetches, {}, "turn.unjournaled").finally(() => server.close());
  });

  it("when it races a wait against a timer", async () => {
    const races = agent(async (turn) => Promise.race([turn.approve({ prompt: "?" }), delay(10, false)]));
    await caught(races, {}, "turn.unjournaled");
  });

  it("when what it returns follows from the clock or from chance", async () => {
    const stamped = agent(async (turn) => {
      await turn.effect("work", () => 1, { idempotent: true });
      return `done at ${new Date().toISOString()}`;
    });
    const error = await caught(stamped, {}, "outcome.differs");
    assert.match(error.message, /output: "done at.*instead of "done at/);
    assert.notDeepEqual(error.actual, error.expected);
    const lucky = agent(async (turn) => (await turn.effect("work", () => 1, { idempotent: true })) + Math.random());
    await caught(lucky, {}, "outcome.differs");
  });

  it("when an effect is called idempotent and is not", async () => {
    const world = new World();
    const twice = agent((turn) => turn.effect("refund", () => void world.do("refund"), { idempotent: true }));
    const error = await caught(twice, world.script, "outcome.differs");
    assert.match(error.message, /world: \["refund","refund"\] instead of \["refund"\].*idempotent/);
    assert.deepEqual(error.actual, { world: ["refund", "refund"] });
  });

  it("when it does outside of effects what it should do once", async () => {
    const world = new World();
    const bare = agent(async (turn) => {
      world.do("mail");
      await turn.effect("work", () => 1, { idempotent: true });
    });
    await caught(bare, world.script, "outcome.differs");
  });
});
