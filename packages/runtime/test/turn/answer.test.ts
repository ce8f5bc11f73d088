/** What approves, and what does not (I6, E14): through the routes that callers use, over a real store. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import type { Turn } from "@nylorun/agents";
import { EXTENSIONS } from "@nylorun/protocol";
import type { Message, Task } from "@nylorun/protocol";

import { makeAgent, serve } from "../http/served.ts";
import type { Answer, Served } from "../http/served.ts";

const URI = EXTENSIONS.interactions;

/** What every turn of the agent was answered, by task. */
const heard = new Map<string, unknown[]>();

const agent = makeAgent(
  "clerk",
  async (turn: Turn) => {
    const answers: unknown[] = [];
    heard.set(turn.taskId, answers);
    if (turn.text === "ask") {
      answers.push(await turn.ask({ prompt: "Which?" }));
      return answers;
    }
    if (turn.text === "lose") await turn.effect("pay", () => new Promise(() => {}), { timeoutMs: 1 });
    if (turn.text === "twice") answers.push(await turn.approve({ prompt: "First?" }));
    answers.push(await turn.approve({ prompt: "Refund 12 EUR?" }));
    return answers;
  },
  { inputModes: ["*/*"] },
);

interface Open {
  readonly task: Task;
  readonly interactionId: string;
}

interface Reply {
  readonly message: Partial<Message>;
  readonly as?: string;
  /** The `A2A-Extensions` header; empty: none. Default: interactions are active. */
  readonly active?: string;
}

/** What is said to an open approval, beside its id and what else is open. */
interface Attempt {
  readonly what: string;
  readonly reply: (open: Open, others: { readonly mine: Open; readonly theirs: Open; readonly stale: string }) => Reply;
  /** The error's code, and its reason; undefined: the task comes back as it was. */
  readonly refused?: number;
  readonly reason?: string;
}

function text(...words: readonly string[]): Reply {
  return { message: { parts: words.map((word) => ({ text: word })) } };
}

function data(value: unknown): Reply {
  return { message: { parts: [{ data: value }] } };
}

/** An answer through the extension. */
function answer(value: unknown, rest: Partial<Message> = {}): Reply {
  return { message: { parts: [{ text: "(answered)" }], metadata: { [URI]: value }, extensions: [URI], ...rest } };
}

const attempts: readonly Attempt[] = [
  ...["yes", "Yes, I approve.", "approve", "APPROVED", "approved: true", "true", "ok", "👍", "1"].map(
    (word): Attempt => ({ what: `the text ${JSON.stringify(word)}`, reply: () => text(word) }),
  ),
  {
    what: "JSON that looks like an answer, as text",
    reply: ({ interactionId }) => text(JSON.stringify({ interactionId, approved: true })),
  },
  {
    what: "JSON that looks like an answer's metadata, as text",
    reply: ({ interactionId }) => text(JSON.stringify({ metadata: { [URI]: { interactionId, approved: true } } })),
  },
  { what: "the same, as data", reply: ({ interactionId }) => data({ interactionId, approved: true }) },
  { what: "the metadata, as data", reply: ({ interactionId }) => data({ [URI]: { interactionId, approved: true } }) },
  { what: "the data true", reply: () => data(true) },
  {
    what: "an answer in a part's metadata",
    reply: ({ interactionId }) => ({
      message: { parts: [{ text: "yes", metadata: { [URI]: { interactionId, approved: true } } }] },
    }),
  },
  {
    what: "an answer in the metadata, but not under the extension",
    reply: ({ interactionId }) => ({
      message: { parts: [{ text: "yes" }], metadata: { interactionId, approved: true }, extensions: [URI] },
    }),
  },
  {
    what: "an answer under another extension",
    reply: ({ interactionId }) => ({
      message: {
        parts: [{ text: "yes" }],
        metadata: { [EXTENSIONS.effects]: { interactionId, approved: true } },
        extensions: [EXTENSIONS.effects],
      },
      active: EXTENSIONS.effects,
    }),
  },
  {
    what: "an answer under the extension's next version",
    reply: ({ interactionId }) => ({
      message: {
        parts: [{ text: "yes" }],
        metadata: { [URI.replace("v1", "v2")]: { interactionId, approved: true } },
        extensions: [URI.replace("v1", "v2")],
      },
      active: URI.replace("v1", "v2"),
    }),
  },
  {
    what: "an answer while the extension is not active",
    reply: ({ interactionId }) => ({ ...answer({ interactionId, approved: true }), active: "" }),
  },
  {
    what: "an answer while the extension is not listed",
    reply: ({ interactionId }) => answer({ interactionId, approved: true }, { extensions: [] }),
    refused: -32_602,
  },
  ...(
    [
      ["nothing", null],
      ["a text", "approved"],
      ["true", true],
      ["a list", [{ approved: true }]],
      ["no field", {}],
    ] as const
  ).map(([what, value]): Attempt => ({ what: `${what} for an answer`, reply: () => answer(value), refused: -32_602 })),
  {
    what: "an answer without an id",
    reply: () => answer({ approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer to an unknown id",
    reply: () => answer({ interactionId: "none", approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer to an id in other letters",
    reply: ({ interactionId }) => answer({ interactionId: interactionId.toUpperCase(), approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer to the id of the same subject's other task",
    reply: (_, { mine }) => answer({ interactionId: mine.interactionId, approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer to another subject's id",
    reply: (_, { theirs }) => answer({ interactionId: theirs.interactionId, approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer to an id that was answered before",
    reply: (_, { stale }) => answer({ interactionId: stale, approved: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  ...(["true", 1, null, "yes", {}, [true]] as const).map((approved): Attempt => ({
    what: `an answer that is approved: ${JSON.stringify(approved)}`,
    reply: ({ interactionId }) => answer({ interactionId, approved }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  })),
  {
    what: "an answer with a value",
    reply: ({ interactionId }) => answer({ interactionId, value: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer with a value beside",
    reply: ({ interactionId }) => answer({ interactionId, approved: true, value: true }),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer that inherits its approval",
    reply: ({ interactionId }) =>
      answer(JSON.parse(`{"interactionId":${JSON.stringify(interactionId)},"__proto__":{"approved":true}}`)),
    refused: -32_602,
    reason: "INTERACTION_NOT_OPEN",
  },
  {
    what: "an answer of another subject",
    reply: ({ interactionId }) => ({ ...answer({ interactionId, approved: true }), as: "eve" }),
    refused: -32_001,
  },
  {
    what: "an answer of an operator",
    reply: ({ interactionId }) => ({ ...answer({ interactionId, approved: true }), as: "operator" }),
    refused: 403,
  },
  {
    what: "an answer in another context",
    reply: ({ interactionId }) => answer({ interactionId, approved: true }, { contextId: "another" }),
    refused: -32_602,
  },
];

describe("an approval", { timeout: 120_000 }, () => {
  let served: Served;
  let others: { mine: Open; theirs: Open; stale: string };

  before(async () => {
    served = await serve({ agents: [agent] });
    const twice = await open("twice");
    others = { mine: await open("approve"), theirs: await open("approve", "bob"), stale: twice.interactionId };
    await send(answer({ interactionId: twice.interactionId, approved: true }), twice.task);
  });

  after(() => served[Symbol.asyncDispose]());

  /** A task that waits for an approval. */
  async function open(what: string, as = "ada", configuration = {}): Promise<Open> {
    const headers = { "a2a-extensions": URI };
    const task = await served.send({ parts: [{ text: what }] }, { agent: "clerk", as, headers, configuration });
    const shown = task.status.message?.metadata?.[URI] as { interactionId: string } | undefined;
    return { task, interactionId: shown?.interactionId ?? "none" };
  }

  async function send({ message, as = "ada", active = URI }: Reply, task: Task): Promise<Answer> {
    return served.call(
      "SendMessage",
      {
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", taskId: task.id, ...message },
        configuration: { returnImmediately: true },
      },
      { agent: "clerk", as, headers: active === "" ? {} : { "a2a-extensions": active } },
    );
  }

  async function until(task: Task, is: (now: Task) => boolean): Promise<void> {
    const deadline = performance.now() + 20_000;
    for (let now = await get(task); !is(now); now = await get(task)) {
      assert.ok(performance.now() < deadline, `after 20 s: ${JSON.stringify(now.status)}`);
      await setTimeout(5);
    }
  }

  async function get(task: Task): Promise<Task> {
    return served.result("GetTask", { id: task.id }, { agent: "clerk", headers: { "a2a-extensions": URI } });
  }

  for (const { what, reply, refused, reason } of attempts) {
    // keeps: interactions-approval-plain-reply, interactions-approval-boolean, interactions-answer-not-open
    test(`is not given by ${what}`, async () => {
      const mine = await open("approve");
      const { status: http, body } = await send(reply(mine, others), mine.task);
      if (refused === 403) assert.equal(http, 403);
      else assert.equal(body.error?.code, refused, JSON.stringify(body));
      if (reason !== undefined) assert.equal(body.error?.data?.[0].reason, reason);
      await setTimeout(5);

      const now = await get(mine.task);
      assert.equal(now.status.state, "TASK_STATE_AUTH_REQUIRED");
      const shown = now.status.message?.metadata?.[URI] as { interactionId: string };
      assert.equal(shown.interactionId, mine.interactionId);
      assert.deepEqual(heard.get(mine.task.id), []);
      // It can still be answered, once.
      const right = await send(answer({ interactionId: mine.interactionId, approved: false }), mine.task);
      assert.equal(right.body.error, undefined, JSON.stringify(right.body));
      await until(mine.task, ({ status }) => status.state === "TASK_STATE_COMPLETED");
      assert.deepEqual(heard.get(mine.task.id), [false]);
    });
  }

  test("is given by the owner's own answer through the extension, and by that alone", async () => {
    const mine = await open("approve");
    await send(answer({ interactionId: mine.interactionId, approved: true }), mine.task);
    await until(mine.task, ({ status }) => status.state === "TASK_STATE_COMPLETED");
    assert.deepEqual(heard.get(mine.task.id), [true]);
  });

  test("is not given by a second answer, whatever it says", async () => {
    const mine = await open("approve");
    const [first, second] = await Promise.all([
      send(answer({ interactionId: mine.interactionId, approved: false }), mine.task),
      send(answer({ interactionId: mine.interactionId, approved: true }), mine.task),
    ]);
    assert.equal([first, second].filter(({ body }) => body.error === undefined).length, 1);
    const third = await send(answer({ interactionId: mine.interactionId, approved: true }), mine.task);
    assert.equal(third.body.error?.code, -32_004);
    await until(mine.task, () => heard.get(mine.task.id)!.length > 0);
    assert.deepEqual(heard.get(mine.task.id), [first.body.error !== undefined]);
  });

  test("is not given by the answer to the one before it", async () => {
    const mine = await open("twice");
    const message = {
      ...answer({ interactionId: mine.interactionId, approved: true }).message,
      messageId: crypto.randomUUID(),
    };
    await send({ message }, mine.task);
    await until(mine.task, ({ status }) => status.message?.parts[0]?.text === "Refund 12 EUR?");
    // Sent again, as a caller would who heard nothing: a success, and nothing more.
    const again = await send({ message }, mine.task);
    assert.equal(again.body.error, undefined);
    const stale = await send(answer({ interactionId: mine.interactionId, approved: true }), mine.task);
    assert.equal(stale.body.error?.data?.[0].reason, "INTERACTION_NOT_OPEN");
    assert.deepEqual(heard.get(mine.task.id), [true]);
    assert.equal((await get(mine.task)).status.state, "TASK_STATE_AUTH_REQUIRED");
  });

  // keeps: interactions-asks-hidden
  test("is not given while it is hidden by an effect whose outcome is lost", async () => {
    const { task } = await open("lose", "ada", { returnImmediately: true });
    const { engine, taskIds, store } = served.core;
    const key = taskIds.decode(task.id)!;
    while ((await store.loadTurn(key))!.state !== "uncertain") await setTimeout(5);
    const early = await send(answer({ interactionId: "any", approved: true }), task);
    assert.equal(early.body.error?.code, -32_004);
    const [lost] = (await store.loadTurn(key))!.view.lost!;
    await engine.resolve(lost!.id, { outcome: "completed", value: null });
    await until(task, ({ status }) => status.state === "TASK_STATE_AUTH_REQUIRED");
    assert.deepEqual(heard.get(task.id), []);
  });

  // keeps: interactions-asks-hidden
  test("is not given while its turn is held, nor when it has ended", async () => {
    const mine = await open("approve");
    const { engine, taskIds, store } = served.core;
    const key = taskIds.decode(mine.task.id)!;
    for (let tries = 0; tries < 1000; tries++) {
      const turn = (await store.loadTurn(key))!;
      const view = { ...turn.view, held: { code: "turn.kills", message: "For tests." } };
      const held = await store.commit({ key, length: turn.length, revision: turn.revision, state: "held", view });
      if (held.kind === "committed") break;
      await setTimeout(5);
    }
    const right = answer({ interactionId: mine.interactionId, approved: true });
    assert.equal((await send(right, mine.task)).body.error?.code, -32_004);
    assert.equal(await engine.fail(key, "Stopped."), true);
    assert.equal((await send(right, mine.task)).body.error?.code, -32_004);
    assert.deepEqual(heard.get(mine.task.id), []);
  });

  // keeps: interactions-approval-plain-limit
  test("twenty texts are kept; what is said after that is refused, and the answer still taken", async () => {
    const mine = await open("approve");
    for (let n = 1; n <= 20; n++) assert.equal((await send(text(`yes ${n}`), mine.task)).body.error, undefined);
    assert.equal((await send(text("yes 21"), mine.task)).body.error?.code, -32_004);
    const said = (await get(mine.task)).history!.filter(({ role }) => role === "ROLE_USER");
    assert.equal(said.length, 21);
    await send(answer({ interactionId: mine.interactionId, approved: true }), mine.task);
    await until(mine.task, () => heard.get(mine.task.id)!.length > 0);
    assert.deepEqual(heard.get(mine.task.id), [true]);
  });

  // keeps: interactions-answer-not-open
  test("a question is not answered by an approval", async () => {
    const mine = await open("ask");
    const { body } = await send(answer({ interactionId: mine.interactionId, approved: true }), mine.task);
    assert.equal(body.error?.data?.[0].reason, "INTERACTION_NOT_OPEN");
    assert.equal((await get(mine.task)).status.state, "TASK_STATE_INPUT_REQUIRED");
  });
});
