import { isAgent } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";
import { EXTENSION_URIS, taskStateOf } from "@nylorun/protocol";
import type { Artifact, Message } from "@nylorun/protocol";

import { taskOf } from "../turn/task.ts";
import { taskIds } from "./life.ts";
import { play } from "./play.ts";
import type { Played } from "./play.ts";
import type { Script, TestRun } from "./script.ts";

/**
 * Runs an agent in memory, as the Runtime would: effects really run, what it waits for comes from the script, and between two
 * waits it is dropped and run again. Time is simulated: sleeps and expiries take none.
 *
 * ```ts
 * const run = await testAgent(refunds, { message: "Refund order 1001", answers: [approve()] });
 * assert.equal(run.output, "Refunded 42.00 EUR.");
 * assert.deepEqual(run.effects.map(({ name }) => name), ["find order", "refund"]);
 * ```
 *
 * @throws TestingError What a Runtime would only report to its operator, or what is wrong with the script. An agent that fails does
 *   not throw: see {@link TestRun.state} and {@link TestRun.error}.
 */
export async function testAgent(agent: Agent, script: Script = {}): Promise<TestRun> {
  return testRun(await play(checked(agent), script));
}

export function checked(agent: Agent): Agent {
  if (isAgent(agent)) return agent;
  throw new TypeError("The first argument must be an agent, as defineAgent({…}) makes it.");
}

export function testRun({ turn, interactions, observer, files, calls, now }: Played): TestRun {
  const links = { linkOf: ({ artifactId }: Artifact) => `nylorun-test:${artifactId}` };
  const task = taskOf(turn, { taskIds, active: new Set(EXTENSION_URIS), links });
  const part = turn.view.artifacts?.find(({ artifactId }) => artifactId === "output")?.parts[0];
  const uncertain = turn.state === "uncertain" ? turn.view.lost?.[0]?.name : undefined;
  return {
    state: taskStateOf(turn.state, turn.view.waitsFor),
    output: part?.text ?? part?.data,
    reply: turn.view.reply,
    error: turn.state === "failed" || turn.state === "rejected" ? observer.error : undefined,
    status: task.status.message && textOf(task.status.message),
    plan: turn.view.plan,
    history: (task.history ?? []).map((message) => ({
      by: message.role === "ROLE_USER" ? "user" : "agent",
      text: textOf(message),
    })),
    effects: observer.seen.map(({ name, idempotent, attempts, at }) => ({
      name,
      idempotent,
      attempts: attempts.length,
      at: new Date(at),
    })),
    files,
    calls,
    interactions,
    uncertain,
    now: new Date(now),
    task,
  };
}

function textOf({ parts }: Message): string {
  return parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
}
