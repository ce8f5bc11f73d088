import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { OutcomeUnknown, refuse, reply, WaitExpired } from "@nylorun/agents";
import type { EffectError } from "@nylorun/agents";
import { answer, approve, cancel, expire, testAgent, TestingError } from "@nylorun/runtime/testing";
import type { TestingErrorCode } from "@nylorun/runtime/testing";

import { agent } from "./agent.ts";

const day = 86_400_000;

async function rejects(run: Promise<unknown>, code: TestingErrorCode, pattern: RegExp): Promise<void> {
  await assert.rejects(run, (error) => {
    assert.ok(error instanceof TestingError, String(error));
    assert.deepEqual([error.code, pattern.test(error.message)], [code, true], error.message);
    return true;
  });
}

describe("a script", () => {
  it("is one message, and says what the caller, and a caller's client, see in the end", async () => {
    const refunds = agent(async (turn) => {
      const plan = turn.plan(["Find the order", "Refund"]);
      plan.start(0);
      const order = await turn.effect("find order", () => ({ id: turn.text, total: 42 }), { idempotent: true });
      turn.say("Found it.");
      plan.start(1);
      if (!(await turn.approve({ prompt: `Refund ${order.total}?`, detail: { order: order.id } })))
        return "Not refunded.";
      await turn.effect("refund", () => "ok");
      turn.usage({ tokens: 7, costUsd: 0.5 });
      return { refunded: order.total };
    });
    const run = await testAgent(refunds, { message: "1001", answers: [approve()] });
    assert.equal(run.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(run.output, { refunded: 42 });
    assert.deepEqual(run.plan, [
      { label: "Find the order", state: "done" },
      { label: "Refund", state: "done" },
    ]);
    assert.deepEqual(
      run.history.map(({ by, text }) => `${by}: ${text}`),
      ["user: 1001", "agent: Found it.", "agent: Refund 42?", "user: approve(true)"],
    );
    assert.deepEqual(
      run.effects.map(({ name, attempts }) => [name, attempts]),
      [
        ["find order", 1],
        ["refund", 1],
      ],
    );
    assert.deepEqual(
      run.interactions.map(({ kind, prompt, detail }) => ({ kind, prompt, detail })),
      [{ kind: "approval", prompt: "Refund 42?", detail: { order: "1001" } }],
    );
    assert.deepEqual(run.task.metadata?.["https://docs.nylorun.com/a2a/telemetry/v1"], {
      steps: 2,
      tokens: 7,
      costUsd: 0.5,
      traceId: "0123456789abcdef0123456789abcdef",
    });

    const declined = await testAgent(refunds, { message: "1001", answers: [approve(false)] });
    assert.equal(declined.output, "Not refunded.");
    assert.deepEqual(
      declined.effects.map(({ name }) => name),
      ["find order"],
    );
  });

  it("ends where the answers end: what the agent waits for is there to be looked at", async () => {
    const asks = agent(async (turn) => turn.ask({ prompt: "Which day?", choices: ["mon", "tue"] }));
    const run = await testAgent(asks);
    assert.deepEqual([run.state, run.status, run.output], ["TASK_STATE_INPUT_REQUIRED", "Which day?", undefined]);
    assert.deepEqual(run.interactions[0]?.detail, { choices: ["mon", "tue"] });
    assert.equal((await testAgent(asks, { answers: [answer("tue")] })).output, "tue");
  });

  it("tells how an agent failed, refused, replied or was cancelled", async () => {
    const cause = new RangeError("No.");
    const failed = await testAgent(
      agent(() => {
        throw cause;
      }),
    );
    assert.deepEqual([failed.state, failed.error], ["TASK_STATE_FAILED", cause]);
    const refused = await testAgent(agent(() => refuse("Not on Sundays.")));
    assert.deepEqual([refused.state, refused.status], ["TASK_STATE_REJECTED", "Not on Sundays."]);
    const replied = await testAgent(
      agent((turn) => reply(`You said ${turn.text}`)),
      { message: "hi" },
    );
    assert.deepEqual([replied.reply, replied.output], [[{ text: "You said hi" }], undefined]);
    const waits = agent(async (turn) => turn.approve({ prompt: "Sure?" }));
    const cancelled = await testAgent(waits, { answers: [cancel()] });
    assert.equal(cancelled.state, "TASK_STATE_CANCELED");
  });

  it("gives the agent the parts, the subject and the time that it names", async () => {
    const now = new Date("2030-05-05T05:05:05Z");
    const parts = [{ text: "a" }, { data: { b: 1 }, mediaType: "application/json" }];
    const echo = agent((turn) => [turn.text, turn.parts, turn.subject, turn.now().toISOString()]);
    const run = await testAgent(echo, { message: parts, subject: "ada", now });
    assert.deepEqual(run.output, ["a", parts, "ada", now.toISOString()]);
  });

  it("may bring its own code for effects, and for what looks at a connection", async () => {
    const meets = agent(async (turn) => {
      await turn.connect({ prompt: "Connect.", provider: "calendar", verify: () => assert.fail("not in tests") });
      return turn.effect("book", () => assert.fail("not in tests"));
    });
    let looks = 0;
    const effects = {
      calendar: () => ++looks > 1,
      book: ({ key }: { key: string }) => `booked with ${key.length}`,
    };
    const run = await testAgent(meets, { answers: [approve()], effects });
    assert.deepEqual([run.state, run.output], ["TASK_STATE_COMPLETED", "booked with 32"]);
    assert.ok(looks >= 2);
  });
});

describe("time in a script", () => {
  it("takes none: sleeps, expiries and polls come at once, each at its moment", async () => {
    const began = performance.now();
    const sleeper = agent(async (turn) => {
      const first = turn.now().getTime();
      await turn.sleep(30 * day);
      await turn.sleep(new Date(first + 90 * day));
      const late = await turn.ask({ prompt: "?", expiresInMs: day }).catch((error: unknown) => (error as Error).name);
      return [late, (turn.now().getTime() - first) / day];
    });
    const run = await testAgent(sleeper, { now: new Date(0) });
    assert.deepEqual(run.output, [WaitExpired.name, 91]);
    assert.equal(run.now.getTime(), 91 * day);

    let looks = 0;
    const connects = agent(async (turn) =>
      turn.connect({ prompt: "Connect.", provider: "x", pollMs: 3_600_000, verify: () => ++looks === 20 }),
    );
    const connected = await testAgent(connects);
    assert.deepEqual([connected.output, looks], [true, 20]);
    assert.ok(performance.now() - began < 3000, "it has waited in earnest");
  });

  it("passes while an answer is awaited only when the script says so", async () => {
    const asks = agent(async (turn) => {
      const first = await turn.ask({ prompt: "First?", expiresInMs: day }).catch(() => "nobody");
      return [first, await turn.ask({ prompt: "Second?", expiresInMs: day })];
    });
    const run = await testAgent(asks, { answers: [expire(), answer("me")] });
    assert.deepEqual(run.output, ["nobody", "me"]);
    const for_ever = agent(async (turn) => turn.ask({ prompt: "First?" }));
    await rejects(
      testAgent(for_ever, { answers: [expire()] }),
      "answer.wrong",
      /expire\(\).*asks 'First\?'.*no expiresInMs/,
    );
  });

  it("ends the waiting for a connection that is never made", async () => {
    const connects = agent(async (turn) => turn.connect({ prompt: "Connect.", provider: "x", verify: () => false }));
    const run = await testAgent(connects, { answers: [approve()] });
    assert.equal(run.state, "TASK_STATE_AUTH_REQUIRED");
    assert.equal((await testAgent(connects, { answers: [approve(false)] })).output, false);
  });

  it("passes between the attempts of an effect, and stands still while one runs", async () => {
    const began = performance.now();
    const tries = agent(async (turn) => {
      const down = turn.effect("down", () => Promise.reject(new OutcomeUnknown("?")), { idempotent: true });
      const error = await down.catch((thrown: unknown) => thrown);
      await turn.effect("slow", () => delay(30));
      return [(error as EffectError).code, turn.now().getTime() > 0];
    });
    const run = await testAgent(tries, { now: new Date(0) });
    assert.deepEqual(run.output, ["effect.exhausted", true]);
    assert.deepEqual(
      run.effects.map(({ name, attempts }) => [name, attempts]),
      [
        ["down", 10],
        ["slow", 1],
      ],
    );
    assert.ok(run.now.getTime() > 30_000, "back-off is simulated");
    assert.ok(performance.now() - began < 5000);
  });

  it("is up for an effect that takes too long in earnest", async () => {
    const hangs = agent(async (turn) =>
      turn.effect("hang", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)), {
        timeoutMs: 20,
      }),
    );
    const run = await testAgent(hangs);
    assert.deepEqual([run.state, run.uncertain], ["TASK_STATE_WORKING", "hang"]);
  });
});

describe("a script that does not fit the agent", () => {
  const asks = agent(async (turn) => [await turn.ask({ prompt: "Which day?", choices: ["mon"] })]);

  it("is told which answer, and what the agent asks", async () => {
    await rejects(
      testAgent(asks, { answers: [approve()] }),
      "answer.wrong",
      /answers\[0\].*approve\(true\).*'Which day\?'/,
    );
    await rejects(testAgent(asks, { answers: [answer("sun")] }), "answer.wrong", /answer\("sun"\).*one of \["mon"\]/);
    const approves = agent(async (turn) => turn.approve({ prompt: "Sure?" }));
    await rejects(testAgent(approves, { answers: [answer(true)] }), "answer.wrong", /asks to approve 'Sure\?'/);
  });

  it("is told which answer nobody asked for", async () => {
    const answers = [answer("mon"), answer("tue")];
    await rejects(testAgent(asks, { answers }), "answer.unused", /answers\[1\], answer\("tue"\).*TASK_STATE_COMPLETED/);
    const sleeps = agent((turn) => turn.sleep(5));
    await rejects(testAgent(sleeps, { answers: [approve()] }), "answer.unused", /answers\[0\]/);
  });

  it("is told what hangs, instead of hanging", async () => {
    const patienceMs = 60;
    const effect = agent((turn) => turn.effect("hang", () => new Promise(() => undefined)));
    await rejects(testAgent(effect, { patienceMs }), "run.stuck", /after 60 ms.*effect\("hang"\)/);
    const bare = agent(() => new Promise(() => undefined));
    await rejects(testAgent(bare, { patienceMs }), "run.stuck", /not turn's/);
  });

  it("must be of an agent", async () => {
    await assert.rejects(testAgent({ run: () => 1 } as never), /defineAgent/);
  });
});

describe("what a Runtime would only report", () => {
  it("fails the test: a call after something that is not turn's, whether the author looks or not", async () => {
    for (const awaited of [() => delay(1), () => new Promise((resolve) => setImmediate(resolve))]) {
      const wrong = agent(async (turn) => {
        await awaited();
        return turn.effect("late", () => 1);
      });
      await rejects(testAgent(wrong), "turn.unjournaled", /turn\.effect\("late"\).*Wrap what you awaited/);
      const caught = agent(async (turn) => {
        await awaited();
        void turn.effect("late", () => 1);
        return "fine";
      });
      await rejects(testAgent(caught), "turn.unjournaled", /turn\.effect\("late"\)/);
    }
    const keyed = agent(async (turn) => {
      await delay(1);
      return turn.effect("late", () => 1, { key: "the one" });
    });
    assert.equal((await testAgent(keyed)).output, 1);
  });

  it("fails the test: a wait that is raced against a timer", async () => {
    const soon = agent(async (turn) => Promise.race([turn.ask({ prompt: "?" }), delay(15, "nobody")]));
    await rejects(testAgent(soon), "turn.unjournaled", /While a wait is open.*returned/);
    const goesOn = agent(async (turn) => {
      await Promise.race([turn.ask({ prompt: "?" }), delay(15)]);
      await turn.effect("remind", () => 1);
    });
    await rejects(testAgent(goesOn), "turn.unjournaled", /called turn\.effect\("remind"\)/);
    const later = agent(async (turn) => Promise.race([turn.ask({ prompt: "?" }), delay(60_000, "nobody")]));
    await rejects(testAgent(later), "turn.unjournaled", /a timer of its own/);
    const ticks = agent(async (turn) => {
      const ticker = setInterval(() => turn.progress({ percent: 1 }), 60_000);
      await turn.sleep(day);
      clearInterval(ticker);
    });
    await rejects(testAgent(ticks), "turn.unjournaled", /a timer of its own/);
  });

  it("lets timers be that belong to effects, or that are over", async () => {
    const fine = agent(async (turn) => {
      const timer = setTimeout(() => undefined, 60_000);
      clearTimeout(timer);
      await turn.effect("wait", () => delay(5));
      AbortSignal.timeout(60_000);
      await turn.sleep(day);
      return "ok";
    });
    assert.equal((await testAgent(fine)).output, "ok");
  });

  it("fails the test: code that asks for something else when it is run again", async () => {
    let runs = 0;
    const stateful = agent(async (turn) => {
      await turn.effect(`step ${++runs}`, () => 1);
      await turn.sleep(day);
    });
    await rejects(
      testAgent(stateful),
      "journal.diverged",
      /effect\("step 1"\).*effect\("step 2"\).*no state of its own/,
    );
  });
});
