/** Calls of other agents: as entries of the caller's journal, each once, whatever happens (E1, E7-E9, E11, E16; I4, I6, I7, I10). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { CallError, refuse } from "@nylorun/agents";
import type { Agent, Turn } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { Task } from "@nylorun/protocol";

import type { Answering, Callees, Line } from "../../src/turn/callee.ts";
import type { TurnRecord } from "../../src/turn/record.ts";
import { agent, codeOf, output, Stage } from "./stage.ts";
import type { Node } from "./stage.ts";

/** What the world saw of an agent that was called. */
class Refunds {
  readonly begun: string[] = [];
  readonly answers: unknown[] = [];
  readonly subjects: string[] = [];

  readonly agent: Agent = agent(
    async (turn) => {
      this.subjects.push(turn.subject);
      switch (turn.text) {
        case "approve": {
          await turn.effect("begin", () => this.begun.push(turn.taskId), { idempotent: true });
          const ok = await turn.approve({ prompt: "Refund 42 EUR?", detail: { amount: 42 } });
          await turn.effect("refund", () => this.answers.push(ok), { idempotent: true });
          return ok ? "Refunded." : "Kept.";
        }
        case "ask":
          return `You said ${await turn.ask({ prompt: "Which?", choices: ["S", "M"] })}.`;
        case "expire": {
          const late = () => turn.ask({ prompt: "Later, then?" });
          return turn.approve({ prompt: "Quick?", expiresInMs: 60_000 }).then(String, late);
        }
        case "fail":
          throw new Error("a secret");
        case "refuse":
          return refuse("Not that.");
        case "sleep":
          await turn.sleep(3_600_000);
          return "Slept.";
        default:
          return { said: turn.text };
      }
    },
    { id: "refunds", name: "Refunds" },
  );
}

function caller(run: (turn: Turn) => Promise<object | string>): Agent {
  return agent(run);
}

/** Tasks of the called agent, as the store has them. */
async function called(node: Node): Promise<readonly TurnRecord[]> {
  const page = await node.inner.listTurns({ subject: "ada >", agent: "refunds", limit: 50 });
  return page.turns;
}

async function shown(node: Node, turn: TurnRecord, prompt: string): Promise<TurnRecord> {
  return node.until(turn, ({ view }) => view.status?.interaction?.prompt === prompt, `asks ${prompt}`);
}

describe("an agent that is served here", () => {
  test("is called by its id, acts for the same subject, and its output is the answer", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => {
      const { output: came, taskId, contextId } = await turn.call("refunds", "Hello");
      assert.ok(taskId && contextId && contextId !== turn.contextId);
      return { came, subject: turn.subject };
    };
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    assert.deepEqual(output(await node.ended(turn)), { came: { said: "Hello" }, subject: "ada" });
    assert.deepEqual(refunds.subjects, ["ada"]);
  });

  test("and is not open to the real subject of the turn is not there, however deep the call; one that is, is called (I7)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const middle = agent(async (turn) => (await turn.call("refunds", turn.text)).output as object, { id: "middle" });
    const run = async (turn: Turn) => {
      const came = async (callee: string) => {
        const call = turn.call(callee, "Hello");
        return call.then(({ output: said }) => said, codeOf);
      };
      return { near: await came("refunds"), deep: await came("middle"), none: await came("nowhere") };
    };
    const closed = { ...refunds.agent, subjects: ["bob"] };
    await using node = await stage.start([caller(run), middle, closed]);
    const [adas, bobs] = [await node.send(), await node.send("Hello", { as: "bob" })];
    const { near, deep, none } = output(await node.ended(adas)) as Record<string, unknown>;
    assert.deepEqual([near, deep], [none, "callee.failed"]);
    const said = { said: "Hello" };
    assert.deepEqual(output(await node.ended(bobs)), { near: said, deep: said, none });
    assert.deepEqual(refunds.subjects, ["bob", "bob"]);
  });

  test("and is not open any more tells nothing of what it was called for, which is cancelled all the same (E16, I7)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: await turn.call("refunds", "ask").then(String, codeOf) });
    await using before = await stage.start([caller(run), refunds.agent]);
    const turn = await before.send();
    await shown(before, turn, "Which?");
    await before.letGo(turn);
    await before.kill();
    await using node = await stage.start([caller(run), { ...refunds.agent, subjects: ["bob"] }]);
    await node.engine.cancel(node.scope(), node.taskId(turn));
    const [task] = await called(node);
    await node.until(task!, ({ state }) => state === "canceled", "is cancelled");
  });

  // keeps: a2a-7.6.2-chain
  test("asks the caller's caller, whose answer is passed on; nothing else of it is shown (I6, I10)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "approve")).output });
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    const { view, state } = await shown(node, turn, "Refund 42 EUR?");
    assert.equal(state, "waiting");
    assert.deepEqual(view.status?.interaction?.detail, { amount: 42 });
    await node.letGo(turn);
    const [task] = await called(node);
    assert.notEqual(view.status?.interaction?.interactionId, task?.view.status?.interaction?.interactionId);
    await node.answer(turn, { approved: true });
    const ended = await node.ended(turn);
    assert.deepEqual(output(ended), { came: "Refunded." });
    assert.deepEqual(refunds.answers, [true]);
    assert.doesNotMatch(JSON.stringify(ended.view), /refunds|send|begin/);
  });

  test("is asked about as its question was: an answer that is none is sent back at once", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "ask")).output });
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    await shown(node, turn, "Which?");
    await assert.rejects(node.answer(turn, { value: "L" }), /must answer with one of/);
    await node.answer(turn, { value: "S" });
    assert.deepEqual(output(await node.ended(turn)), { came: "You said S." });
  });

  test("whose task moves on by itself has its question taken back", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "expire")).output });
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    const { view } = await shown(node, turn, "Quick?");
    await node.letGo(turn);
    stage.pass(61_000);
    await shown(node, turn, "Later, then?");
    const { interactionId } = view.status!.interaction!;
    await assert.rejects(node.answer(turn, { interactionId, approved: true }), /invalid/i);
    await node.answer(turn, { value: "Yes." });
    assert.deepEqual(output(await node.ended(turn)), { came: "Yes." });
  });

  test("is asked again and again when it asks again, each with its own interaction", async () => {
    await using stage = new Stage();
    const asks = agent(
      async (turn) => {
        const said: unknown[] = [];
        for (const prompt of ["One?", "Two?", "Two?"]) said.push(await turn.ask({ prompt }));
        return said;
      },
      { id: "asks" },
    );
    const run = async (turn: Turn) => ({ came: (await turn.call("asks", "Hello")).output });
    await using node = await stage.start([caller(run), asks]);
    const turn = await node.send();
    const ids = new Set<string>();
    for (const [index, prompt] of ["One?", "Two?", "Two?"].entries()) {
      const { view } = await node.until(turn, (now) => {
        const open = now.view.status?.interaction;
        return open?.prompt === prompt && !ids.has(open.interactionId);
      });
      ids.add(view.status!.interaction!.interactionId);
      await node.answer(turn, { value: String(index) });
    }
    assert.deepEqual(output(await node.ended(turn)), { came: ["0", "1", "2"] });
  });

  for (const [word, code] of [
    ["fail", "callee.failed"],
    ["refuse", "callee.rejected"],
  ] as const) {
    test(`whose task is no success is an error, ${code}, and its caller is told nothing of it (I10)`, async () => {
      await using stage = new Stage();
      const refunds = new Refunds();
      let error: unknown;
      const run = async (turn: Turn) => {
        await turn.call("refunds", word).catch((thrown: unknown) => {
          error = thrown;
          throw thrown;
        });
        return "not reached";
      };
      await using node = await stage.start([caller(run), refunds.agent]);
      const { state, view } = await node.ended(await node.send());
      assert.ok(error instanceof CallError);
      assert.equal(error.code, code);
      assert.equal(error.agent, "refunds");
      assert.equal(state, "failed");
      assert.equal(view.status?.parts[0]?.text, "The agent could not finish this.");
      assert.doesNotMatch(error.message, /secret/);
    });
  }

  test("that is not there, or called by itself without end, is an error", async () => {
    await using stage = new Stage();
    const round = agent(
      async (turn) => {
        const { output: deep } = await turn.call("round", String(Number(turn.text) + 1)).catch((error: unknown) => {
          assert.match(String(error), /8 agents have called each other/);
          return { output: turn.text };
        });
        return { deep };
      },
      { id: "round" },
    );
    const run = async (turn: Turn) => {
      const code = await turn.call("nobody", "Hello").catch(codeOf);
      return { code, round: (await turn.call("round", "1")).output };
    };
    await using node = await stage.start([caller(run), round]);
    const came = output(await node.ended(await node.send()));
    let deep: unknown = "8";
    for (let depth = 0; depth < 8; depth++) deep = { deep };
    assert.deepEqual(came, { code: "callee.refused", round: deep });
  });

  test("has its tasks listed nowhere, and nobody comes upon them (I7)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ id: (await turn.call("refunds", "Hello")).taskId });
    await using node = await stage.start([caller(run), refunds.agent]);
    const { id } = output(await node.ended(await node.send())) as { readonly id: string };
    const mine = await node.inner.listTurns({ subject: "ada", agent: "refunds", limit: 50 });
    assert.deepEqual([mine.turns, mine.total], [[], 0]);
    const scope = { subject: "ada", agent: "refunds" };
    await assert.rejects(node.engine.get(scope, id), /does not exist|not found/i);
    await assert.rejects(node.engine.cancel(scope, id), /does not exist|not found/i);
  });

  test("goes on in the conversation that it is told", async () => {
    await using stage = new Stage();
    const counts = agent(async ({ history }) => ({ earlier: history.length }), { id: "counts" });
    const run = async (turn: Turn) => {
      const { contextId, output: first } = await turn.call("counts", "Hello");
      const { output: second } = await turn.call("counts", "Hello", contextId === undefined ? {} : { contextId });
      const { output: other } = await turn.call("counts", "Hello");
      return [first, second, other];
    };
    await using node = await stage.start([caller(run), counts]);
    assert.deepEqual(output(await node.ended(await node.send())), [{ earlier: 0 }, { earlier: 1 }, { earlier: 0 }]);
  });

  test("may be called several times at once; their questions are shown one after another (E13)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => {
      const both = await Promise.all([turn.call("refunds", "approve"), turn.call("refunds", "ask")]);
      return both.map((one) => one.output);
    };
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    for (let n = 0; n < 2; n++) {
      const { view } = await node.interrupted(turn);
      const { kind } = view.status!.interaction!;
      await node.answer(turn, kind === "approval" ? { approved: true } : { value: "M" });
      await node.until(turn, (now) => now.view.status?.interaction?.kind !== kind);
    }
    assert.deepEqual(output(await node.ended(turn)), ["Refunded.", "You said M."]);
  });
});

describe("two nodes", () => {
  test("share what calls and what is called, and each is done once, though one of them dies (E18)", async () => {
    await using stage = new Stage({ limits: { leaseMs: 1000, maxRunningTurns: 2 } });
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "approve")).output });
    const agents = [caller(run), refunds.agent];
    const one = await stage.start(agents);
    const two = await stage.start(agents, { beside: true });
    const turns: TurnRecord[] = [];
    for (let n = 0; n < 12; n++) turns.push(await (n % 2 === 0 ? one : two).send());
    for (const turn of turns) await shown(two, turn, "Refund 42 EUR?");
    await Promise.all(turns.slice(0, 6).map((turn) => two.answer(turn, { approved: true })));
    await one.kill();
    stage.pass(2000);
    for (const turn of turns.slice(6)) await two.answer(turn, { approved: true });
    for (const turn of turns) {
      await two.until(turn, ({ state }) => {
        // Leases of the dead end, and looks are due, by this clock.
        stage.pass(20);
        return state === "completed";
      });
      assert.deepEqual(output(await two.load(turn)), { came: "Refunded." });
    }
    const tasks = await called(two);
    assert.deepEqual([tasks.length, new Set(refunds.begun).size], [12, 12]);
    for (const { view } of tasks) assert.equal(view.history?.filter(({ by }) => by === "user").length, 1);
    await two.stop();
  });
});

describe("a turn that ends before what it called for", () => {
  const over = async (node: Node, turn: TurnRecord) => {
    const [task] = await called(node);
    await node.until(task!, ({ state }) => state === "canceled", "canceled");
    await node.until(turn, ({ length, state }) => state !== "running" && length > 0);
    return node.told(turn);
  };

  test("as it was cancelled while it waited: cancels that, and keeps the evidence (E16)", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "approve")).output });
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    await shown(node, turn, "Refund 42 EUR?");
    const { length } = await node.letGo(turn);
    await node.engine.cancel(node.scope(), node.taskId(turn));
    await over(node, turn);
    await node.until(turn, ({ length: now }) => now > length, "told of it");
    assert.match(await node.told(turn), / recalled$/);
    assert.deepEqual(refunds.answers, []);
  });

  test("as it was cancelled while it ran: cancels that too", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const gate = Promise.withResolvers<undefined>();
    const run = async (turn: Turn) => {
      await Promise.all([turn.call("refunds", "sleep"), turn.effect("slow", () => gate.promise)]);
      return "not reached";
    };
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    await node.until(turn, ({ view }) => view.waits?.some(({ kind }) => kind === "task") === true);
    await node.engine.cancel(node.scope(), node.taskId(turn));
    await over(node, turn);
    gate.resolve(undefined);
    await node.letGo(turn);
  });

  test("as it lost a race: cancels that", async () => {
    await using stage = new Stage();
    const refunds = new Refunds();
    const run = async (turn: Turn) => {
      await Promise.race([turn.call("refunds", "sleep"), turn.sleep(5000)]);
      return "Enough.";
    };
    await using node = await stage.start([caller(run), refunds.agent]);
    const turn = await node.send();
    await node.until(turn, ({ view }) => view.waits?.length === 2);
    await node.letGo(turn);
    stage.pass(6000);
    assert.equal(output(await node.ended(turn)), "Enough.");
    await over(node, turn);
  });

  for (const how of ["signal", "timeoutMs"] as const) {
    test(`as its ${how} says so: cancels that first, as an entry, and goes on`, async () => {
      await using stage = new Stage();
      const refunds = new Refunds();
      const run = async (turn: Turn) => {
        const late = new AbortController();
        const limit = how === "signal" ? { signal: late.signal } : { timeoutMs: 5000 };
        const call = turn.call("refunds", "approve", limit).then(String, (error: unknown) => codeOf(error) ?? error);
        if (how === "signal") void turn.sleep(5000).then(() => late.abort("Too late."));
        return { came: await call, after: await turn.effect("after", () => "after") };
      };
      await using node = await stage.start([caller(run), refunds.agent]);
      const turn = await node.send();
      await shown(node, turn, "Refund 42 EUR?");
      await node.letGo(turn);
      stage.pass(6000);
      const came = how === "signal" ? "Too late." : "callee.timeout";
      assert.deepEqual(output(await node.ended(turn)), { came, after: "after" });
      const [task] = await called(node);
      assert.equal(task?.state, "canceled");
    });
  }
});

/** An agent elsewhere, which is what a test makes of it. */
class Elsewhere implements Callees {
  readonly sent: string[] = [];
  readonly answered: Answering[] = [];
  readonly cancelled: string[] = [];
  readonly auths: unknown[] = [];
  looks = 0;
  task: () => Task;
  beforeSent: () => Promise<void> = async () => undefined;
  afterSent: () => Promise<void> = async () => undefined;
  afterAnswered: () => Promise<void> = async () => undefined;

  constructor(task: () => Task) {
    this.task = task;
  }

  async reach({ auth }: { readonly auth?: unknown }): Promise<Line> {
    this.auths.push(typeof auth === "function" ? (auth as () => unknown)() : auth);
    return {
      repeats: true,
      send: async ({ messageId }) => {
        await this.beforeSent();
        this.sent.push(messageId);
        await this.afterSent();
        return { task: this.task() };
      },
      get: async () => {
        this.looks++;
        return this.task();
      },
      answer: async (_, answer) => {
        this.answered.push(answer);
        await this.afterAnswered();
      },
      cancel: async (id) => void this.cancelled.push(id),
    };
  }
}

const working: Task = { id: "t", status: { state: "TASK_STATE_WORKING" } };

function asking(id: string, detail?: object): Task {
  const interaction = { interactionId: id, kind: "approval", prompt: "Go on?", ...(detail && { detail }) };
  const message = { messageId: id, role: "ROLE_AGENT" as const, parts: [{ text: "Go on?" }] };
  const metadata = { [EXTENSIONS.interactions]: interaction };
  return { id: "t", status: { state: "TASK_STATE_AUTH_REQUIRED", message: { ...message, metadata } } };
}

describe("an agent elsewhere", () => {
  const address = "https://elsewhere.example/agent";
  const run = async (turn: Turn) =>
    turn.call(address, "Hello", { auth: () => "a key" }).then(
      ({ output: came }) => ({ came: came ?? null }),
      (error: unknown) => ({ code: codeOf(error) }),
    );

  test("is looked at the less often the longer it takes, by nobody in between; no key is written (E11, I12)", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => working);
    await using node = await stage.start(caller(run), { callees: elsewhere });
    const turn = await node.send();
    await node.until(turn, () => elsewhere.looks === 1);
    const began = stage.now();
    while (stage.now() < began + 3_600_000) {
      await node.letGo(turn);
      const { at } = await node.inner.nextDue();
      assert.ok(at !== undefined && at - stage.now() <= 60_000);
      const { looks } = elsewhere;
      stage.pass(at - stage.now());
      await node.until(turn, () => elsewhere.looks > looks, "looked at");
    }
    await node.letGo(turn);
    assert.ok(elsewhere.looks > 60 && elsewhere.looks < 90, `${elsewhere.looks} looks in an hour`);
    const { length, view } = await node.load(turn);
    assert.equal(length, 5, "looks are not recorded");
    assert.ok(elsewhere.auths.every((auth) => auth === "a key"));
    assert.doesNotMatch(JSON.stringify([view, await node.journal(turn)]), /a key/);
    elsewhere.task = () => ({ id: "t", status: { state: "TASK_STATE_COMPLETED" } });
    stage.pass(60_000);
    assert.deepEqual(output(await node.ended(turn)), { came: null });
    assert.deepEqual([elsewhere.sent.length, elsewhere.cancelled], [1, []]);
  });

  test("that wants a key is told to stop with it, when the turn is cancelled while it waits", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => working);
    await using node = await stage.start(caller(run), { callees: elsewhere });
    const turn = await node.send();
    await node.until(turn, () => elsewhere.looks === 1);
    const { length } = await node.letGo(turn);
    elsewhere.auths.length = 0;
    await node.other.cancel(node.scope(), node.taskId(turn));
    await node.until(turn, (now) => now.length > length, "told of it");
    assert.match(await node.told(turn), / recalled$/);
    assert.deepEqual([elsewhere.cancelled, elsewhere.auths, elsewhere.sent.length], [["t"], ["a key"], 1]);
  });

  for (const when of ["beforeSent", "afterSent"] as const) {
    test(`is told to stop when the turn is cancelled ${when === "beforeSent" ? "before" : "after"} it has the message`, async () => {
      await using stage = new Stage();
      const elsewhere = new Elsewhere(() => working);
      const gate = Promise.withResolvers<undefined>();
      const reached = Promise.withResolvers<undefined>();
      elsewhere[when] = async () => {
        reached.resolve(undefined);
        await gate.promise;
      };
      await using node = await stage.start(caller(run), { callees: elsewhere });
      const turn = await node.send();
      await reached.promise;
      await node.engine.cancel(node.scope(), node.taskId(turn));
      gate.resolve(undefined);
      await node.letGo(turn);
      await node.until(turn, () => elsewhere.cancelled.length > 0, "told to stop");
      assert.deepEqual(elsewhere.cancelled, ["t"]);
    });
  }

  test("is told to stop when what it answered could not be written before the turn was cancelled", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => working);
    const node: Node = await stage.start(caller(run), {
      callees: elsewhere,
      faults: {
        async before({ commit }) {
          const outcomes = commit?.entries?.filter(({ kind }) => kind === "outcome") ?? [];
          if (elsewhere.sent.length === 1 && outcomes.length > 0 && commit?.epoch !== undefined) {
            await node.other.cancel(node.scope(), node.taskId({ ...commit.key } as TurnRecord));
          }
        },
      },
    });
    const turn = await node.send();
    await node.until(turn, () => elsewhere.cancelled.length > 0, "told to stop");
    await node.letGo(turn);
    assert.deepEqual([elsewhere.cancelled, (await node.load(turn)).state], [["t"], "canceled"]);
    await node.stop();
  });

  test("is given an answer again under its id, when it is not known whether it has it (I6)", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => asking("i"));
    elsewhere.afterAnswered = () => new Promise(() => undefined);
    let node = await stage.start(caller(run), { callees: elsewhere });
    const turn = await node.send();
    await node.interrupted(turn);
    await node.answer(turn, { approved: true });
    await node.until(turn, () => elsewhere.answered.length === 1);
    await node.kill();
    elsewhere.afterAnswered = async () => undefined;
    node = await stage.start(caller(run), { callees: elsewhere });
    await node.until(turn, () => elsewhere.answered.length === 2);
    const [one, two] = elsewhere.answered;
    assert.deepEqual([one?.value, one?.asking.id], [true, "i"]);
    assert.deepEqual(two, one);
    await node.letGo(turn);
    assert.equal(
      (await node.load(turn)).view.status?.interaction,
      undefined,
      "who shows it a moment longer asks nothing",
    );
    await node.stop();
  });

  test("that asks something else each time it is looked at is not looked at without end", async () => {
    await using stage = new Stage();
    let asked = 0;
    const elsewhere = new Elsewhere(() => asking(`i${asked++}`));
    await using node = await stage.start(caller(run), { callees: elsewhere });
    const turn = await node.send();
    await node.interrupted(turn);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.ok((await node.load(turn)).length < 60, `${(await node.load(turn)).length} entries in a second`);
  });

  test("that shows more than a person could see is not asked about", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => asking("i", { long: "x".repeat(70_000) }));
    await using node = await stage.start(caller(run), { callees: elsewhere });
    assert.deepEqual(output(await node.ended(await node.send())), { code: "callee.unreadable" });
    assert.deepEqual(elsewhere.cancelled, ["t"]);
  });

  test("that says more than can be kept is an error", async () => {
    await using stage = new Stage();
    const parts = [{ text: "x".repeat(2 ** 20) }];
    const elsewhere = new Elsewhere(() => ({
      id: "t",
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ artifactId: "output", parts }],
    }));
    await using node = await stage.start(caller(run), { callees: elsewhere });
    assert.deepEqual(output(await node.ended(await node.send())), { code: "callee.unreadable" });
  });

  test("that has forgotten the task is an error", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => {
      if (elsewhere.looks > 0) throw Object.assign(new Error("No such task."), { code: "a2a.taskNotFound" });
      return working;
    });
    await using node = await stage.start(caller(run), { callees: elsewhere });
    assert.deepEqual(output(await node.ended(await node.send())), { code: "callee.lost" });
    assert.deepEqual(elsewhere.cancelled, []);
  });

  test("that may do it twice is not sent the message again: an operator says which task there is (I4, E8)", async () => {
    await using stage = new Stage();
    const elsewhere = new Elsewhere(() => working);
    const reach = elsewhere.reach.bind(elsewhere);
    elsewhere.reach = async (callee) => ({ ...(await reach(callee)), repeats: false });
    const gate = Promise.withResolvers<undefined>();
    elsewhere.afterSent = () => gate.promise.then(() => undefined);
    let node = await stage.start(caller(run), { callees: elsewhere });
    const turn = await node.send();
    await node.until(turn, () => elsewhere.sent.length === 1);
    await node.kill();
    node = await stage.start(caller(run), { callees: elsewhere });
    const { view } = await node.inState(turn, "uncertain");
    assert.equal(view.lost?.[0]?.name, `call ${address}: send`);
    await node.engine.resolve(view.lost[0].id, { outcome: "completed", value: { id: "t" } });
    elsewhere.task = () => ({
      id: "t",
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ artifactId: "output", parts: [{ text: "Done." }] }],
    });
    assert.deepEqual(output(await node.ended(turn)), { came: "Done." });
    assert.equal(elsewhere.sent.length, 1);
    await node.stop();
  });
});

describe("a process that dies", () => {
  for (const [store, step] of [
    ["memory", 1],
    ["sqlite", 9],
  ] as const) {
    test(`before or after a write makes no second task, and answers none twice, on ${store} (I4, I6)`, async () => {
      let died = true;
      for (let at = 1; died; at += step) {
        assert.ok(at < 60, "there is no end of writes");
        died = (await dieAt(store, at, "before")) && (await dieAt(store, at, "after"));
      }
    });
  }

  async function dieAt(store: "memory" | "sqlite", at: number, when: "before" | "after"): Promise<boolean> {
    await using stage = new Stage({ store });
    const refunds = new Refunds();
    const run = async (turn: Turn) => ({ came: (await turn.call("refunds", "approve")).output });
    const agents = [caller(run), refunds.agent];
    let node: Node;
    const die = ({ commit, commits }: { readonly commit: unknown; readonly commits: number }) => {
      if (commit !== undefined && commits === at) node.faulty.die();
    };
    node = await stage.start(agents, { faults: { [when]: die } });
    const turn = await node.send();
    let died = false;
    const alive = async () => {
      if (!node.faulty.dead) return;
      died = true;
      await node.kill();
      node = await stage.start(agents);
    };
    const deadline = performance.now() + 20_000;
    for (let answered = 0; ;) {
      await alive();
      const now = await node.load(turn);
      if (now.state === "completed") break;
      assert.ok(now.state === "waiting" || now.state === "running", `${now.state} ${await node.told(turn)}`);
      if (now.view.status?.interaction !== undefined && answered === 0) {
        await node.answer(turn, { approved: true });
        answered++;
      }
      assert.ok(performance.now() < deadline, `${at} ${when}: ${JSON.stringify(now)} ${await node.told(turn)}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.deepEqual(output(await node.load(turn)), { came: "Refunded." });
    const tasks = await called(node);
    assert.deepEqual([tasks.length, new Set(refunds.begun).size], [1, 1], `${at} ${when}`);
    assert.ok(refunds.answers.every((one) => one === true));
    assert.equal(tasks[0]?.view.history?.filter(({ by }) => by === "user").length, 1, "answered once");
    return died;
  }
});
