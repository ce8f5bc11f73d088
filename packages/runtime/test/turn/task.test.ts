import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  EXTENSION_URIS,
  EXTENSIONS,
  isEffectsData,
  isOpenInteraction,
  isProgressData,
  isTelemetryData,
} from "@nylorun/protocol";
import type { ExtensionUri, TurnState, WaitKind } from "@nylorun/protocol";

import type { TurnRecord, TurnView } from "../../src/turn/record.ts";
import { sendResponseOf, streamResponseOf, taskOf } from "../../src/turn/task.ts";
import type { TaskOptions } from "../../src/turn/task.ts";

const none: ReadonlySet<ExtensionUri> = new Set();
const all: ReadonlySet<ExtensionUri> = new Set(EXTENSION_URIS);
const options: TaskOptions = {
  taskIds: { encode: (key) => `task-${key.turn}`, decode: () => undefined },
  active: none,
};

function turn(change: Partial<TurnRecord> = {}): TurnRecord {
  return {
    context: 3,
    turn: 7,
    subject: "ada",
    agent: "echo",
    contextId: "talk",
    state: "completed",
    statusAt: Date.UTC(2026, 9, 14, 2, 0, 0, 5),
    createdAt: Date.UTC(2026, 9, 14, 1),
    length: 0,
    revision: 0,
    deaths: 0,
    agentVersion: "1.0.0",
    traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
    message: { messageId: "m-1", parts: [{ text: "Hello" }] },
    view: {},
    ...change,
  };
}

const said = (id: string, text: string) => ({ by: "agent", id, parts: [{ text }] }) as const;

describe("the task of a turn", () => {
  it("has its ids, its state, the time of that in milliseconds, outputs and history, and nothing empty", () => {
    const view: TurnView = { artifacts: [{ artifactId: "output", name: "output", parts: [{ text: "Hello" }] }] };
    assert.deepEqual(taskOf(turn({ view }), options), {
      id: "task-7",
      contextId: "talk",
      status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-10-14T02:00:00.005Z" },
      artifacts: [{ artifactId: "output", name: "output", parts: [{ text: "Hello" }] }],
      history: [
        { messageId: "m-1", contextId: "talk", taskId: "task-7", role: "ROLE_USER", parts: [{ text: "Hello" }] },
      ],
    });
    assert.deepEqual(Object.keys(taskOf(turn({ view: { artifacts: [], history: [] } }), options)), [
      "id",
      "contextId",
      "status",
      "history",
    ]);
  });

  // keeps: profile-tasks-states
  it("is in the state that the turn's own and what it waits for make together", () => {
    const shown = (state: TurnState, waitsFor?: WaitKind) =>
      taskOf(turn({ state, view: waitsFor ? { waitsFor } : {} }), options).status.state;
    assert.equal(shown("queued"), "TASK_STATE_SUBMITTED");
    assert.equal(shown("waiting"), "TASK_STATE_WORKING");
    assert.equal(shown("waiting", "question"), "TASK_STATE_INPUT_REQUIRED");
    assert.equal(shown("waiting", "connection"), "TASK_STATE_AUTH_REQUIRED");
    assert.equal(shown("held"), "TASK_STATE_WORKING");
    assert.equal(shown("rejected"), "TASK_STATE_REJECTED");
    assert.equal(shown("canceled"), "TASK_STATE_CANCELED");
  });

  // keeps: profile-tasks-status-message
  it("shows what was said last in the status, and the rest in the history, oldest first, each with its own id", () => {
    const view: TurnView = {
      status: said("s-3", "Almost there"),
      history: [said("s-1", "Looking"), { by: "user", id: "m-2", parts: [{ text: "Hurry" }] }],
    };
    const { status, history } = taskOf(turn({ state: "running", view }), options);
    assert.deepEqual(status.message, {
      messageId: "s-3",
      contextId: "talk",
      taskId: "task-7",
      role: "ROLE_AGENT",
      parts: [{ text: "Almost there" }],
    });
    assert.deepEqual(
      history?.map(({ messageId, role }) => [messageId, role]),
      [
        ["m-1", "ROLE_USER"],
        ["s-1", "ROLE_AGENT"],
        ["m-2", "ROLE_USER"],
      ],
    );
  });

  // keeps: profile-rules-visible
  it("shows no journal, no version, no deaths and no reason why it is held (I10)", () => {
    const view: TurnView = { held: { code: "journal.diverged", message: "effect(secret) at agent.ts:3" } };
    const text = JSON.stringify(
      taskOf(turn({ state: "held", view, deaths: 2, length: 9 }), { ...options, active: all }),
    );
    for (const hidden of ["diverged", "secret", "1.0.0", "deaths", "ada"]) assert.ok(!text.includes(hidden), hidden);
  });
});

describe("historyLength (A2A 3.2.4)", () => {
  const view: TurnView = { history: [said("s-1", "One"), said("s-2", "Two")] };
  const ids = (historyLength: number | undefined) =>
    taskOf(turn({ view }), { ...options, historyLength }).history?.map(({ messageId }) => messageId);

  it("unset gives all of it, n the last n, and more than there is what there is", () => {
    assert.deepEqual(ids(undefined), ["m-1", "s-1", "s-2"]);
    assert.deepEqual(ids(1), ["s-2"]);
    assert.deepEqual(ids(2), ["s-1", "s-2"]);
    assert.deepEqual(ids(100), ["m-1", "s-1", "s-2"]);
  });

  it("0 leaves the field out", () => {
    assert.equal("history" in taskOf(turn({ view }), { ...options, historyLength: 0 }), false);
  });
});

describe("artifacts", () => {
  it("are left out entirely when they are not asked for (A2A 3.1.4)", () => {
    const view: TurnView = { artifacts: [{ artifactId: "output", parts: [{ text: "Hello" }] }] };
    assert.equal("artifacts" in taskOf(turn({ view }), { ...options, artifacts: false }), false);
  });
});

describe("extension data", () => {
  const { interactions, effects, progress, telemetry, files } = EXTENSIONS;
  const view: TurnView = {
    plan: [{ label: "Look", state: "done" }],
    status: { ...said("i-1", "May I?"), interaction: { interactionId: "i-1", kind: "approval", prompt: "May I?" } },
    history: [
      {
        by: "user",
        id: "m-2",
        parts: [{ text: "Yes" }],
        metadata: { mood: "good" },
        extensionData: { [interactions]: { interactionId: "i-0", approved: true } },
      },
    ],
    lost: [{ of: 1, id: "e-1", name: "refund", why: "died", at: 1 }],
    totals: { steps: 2, tokens: 0 },
    artifacts: [
      {
        artifactId: "a",
        parts: [{ text: "x" }],
        metadata: { [files]: { path: "x.txt" }, own: 1 },
        extensions: [files, "https://example.com/x"],
      },
    ],
  };
  const message = {
    messageId: "m-1",
    parts: [{ text: "Hello" }],
    metadata: { own: true },
    extensionData: { [progress]: { of: "the caller" } },
  };

  it("goes out for the extensions that the request activated, where each has its place", () => {
    const { metadata, status, history, artifacts } = taskOf(turn({ state: "uncertain", view, message }), {
      ...options,
      active: all,
    });
    assert.deepEqual(metadata?.[progress], { steps: [{ label: "Look", state: "done" }] });
    assert.ok(isProgressData(metadata[progress]));
    assert.deepEqual(metadata[effects], { uncertain: "e-1" });
    assert.ok(isEffectsData(metadata[effects]));
    assert.equal(metadata[telemetry], undefined, "the turn has not ended");
    assert.ok(isOpenInteraction(status.message?.metadata?.[interactions]));
    assert.deepEqual(status.message?.extensions, [interactions]);
    assert.deepEqual(history?.[0]?.metadata, { own: true, [progress]: { of: "the caller" } });
    assert.deepEqual(history?.[1]?.metadata, {
      mood: "good",
      [interactions]: { interactionId: "i-0", approved: true },
    });
    assert.deepEqual(artifacts?.[0]?.extensions, [files, "https://example.com/x"]);
  });

  // keeps: profile-extensions-none-unasked, profile-serves-plain-client
  it("of none goes out to a request that activated none, the history and the caller's own included", () => {
    const task = taskOf(turn({ state: "uncertain", view, message }), options);
    const text = JSON.stringify(task);
    for (const uri of EXTENSION_URIS) assert.ok(!text.includes(uri), uri);
    assert.deepEqual(task.history?.[0]?.metadata, { own: true }, "what is no extension's comes back");
    assert.deepEqual(task.artifacts?.[0]?.metadata, { own: 1 });
    assert.deepEqual(task.artifacts?.[0]?.extensions, ["https://example.com/x"]);
  });

  // keeps: profile-serves-v1-client
  it("of each is there exactly when that one is active", () => {
    for (const uri of EXTENSION_URIS) {
      for (const state of ["uncertain", "completed"] as const) {
        const text = JSON.stringify(taskOf(turn({ state, view, message }), { ...options, active: new Set([uri]) }));
        for (const other of EXTENSION_URIS) if (other !== uri) assert.ok(!text.includes(other), `${other} with ${uri}`);
      }
    }
  });

  // keeps: telemetry-totals-end, telemetry-totals-sums
  it("of telemetry comes with the end, with the sums that the agent reported and the request's trace", () => {
    const ended = taskOf(turn({ view }), { ...options, active: new Set([telemetry]) });
    assert.deepEqual(ended.metadata?.[telemetry], {
      steps: 2,
      tokens: 0,
      traceId: "0123456789abcdef0123456789abcdef",
    });
    const bare = taskOf(turn(), { ...options, active: new Set([telemetry]) });
    assert.deepEqual(bare.metadata?.[telemetry], { steps: 0, traceId: "0123456789abcdef0123456789abcdef" });
    assert.ok(isTelemetryData(bare.metadata[telemetry]));
  });

  // keeps: plan-shown-whole
  it("of a plan is absent while there is none", () => {
    assert.equal("metadata" in taskOf(turn(), { ...options, active: new Set([progress]) }), false);
  });
});

describe("the prompt of an interaction", () => {
  const asked = (kind: "approval" | "connection" | "question", active: ReadonlySet<ExtensionUri>) => {
    const interaction = { interactionId: "i-1", kind, prompt: "May I?" };
    const view: TurnView = { waitsFor: kind, status: { ...said("i-1", "May I?"), interaction } };
    const record = turn({ state: "waiting", view });
    const publicUrl = "https://x.example/agents";
    const { status, history } = taskOf(record, { ...options, active, publicUrl });
    const change = { kind: "status", state: "waiting", statusAt: 1, view } as const;
    const told = streamResponseOf(record, change, { ...options, active, publicUrl }).statusUpdate;
    assert.deepEqual(told?.status.message?.parts, status.message?.parts, "a webhook is told the same");
    assert.equal(history?.length, 1);
    return status.message?.parts;
  };

  // keeps: interactions-asks-words-will-not-do
  it("tells who has no part in interactions/v1 that words do not answer it, and who can (A2A 7.6.1)", () => {
    for (const kind of ["approval", "connection"] as const) {
      const parts = asked(kind, new Set([EXTENSIONS.progress]));
      assert.deepEqual(parts?.[0], { text: "May I?" }, kind);
      assert.match(
        parts[1]?.text ?? "",
        /in words cannot .* at https:\/\/x\.example\/agents\/dashboard\/#\/tasks\/echo\/task-7, or with: nylorun answer task-7$/,
        kind,
      );
    }
  });

  it("is all there is for who has, and for a question, which words answer", () => {
    const alone = [{ text: "May I?" }];
    assert.deepEqual(asked("approval", new Set([EXTENSIONS.interactions])), alone);
    assert.deepEqual(asked("connection", all), alone);
    assert.deepEqual(asked("question", none), alone);
  });
});

describe("what SendMessage answers", () => {
  it("is the task", () => {
    assert.deepEqual(sendResponseOf(turn(), options), { task: taskOf(turn(), options) });
  });

  // keeps: profile-tasks-message
  it("is the agent's Message when it answered with one: the same each time, with the ids of its task", () => {
    const replied = turn({ view: { reply: [{ text: "Hi" }] } });
    const message = {
      messageId: "reply-task-7",
      contextId: "talk",
      taskId: "task-7",
      role: "ROLE_AGENT",
      parts: [{ text: "Hi" }],
    };
    assert.deepEqual(sendResponseOf(replied, options), { message });
    assert.deepEqual(taskOf(replied, options).history?.at(-1), message, "and the task's history ends with it");
  });
});
