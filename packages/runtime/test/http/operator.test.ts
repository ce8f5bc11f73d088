import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { OutcomeUnknown } from "@nylorun/agents";

import type { LostEffect } from "../../src/http/operations.ts";
import { BASE, makeAgent, serve } from "./served.ts";

const EFFECTS = "/v1/operator/effects";

/** How often `pay` was tried. */
let attempts = 0;

/** Pays, without learning whether it was done. */
const payer = makeAgent("payer", async (turn) => {
  try {
    const receipt = await turn.effect("pay", () => {
      attempts++;
      if (turn.text !== "twice" || attempts < 2) throw new OutcomeUnknown("No answer.");
      return { id: "second" };
    });
    return `Paid: ${JSON.stringify(receipt)}`;
  } catch (error) {
    return `Not paid: ${(error as Error).message}`;
  }
});

/** Asks; or calls another agent. Each says what it used. */
const asker = makeAgent("asker", async (turn) => {
  turn.usage({ costUsd: 0.5 });
  if (turn.text === "call") await turn.call("spender", "Spend");
  else await turn.ask({ prompt: "Which?" });
  return "Asked.";
});
const spender = makeAgent("spender", (turn) => {
  turn.usage({ costUsd: 2, tokens: 7 });
  return "Spent.";
});

describe("the operator's routes", async () => {
  const served = await serve({ agents: [payer, asker, spender], settings: { bodyBytes: 2 * 1024 * 1024 } });
  after(() => served[Symbol.asyncDispose]());

  interface Asking {
    readonly as?: string | undefined;
    readonly body?: BodyInit;
    readonly type?: string;
  }
  const ask = (method: string, path: string, { as = "operator", body, type = "application/json" }: Asking = {}) =>
    served.app.fetch(
      new Request(`${BASE}${path}`, {
        method,
        headers: {
          ...(as !== "" && { authorization: `Bearer ${as}` }),
          ...(body !== undefined && { "content-type": type }),
        },
        ...(body !== undefined && { body }),
      }),
    );
  const refusal = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    return [response.status, error.code];
  };
  const lost = async () => ((await (await ask("GET", EFFECTS)).json()) as { effects: LostEffect[] }).effects;
  const resolve = (id: string, body: object) => ask("POST", `${EFFECTS}/${id}/resolve`, { body: JSON.stringify(body) });

  /** Sends, and returns the task's id and the effect that is lost then. */
  async function lose(text = "once") {
    attempts = 0;
    const configuration = { returnImmediately: true };
    const { id } = await served.send({ parts: [{ text }] }, { agent: "payer", configuration });
    for (let tries = 0; tries < 2000; tries++) {
      const effect = (await lost()).find(({ taskId }) => taskId === id);
      if (effect !== undefined) return { id, effect };
      await new Promise((done) => setTimeout(done, 5));
    }
    throw new Error("The effect was not lost.");
  }
  const outcome = async (id: string) => {
    for (let tries = 0; tries < 2000; tries++) {
      const task = await served.result<{ status: { state: string }; artifacts?: { parts: { text: string }[] }[] }>(
        "GetTask",
        { id },
        { agent: "payer" },
      );
      if (task.status.state !== "TASK_STATE_WORKING") return task.artifacts?.[0]?.parts[0]?.text ?? task.status.state;
      await new Promise((done) => setTimeout(done, 5));
    }
    throw new Error("The task did not end.");
  };

  it("list the contexts in which messages wait, and what for, by the task that its caller knows", async () => {
    const queues = async (query = "") => (await ask("GET", `/v1/operator/queues${query}`)).json();
    assert.deepEqual(await queues(), { queues: [] });
    const to = { agent: "asker", configuration: { returnImmediately: true } };
    const first = await served.send({ contextId: "talk" }, { agent: "asker" });
    const second = await served.send({ contextId: "talk" }, to);
    await served.send({ contextId: "talk" }, to);
    const other = await served.send({ contextId: "talk" }, { agent: "asker", as: "bob" });
    await served.send({ contextId: "talk" }, { ...to, as: "bob" });
    const at = ({ status }: typeof first) => Date.parse(status.timestamp!);
    const waiting = (subject: string, count: number, since: number, { id, status }: typeof first) => ({
      ...{ subject, agent: "asker", contextId: "talk", waiting: count, since },
      active: { taskId: id, state: "waiting", taskState: status.state, since: Date.parse(status.timestamp!) },
    });
    const { queues: found } = (await queues()) as { queues: { since: number }[] };
    assert.deepEqual(found[0], waiting("ada", 2, at(second), first));
    assert.deepEqual(found[1], waiting("bob", 1, found[1]!.since, other));
    assert.equal(first.status.state, "TASK_STATE_INPUT_REQUIRED");
    assert.deepEqual(await queues("?limit=1"), { queues: [found[0]] });
    for (const limit of ["0", "1001", "-1", "x", ""]) {
      const refused = await refusal(await ask("GET", `/v1/operator/queues?limit=${limit}`));
      assert.deepEqual(refused, [400, "request.invalid"], limit);
    }
    for (const [as, status] of [
      ["ada", 403],
      ["", 401],
    ] as const)
      assert.equal((await ask("GET", "/v1/operator/queues", { as })).status, status);
  });

  it("tell what was used in a subject's name, with what its agents have called for; the subject is told of its own tasks (I10)", async () => {
    await served.send({ parts: [{ text: "call" }] }, { agent: "asker", as: "carol" });
    const usage = async (path: string, as = "operator") => {
      const { usage: rows } = (await (await ask("GET", path, { as })).json()) as { usage: { day?: string }[] };
      return rows.map(({ day: _day, ...row }) => row);
    };
    const own = { agent: "asker", turns: 1, costUsd: 0.5 };
    const called = { agent: "spender", turns: 1, tokens: 7, costUsd: 2 };
    assert.deepEqual(await usage("/v1/usage", "carol"), [own]);
    assert.deepEqual(await usage("/v1/operator/usage?subject=carol&days=1"), [own, called]);
    assert.deepEqual(await usage("/v1/operator/usage?subject=nobody"), []);
    assert.deepEqual(await usage("/v1/operator/usage"), await usage("/v1/usage"), "of all together");
    for (const [query, code] of [
      ["days=0", "request.invalid"],
      ["days=401", "request.invalid"],
      ["subject=a%20b", "subject.invalid"],
      ["subject=", "subject.invalid"],
    ] as const)
      assert.deepEqual(await refusal(await ask("GET", `/v1/operator/usage?${query}`)), [400, code], query);
  });

  it("are an operator's alone: 401 for nobody, 403 for a subject, before anything else is looked at", async () => {
    for (const [method, path] of [
      ["GET", EFFECTS],
      ["POST", `${EFFECTS}/x/resolve`],
      ["GET", "/v1/operator/turns/held"],
      ["POST", "/v1/operator/turns/x/release"],
      ["POST", "/v1/operator/turns/x/fail"],
    ] as const) {
      const odd = method === "POST" ? { body: "{", type: "text/plain" } : {};
      const nobody = await ask(method, path, { as: "", ...odd });
      assert.equal(nobody.headers.get("www-authenticate"), "Bearer");
      assert.deepEqual(await refusal(nobody), [401, "request.unauthenticated"], path);
      assert.deepEqual(
        await refusal(await ask(method, path, { as: "ada", ...odd })),
        [403, "request.noOperator"],
        path,
      );
    }
  });

  it("say in this order what is wrong with a body: its type, its size, JSON, its fields", async () => {
    const path = `${EFFECTS}/x/resolve`;
    const large = `{${" ".repeat(2 * 1024 * 1024)}`;
    const tell = async (asking: Asking) => refusal(await ask("POST", path, asking));
    assert.deepEqual(await tell({ body: large, type: "text/plain" }), [415, "request.notJson"]);
    assert.deepEqual(await tell({ body: large }), [413, "request.tooLarge"]);
    assert.deepEqual(await tell({ body: "{" }), [400, "request.notJson"]);
    for (const body of [
      null,
      [],
      "completed",
      {},
      { outcome: "done" },
      { outcome: "failed" },
      { outcome: "failed", message: " " },
      { outcome: "failed", message: "x".repeat(4001) },
      { outcome: "failed", message: 7 },
    ]) {
      assert.deepEqual(await tell({ body: JSON.stringify(body) }), [400, "request.invalid"], JSON.stringify(body));
    }
    assert.deepEqual(await tell({ body: '{"outcome":"retry"}' }), [404, "effect.notLost"]);
  });

  it("have no keys to give, as who could make others' keys would be everybody; they list and revoke them", async () => {
    const { keys } = served.core.store;
    const { id } = await keys.add({ hash: "of-a-key", holder: { role: "subject", subject: "eve" } });
    assert.equal((await ask("POST", "/v1/operator/keys", { body: '{"role":"operator"}' })).status, 405);
    const listed = (await (await ask("GET", "/v1/operator/keys")).json()) as { keys: { id: string; holder: object }[] };
    assert.deepEqual(
      listed.keys.map((key) => [key.id, key.holder]),
      [[id, { role: "subject", subject: "eve" }]],
    );
    assert.ok(!JSON.stringify(listed).includes("of-a-key"));
    assert.equal((await ask("DELETE", `/v1/operator/keys/${id}`)).status, 204);
    assert.equal((await ask("DELETE", `/v1/operator/keys/${id}`)).status, 404);
    assert.equal(await keys.find("of-a-key"), undefined);
    assert.equal((await ask("GET", "/v1/operator/process")).status, 404);
    assert.equal((await ask("DELETE", EFFECTS)).status, 405);
  });

  // keeps: effects-shown-opaque
  it("list a lost effect with what it is, why it is lost, since when, and where", async () => {
    const before = Date.now();
    const { id, effect } = await lose();
    const { effectId, lostAt, contextId, ...rest } = effect;
    assert.deepEqual(rest, {
      name: "pay",
      why: "unknown",
      taskId: id,
      agent: "payer",
      agentVersion: "1.0.0",
      subject: "ada",
      state: "uncertain",
    });
    assert.match(effectId, /^[\w-]{22}$/);
    assert.ok(lostAt >= before && lostAt <= Date.now(), String(lostAt));
    assert.ok(contextId.length > 0);
    await resolve(effectId, { outcome: "completed" });
    assert.equal(await outcome(id), "Paid: undefined", "without a value it gave nothing");
  });

  for (const [how, body, becomes] of [
    [
      "completed, with what it gave",
      { outcome: "completed", value: { id: 7, null: null } },
      'Paid: {"id":7,"null":null}',
    ],
    [
      "failed, with the error that the agent is handed",
      { outcome: "failed", message: "Card refused" },
      "Not paid: Card refused",
    ],
  ] as const) {
    it(`resolve one as ${how}; once`, async () => {
      const { id, effect } = await lose();
      const answer = await resolve(effect.effectId, body);
      assert.deepEqual([answer.status, await answer.text()], [204, ""]);
      assert.equal(await outcome(id), becomes);
      assert.equal(attempts, 1);
      assert.ok(!(await lost()).some(({ effectId }) => effectId === effect.effectId));
      assert.deepEqual(await refusal(await resolve(effect.effectId, body)), [404, "effect.notLost"]);
    });
  }

  it("have one tried again, which may lose it again", async () => {
    const { id, effect } = await lose("twice");
    assert.equal((await resolve(effect.effectId, { outcome: "retry" })).status, 204);
    assert.equal(await outcome(id), 'Paid: {"id":"second"}');
    assert.equal(attempts, 2);
  });

  it("refuse a value that an effect could not have returned, and leave it lost", async () => {
    const { id, effect } = await lose();
    const value = "x".repeat(1024 * 1024 + 1);
    assert.deepEqual(await refusal(await resolve(effect.effectId, { outcome: "completed", value })), [
      400,
      "effect.tooLarge",
    ]);
    assert.ok((await lost()).some(({ effectId }) => effectId === effect.effectId));
    await resolve(effect.effectId, { outcome: "failed", message: "No." });
    await outcome(id);
  });

  // keeps: effects-settled-cancel
  it("list one of a cancelled turn too, for the record: it can be settled, and not tried again (E16)", async () => {
    const { id, effect } = await lose();
    await served.result("CancelTask", { id }, { agent: "payer" });
    assert.equal((await lost()).find(({ taskId }) => taskId === id)?.state, "canceled");
    assert.deepEqual(await refusal(await resolve(effect.effectId, { outcome: "retry" })), [409, "effect.ended"]);
    assert.equal((await resolve(effect.effectId, { outcome: "completed", value: 1 })).status, 204);
    assert.equal(await outcome(id), "TASK_STATE_CANCELED");
    assert.ok(!(await lost()).some(({ taskId }) => taskId === id));
  });
});
