/**
 * A process is killed at every point at which something is written or done, while the example agents run in it: nothing that must not
 * be done twice is, nothing is lost silently, and what is asked can be answered, once (E7-E9, E13, E16; I1, I4, I6). The next process goes
 * on with it; where nodes share a database, the others do.
 *
 * Where the points are is found out by running once without dying.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { Task } from "@nylorun/protocol";

import { Calendars } from "../../examples/agents/meetings/calendars.ts";
import { Shop } from "../../examples/agents/refunds/shop.ts";
import { databaseUrl } from "../cluster/nodes.ts";
import { openIn, Stages } from "./faults/trial.ts";
import type { Trial } from "./faults/trial.ts";

const stages = new Stages();
after(() => stages[Symbol.asyncDispose]());

/** What a scenario comes to, when nobody dies. */
type Scenario = (trial: Trial) => Promise<void>;

/** Between two looks, in milliseconds: where nodes share a database, most of the time a lease is waited for. */
const pauseMs = databaseUrl === undefined ? 10 : 50;
const terminal = /COMPLETED|FAILED|CANCELED|REJECTED/;

/** Follows a task to its end. */
async function follow(trial: Trial, begun: Task, tend: (task: Task) => Promise<void>): Promise<Task> {
  const deadline = performance.now() + 30_000;
  /** By prompt: what is open stays what it is. */
  const asked = new Map<string, string>();
  for (;;) {
    const task = await trial.get(begun);
    if (terminal.test(task.status.state)) return task;
    if (performance.now() > deadline) {
      const kinds = (await trial.journal()).map(({ kind }) => kind);
      assert.fail(`after 30 s: ${JSON.stringify(task.status)} ${kinds.join(" ")}`);
    }
    const open = openIn(task);
    if (open !== undefined) {
      assert.equal(asked.get(open.prompt) ?? open.interactionId, open.interactionId, "what was asked is asked again");
      asked.set(open.prompt, open.interactionId);
    }
    await tend(task);
    await setTimeout(pauseMs);
  }
}

async function answerOnce(trial: Trial, task: Task, answer: object): Promise<void> {
  const first = await trial.answer(task, answer);
  assert.equal(first.error, undefined, JSON.stringify(first));
  const again = await trial.answer(task, answer);
  assert.equal(again.error, undefined, "the same answer again is the same success");
  const other = await trial.answer(task, answer, "another message");
  assert.ok(other.error, "what is answered is answered once");
}

const refund: Scenario = (trial) => refunded(trial, "refunds", "Refund order 1001");

/** By an agent that has another one do it. */
const complain: Scenario = (trial) => refunded(trial, "concierge", "Order 1001 came in pieces");

async function refunded(trial: Trial, agent: string, text: string): Promise<void> {
  using shop = disposable(new Shop(trial.world));
  const task = await follow(trial, await trial.send(agent, text), async (now) => {
    if (openIn(now) !== undefined) await answerOnce(trial, now, { approved: true });
    for (const lost of await trial.lost()) {
      assert.equal(lost.name, "refund", "what may be done again is not asked about");
      const [receipt] = shop.refunds("1001");
      await trial.resolve(lost, receipt ? { outcome: "completed", value: receipt } : { outcome: "retry" });
    }
  });
  assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  const receipts = shop.refunds("1001");
  assert.equal(receipts.length, 1, "it was paid back once");
  assert.match(String(task.artifacts?.[0]?.parts[0]?.text), new RegExp(`Receipt ${receipts[0]!.id}\\.$`));
}

const meet: Scenario = async (trial) => {
  using calendars = disposable(new Calendars(trial.world));
  const task = await follow(trial, await trial.send("meetings", "Meet Grace"), async (now) => {
    assert.deepEqual(await trial.lost(), [], "what may be done again is not asked about");
    const open = openIn(now);
    if (open?.kind === "connection") {
      calendars.connect("ada");
      await trial.answer(now, { approved: true });
    } else if (open !== undefined)
      await answerOnce(trial, now, { value: (open.detail as { choices: string[] }).choices[1] });
  });
  assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  const booked = calendars.meetings("ada");
  assert.equal(booked.length, 1, "one meeting is booked");
  assert.equal(task.artifacts?.[0]?.parts[0]?.text, `You meet Grace at ${booked[0]!.slot}.`);
};

/** How long the bank takes where it is to be caught at work, in milliseconds: also on a busy machine. */
const workingMs = 1000;

/** Cancels as soon as the task is as it says. */
function cancelled(when: (task: Task, shop: Shop) => boolean): Scenario {
  return async (trial) => {
    using shop = disposable(new Shop(trial.world));
    const begun = await trial.send("refunds", "Refund order 1002");
    let asked = false;
    const task = await follow(trial, begun, async (now) => {
      if (when(now, shop) && !asked) {
        asked = true;
        await trial.call("CancelTask", { id: now.id });
      } else if (openIn(now) !== undefined) await answerOnce(trial, now, { approved: true });
    });
    assert.equal(task.status.state, "TASK_STATE_CANCELED");
    // What the bank did may be heard of a little later.
    await setTimeout(workingMs + 500);
    await trial.get(task);
    const paid = shop.refunds("1002").length;
    assert.ok(paid <= 1, "it was paid back twice");
    const journal = await trial.journal();
    const paying = journal.find(({ kind, body }) => kind === "effect" && body.name === "refund");
    const known = journal.some(({ kind, body }) => kind === "outcome" && body.of === paying?.seq);
    const listed = (await trial.lost()).some(({ taskId, name }) => taskId === task.id && name === "refund");
    assert.equal(
      listed,
      paying !== undefined && !known,
      "the operator is told of what is not known, and of nothing else",
    );
    if (paid === 1) assert.ok(known || listed, "it was paid back, and nobody knows");
    const [lost] = await trial.lost();
    if (lost !== undefined) {
      await trial.resolve(lost, { outcome: "completed", value: null });
      assert.deepEqual(await trial.lost(), []);
    }
  };
}

function disposable<Closable extends { close(): void }>(value: Closable): Closable & Disposable {
  return Object.assign(value, { [Symbol.dispose]: () => value.close() });
}

const isOpen = (task: Task) => openIn(task) !== undefined;
interface Planned {
  readonly run: Scenario;
  readonly bankMs?: number;
  /** Of the points, these. */
  readonly only?: RegExp;
  /** Only points between which something has changed: right before a write is right after the one before it. Default: where nodes share a database. */
  readonly sparse?: boolean;
}

const scenarios: Readonly<Record<string, Planned>> = {
  "a refund": { run: refund },
  "a meeting": { run: meet, sparse: true },
  "a refund that another agent has called for": { run: complain, sparse: true, only: /accept|task|answer|outcome/ },
  "a refund that is cancelled while it waits": { run: cancelled(isOpen), only: /cancel/ },
  "a refund that is cancelled while the bank is at work": {
    run: cancelled((_, shop) => shop.refunds("1002").length > 0),
    bankMs: workingMs,
    only: /cancel|late|after paying/,
  },
};

/** Runs a scenario without dying, and tells which points it passed. */
async function pointsOf({
  run,
  bankMs,
  only = /./,
  sparse = databaseUrl !== undefined,
}: Planned): Promise<readonly string[]> {
  const points = await stages.trial({ bankMs }, async (trial) => {
    await run(trial);
    assert.equal(trial.deaths, 0);
    return trial.passed();
  });
  const isNew = (point: string, index: number) =>
    !point.startsWith("before") || !points[index - 1]?.startsWith("after");
  return points.filter((point, index) => only.test(point) && (!sparse || isNew(point, index)));
}

for (const [what, planned] of Object.entries(scenarios)) {
  const points = await pointsOf(planned).catch(async (error: unknown) => {
    // Of a file that does not load, no hook is run.
    await stages[Symbol.asyncDispose]();
    throw error;
  });
  /** What is written depends a little on who is faster: a point that was passed once need not be again. */
  let missed = 0;
  describe(what, { concurrency: 3, timeout: 240_000 }, () => {
    for (const point of points) {
      test(`comes to its end though a process dies ${point}`, async (t) => {
        const deaths = await stages.trial({ deadly: point, bankMs: planned.bankMs }, async (trial) => {
          await planned.run(trial);
          await trial.death();
          return trial.deaths;
        });
        if (deaths > 0) return;
        missed++;
        t.diagnostic("this point was not passed");
        assert.ok(missed <= points.length / 10, "more points were missed than chance explains");
      });
    }
  });
}

describe("a process that is killed from outside", { timeout: 120_000 }, () => {
  test("while a turn is parked leaves what it asked, to be answered once (A17, A18)", async () => {
    await stages.trial({}, async (trial) => {
      using shop = disposable(new Shop(trial.world));
      const begun = await trial.send("refunds", "Refund order 1003");
      let task = begun;
      while (!isOpen(task)) task = await trial.get(begun);
      const { interactionId } = openIn(task)!;
      await setTimeout(100);
      await trial.kill();
      task = await trial.get(begun);
      assert.equal(openIn(task)?.interactionId, interactionId);
      await answerOnce(trial, task, { approved: true });
      await trial.kill();
      const ended = await follow(trial, begun, async (now) => {
        assert.ok(!isOpen(now), "it is asked again");
        for (const lost of await trial.lost()) {
          const [receipt] = shop.refunds("1003");
          await trial.resolve(lost, receipt ? { outcome: "completed", value: receipt } : { outcome: "retry" });
        }
      });
      assert.equal(ended.status.state, "TASK_STATE_COMPLETED");
      assert.equal(shop.refunds("1003").length, 1);
      assert.equal(trial.deaths, 2 * trial.nodes);
    });
  });
});
