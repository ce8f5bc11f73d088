/** The profile's extensions, over HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { OutcomeUnknown } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, ProgressData, Task, TelemetryData } from "@nylorun/protocol";

import { actor, makeAgent } from "./agents.ts";
import { AT_ONCE, messageOf, serve } from "./wire.ts";
import type { Post, Served, Wire } from "./wire.ts";

const ALL = { headers: { "a2a-extensions": Object.values(EXTENSIONS).join(",") } };
const { interactions, effects, progress, telemetry } = EXTENSIONS;
const FORM = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
/** How often each effect was done, by its name. */
const done = new Map<string, number>();

const agents = [
  actor,
  makeAgent(
    "chooser",
    async (turn) =>
      turn.text === "form"
        ? turn.ask({ prompt: "How many?", schema: FORM })
        : turn.ask({ prompt: "Which?", choices: ["S", "M", "L"] }),
    { inputModes: ["text/plain", "application/json"] },
  ),
  makeAgent("payer", async (turn) => {
    const pay = (name: string): Promise<string> =>
      turn.effect(name, () => {
        done.set(name, (done.get(name) ?? 0) + 1);
        if (turn.text.includes(name)) throw new OutcomeUnknown("The line broke.");
        return name;
      });
    const approved = turn.text.includes("ask") ? turn.approve({ prompt: "Pay?" }) : true;
    await Promise.all([pay("first"), pay("second"), approved]);
    return "Paid.";
  }),
  makeAgent("planner", async (turn) => {
    const plan = turn.plan(["one", "two", "three"]);
    plan.start("one");
    plan.start("two", { note: "halfway" });
    if (turn.text === "use nothing") return "";
    if (turn.text === "wait") await turn.ask({ prompt: "Go on?" });
    await turn.effect("count", () => 1);
    turn.usage({ tokens: 10, costUsd: 0.5 });
    turn.usage(turn.text === "zero" ? {} : { tokens: 5 });
    if (turn.text === "throw") throw new Error("Broken.");
    return "Planned.";
  }),
];

describe("extensions", () => {
  let served: Served;
  let ada: Wire;

  before(async () => {
    served = await serve({ agents, a2aWaitMs: 5_000 });
    ada = await served.as("ada");
  });
  after(() => served[Symbol.asyncDispose]());

  const send = async (agent: string, text: string, post: Post = ALL, configuration = {}): Promise<Task> => {
    const params = { message: messageOf(text), configuration };
    return (await ada.result<{ task: Task }>(agent, "SendMessage", params, post)).task;
  };
  const get = (agent: string, { id }: Task): Promise<Task> => ada.result(agent, "GetTask", { id }, ALL);
  const asked = ({ status }: Task): OpenInteraction => status.message!.metadata![interactions] as OpenInteraction;
  const reply = (task: Task, data: object, words = "See the data.") => ({
    message: messageOf(words, { taskId: task.id, extensions: [interactions], metadata: { [interactions]: data } }),
  });
  const until = async (agent: string, task: Task, is: (task: Task) => boolean): Promise<Task> => {
    const deadline = performance.now() + 20_000;
    for (;;) {
      const now = await get(agent, task);
      if (is(now)) return now;
      assert.ok(performance.now() < deadline, JSON.stringify(now));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };

  describe("interactions/v1", () => {
    // keeps: interactions-asks-data, interactions-asks-text
    it("is on the status message, which lists it and says the prompt as text", async () => {
      for (const [text, kind, prompt] of [
        ["approve", "approval", "Do it?"],
        ["connect", "connection", "Connect it."],
        ["ask", "question", "What is it?"],
      ] as const) {
        const task = await send("actor", text);
        const { message } = task.status;
        assert.deepEqual(message?.extensions, [interactions]);
        assert.deepEqual(message.parts, [{ text: prompt }]);
        const { interactionId, ...rest } = asked(task);
        assert.ok(interactionId.length > 0);
        assert.equal(rest.kind, kind);
        assert.equal(rest.prompt, prompt);
        if (text === "approve") assert.deepEqual(rest.detail, { what: "it" });
      }
    });

    // keeps: interactions-approval-denied
    it("denies by approved: false, and the agent goes on from there", async () => {
      const task = await send("actor", "approve");
      const { task: then } = await ada.result<{ task: Task }>(
        "actor",
        "SendMessage",
        reply(task, { interactionId: asked(task).interactionId, approved: false }),
        ALL,
      );
      assert.equal(then.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(then.artifacts?.[0]?.parts, [{ text: "Not done." }]);
    });

    // keeps: interactions-approval-inactive
    it("takes its data for a plain reply when the request does not activate it", async () => {
      const task = await send("actor", "approve");
      const params = reply(task, { interactionId: asked(task).interactionId, approved: true });
      const { task: then } = await ada.result<{ task: Task }>("actor", "SendMessage", params);
      assert.equal(then.status.state, "TASK_STATE_AUTH_REQUIRED");
      assert.equal(asked(await get("actor", task)).interactionId, asked(task).interactionId);
    });

    // keeps: interactions-answer-late
    it("refuses another answer to what is answered", async () => {
      const task = await send("actor", "approve");
      const right = () => reply(task, { interactionId: asked(task).interactionId, approved: true });
      assert.equal(await ada.code("actor", "SendMessage", right(), ALL), undefined);
      assert.equal(await ada.code("actor", "SendMessage", right(), ALL), -32004);
    });

    // keeps: interactions-question-value
    it("takes any JSON for the value of a question", async () => {
      const task = await send("chooser", "form");
      const params = reply(task, { interactionId: asked(task).interactionId, value: { n: 3, more: [null] } });
      const { task: then } = await ada.result<{ task: Task }>("chooser", "SendMessage", params, ALL);
      assert.deepEqual(then.artifacts?.[0]?.parts[0]?.data, { n: 3, more: [null] });
    });

    // keeps: interactions-question-plain
    it("takes a plain reply to a question: its data, else its text, read as JSON where no text is asked for", async () => {
      for (const part of [{ data: { n: 3 } }, { text: '{"n": 3}' }]) {
        const { id } = await send("chooser", "form");
        const { artifacts } = await ada.send("chooser", "", { message: { taskId: id, parts: [part] } });
        assert.deepEqual(artifacts?.[0]?.parts[0]?.data, { n: 3 }, JSON.stringify(part));
      }
      const { id } = await send("chooser", "choose");
      const { artifacts } = await ada.send("chooser", "M", { message: { taskId: id } });
      assert.deepEqual(artifacts?.[0]?.parts, [{ text: "M" }]);
    });

    // keeps: interactions-question-fits
    it("refuses what does not fit the choices or the schema, and leaves the question open", async () => {
      for (const [text, values] of [
        ["choose", ["XL", 1, null, ["S"]]],
        ["form", [{}, { n: 1.5 }, "3", [3]]],
      ] as const) {
        const task = await send("chooser", text);
        const { interactionId } = asked(task);
        for (const value of values) {
          const code = await ada.code("chooser", "SendMessage", reply(task, { interactionId, value }), ALL);
          assert.equal(code, -32602, JSON.stringify(value));
        }
        assert.equal(
          await ada.code("chooser", "SendMessage", { message: messageOf("neither", { taskId: task.id }) }),
          -32602,
        );
        assert.equal(asked(await get("chooser", task)).interactionId, interactionId);
      }
    });
  });

  describe("effects/v1", () => {
    const operator = async (path: string, body?: object): Promise<{ readonly [field: string]: any }> => {
      const key = await served.runtime.addKey({ role: "operator" });
      const response = await fetch(`${served.runtime.url}/v1/operator/${path}`, {
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
      });
      assert.ok(response.ok, await response.clone().text());
      return response.status === 204 ? {} : ((await response.json()) as { readonly [field: string]: any });
    };
    const uncertain = ({ metadata }: Task): string | undefined =>
      (metadata?.[effects] as { uncertain: string } | undefined)?.uncertain;

    // keeps: effects-shown-uncertain, effects-shown-opaque, effects-shown-oldest, effects-settled-operator, effects-settled-once
    // keeps: interactions-asks-hidden, profile-rules-lost-outcome
    it("names lost effects one after another, does none again, hides what is asked, and goes on with an operator's word", async () => {
      const sent = await send("payer", "lose first and second, and ask", ALL, AT_ONCE);
      const task = await until("payer", sent, (now) => uncertain(now) !== undefined);
      const first = uncertain(task)!;
      assert.equal(task.status.state, "TASK_STATE_WORKING");
      assert.equal(task.status.message?.metadata?.[interactions], undefined, "what it asks is hidden");
      assert.deepEqual(Object.keys(task.metadata![effects] as object), ["uncertain"]);
      const text = JSON.stringify(task);
      for (const inside of ["The line broke", '"first"', "second."]) assert.ok(!text.includes(inside), inside);
      const listed = async (): Promise<{ effectId: string }[]> =>
        (await operator("effects"))["effects"].filter((lost: { taskId: string }) => lost.taskId === task.id);
      await until("payer", task, () => done.get("second") === 1);
      while ((await listed()).length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      const [one, two] = await listed();
      assert.equal(one!.effectId, first, "the oldest is named");
      await operator(`effects/${one!.effectId}/resolve`, { outcome: "completed", value: "first" });
      assert.equal(uncertain(await until("payer", task, (now) => uncertain(now) !== first)), two!.effectId);
      await operator(`effects/${two!.effectId}/resolve`, { outcome: "completed", value: "second" });
      const waiting = await until("payer", task, ({ status }) => status.state === "TASK_STATE_AUTH_REQUIRED");
      assert.equal(uncertain(waiting), undefined);
      const approve = reply(waiting, { interactionId: asked(waiting).interactionId, approved: true });
      const { task: paid } = await ada.result<{ task: Task }>("payer", "SendMessage", approve, ALL);
      assert.deepEqual(paid.artifacts?.[0]?.parts, [{ text: "Paid." }]);
      assert.deepEqual([done.get("first"), done.get("second")], [1, 1]);
    });
  });

  describe("progress/v1", () => {
    // keeps: plan-shown-whole
    it("is the whole plan, on each answer, lists too", async () => {
      const task = await send("planner", "wait");
      const steps = [
        { label: "one", state: "done" },
        { label: "two", state: "active", note: "halfway" },
        { label: "three", state: "pending" },
      ];
      assert.deepEqual(task.metadata?.[progress], { steps });
      const { tasks } = await ada.result<{ tasks: Task[] }>("planner", "ListTasks", {}, ALL);
      assert.deepEqual(tasks.find(({ id }) => id === task.id)?.metadata?.[progress], { steps });
    });

    // keeps: plan-shown-limits
    it("refuses more than fits where the author wrote it", async () => {
      const tries: readonly (readonly string[])[] = [
        [],
        Array.from({ length: 21 }, (_, index) => `step ${index}`),
        [""],
        ["a".repeat(121)],
      ];
      const refused: string[] = [];
      const author = makeAgent("author", (turn) => {
        for (const labels of tries) {
          try {
            turn.plan(labels);
          } catch (error) {
            refused.push((error as { code: string }).code);
          }
        }
        turn
          .plan(Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(120, "x")))
          .start(0, { note: "n".repeat(280) });
        return "";
      });
      await using other = await serve({ agents: [author] });
      const caller = await other.as("ada");
      const { task } = await caller.result<{ task: Task }>("author", "SendMessage", { message: messageOf("") }, ALL);
      assert.equal(refused.length, tries.length, "each throws");
      const { steps } = task.metadata![progress] as ProgressData;
      assert.equal(steps.length, 20);
      assert.equal(steps[0]?.note?.length, 280);
    });
  });

  describe("telemetry/v1", () => {
    const totals = ({ metadata }: Task): TelemetryData | undefined =>
      metadata?.[telemetry] as TelemetryData | undefined;

    // keeps: telemetry-totals-end, telemetry-totals-steps, telemetry-totals-sums
    it("sums up what was done and reported, once the task has ended, however it did", async () => {
      assert.equal(totals(await send("planner", "wait")), undefined, "not before");
      for (const [text, expected] of [
        ["work", { steps: 1, tokens: 15, costUsd: 0.5 }],
        ["throw", { steps: 1, tokens: 15, costUsd: 0.5 }],
        ["zero", { steps: 1, tokens: 10, costUsd: 0.5 }],
        ["use nothing", { steps: 0 }],
      ] as const) {
        const { traceId, ...sums } = totals(await send("planner", text))!;
        assert.deepEqual(sums, expected, text);
        assert.match(traceId, /^[0-9a-f]{32}$/);
      }
    });

    // keeps: telemetry-totals-trace-id
    it("has the trace of the request, else a new one", async () => {
      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
      const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
      const { headers } = ALL;
      assert.equal(totals(await send("planner", "work", { headers: { ...headers, traceparent } }))?.traceId, traceId);
      for (const wrong of [
        undefined,
        "nonsense",
        `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
        traceparent.toUpperCase(),
      ]) {
        const made = totals(await send("planner", "work", { headers: { ...headers, traceparent: wrong } }))!.traceId;
        assert.match(made, /^(?!0{32})[0-9a-f]{32}$/);
        assert.notEqual(made, traceId);
      }
    });
  });
});
