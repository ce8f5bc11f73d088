/** Calls of other agents: as entries of the caller's journal, each once, whatever happens (E1, E7-E9, E11, E16; I4, I6, I7, I10). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { CallError, refuse } from "@nylorun/agents";
import type { Agent, Turn } from "@nylorun/agents";

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
        case "expire":
          return turn.approve({ prompt: "Quick?", expiresInMs: 60_000 }).then(
            () => "answered",
            () => "Too late.",
          );
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
    assert.deepEqual(output(await node.ended(turn)), { came: "Too late." });
    const last = await node.load(turn);
    assert.equal(last.view.waits, undefined);
    await assert.rejects(
      node.answer(turn, { interactionId: view.status!.interaction!.interactionId, approved: true }),
      /has ended/,
    );
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
    for (let answered = 0, waited = 0; ;) {
      await alive();
      const now = await node.load(turn);
      if (now.state === "completed") break;
      assert.ok(now.state === "waiting" || now.state === "running", `${now.state} ${await node.told(turn)}`);
      if (now.view.status?.interaction !== undefined && answered === 0) {
        await node.answer(turn, { approved: true });
        answered++;
      }
      assert.ok(++waited < 5000, `${at} ${when}: ${JSON.stringify(now)} ${await node.told(turn)}`);
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
