/** An agent that is served here, called by another one: as over the network, but for the network. */
import { AgentError, OutcomeUnknown } from "@nylorun/agents";
import type { Agent } from "@nylorun/agents";
import { A2aError, EXTENSION_URIS, EXTENSIONS, isInterrupted, isTerminal, taskStateOf } from "@nylorun/protocol";
import type { Message } from "@nylorun/protocol";

import { deepest, depthOf, isOpenTo, noSuchAgent, realSubject, subjectOfCalled } from "./callee.ts";
import type { Answering, Line } from "./callee.ts";
import type { Engine } from "./engine.ts";
import type { EnginePorts } from "./ports.ts";
import type { TurnRecord } from "./record.ts";
import { sendResponseOf, taskOf } from "./task.ts";

/** Whose turn a message is from, in its metadata: who is told when there is something to see. */
const callerField = "caller";
const active = new Set(EXTENSION_URIS);

/** @throws AgentError `call.tooDeep`. */
export function lineTo(
  agent: Agent,
  turn: TurnRecord,
  { engine, taskIds, callees }: Pick<EnginePorts, "taskIds" | "callees"> & { readonly engine: Engine },
): Line {
  if (depthOf(turn.subject) >= deepest) {
    throw new AgentError(
      "call.tooDeep",
      `${deepest} agents have called each other for ${realSubject(turn.subject)}; this is one more.`,
    );
  }
  const scope = { subject: subjectOfCalled(turn), agent: agent.id };
  const mustBeOpen = () => {
    if (!isOpenTo(agent, turn.subject)) throw noSuchAgent(agent.id);
  };
  const shown = async (called: TurnRecord) => {
    const links = await callees.links?.(called, called.view.artifacts);
    return { taskIds, active, links };
  };
  const send = (message: Omit<Message, "role">) => {
    mustBeOpen();
    const { traceparent } = turn;
    return coded(engine.send({ ...scope, message: { role: "ROLE_USER", ...message }, active, traceparent }));
  };
  return {
    repeats: true,
    send: async ({ messageId, parts, contextId }) => {
      const metadata = { [callerField]: taskIds.encode(turn) };
      const sent = await send({ messageId, parts, metadata, ...(contextId !== undefined && { contextId }) });
      return sendResponseOf(sent, await shown(sent));
    },
    async get(taskId) {
      mustBeOpen();
      const called = await coded(engine.get(scope, taskId));
      return taskOf(called, await shown(called));
    },
    answer: async (taskId, answer) => void (await send({ taskId, ...reply(answer) })),
    // Of one that is no longer open to its subject, too: nothing is learnt of it, and it comes to an end.
    cancel: async (taskId) => {
      const { state } = await engine.get(scope, taskId);
      if (!isTerminal(taskStateOf(state))) await coded(engine.cancel(scope, taskId));
    },
  };
}

function reply({
  messageId,
  asking,
  value,
}: Answering): Pick<Message, "messageId" | "parts" | "extensions" | "metadata"> {
  const given = asking.kind === "question" ? { value } : { approved: value };
  return {
    messageId,
    parts: [{ text: typeof value === "string" ? value : JSON.stringify(value) }],
    extensions: [EXTENSIONS.interactions],
    metadata: { [EXTENSIONS.interactions]: { interactionId: asking.id, ...given } },
  };
}

/** What a caller on the network would learn from its client. */
async function coded<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof A2aError)) throw error;
    const { kind, reason, message } = error;
    // There is room again when something has ended.
    if (reason === "CONTEXT_QUEUE_FULL" || reason === "SUBJECT_QUEUE_FULL") throw new OutcomeUnknown(message);
    throw Object.assign(new Error(message, { cause: error }), {
      code: `a2a.${kind[0]!.toLowerCase()}${kind.slice(1)}`,
    });
  }
}

/** Has the turn looked at that called for this one, if one did and there is something to see. A hint (I9). */
export async function tellCaller(
  { store, taskIds }: EnginePorts,
  { state, view, message, subject }: TurnRecord,
): Promise<void> {
  if (depthOf(subject) === 0) return;
  const task = taskStateOf(state, view.waitsFor);
  if (!isTerminal(task) && !isInterrupted(task)) return;
  const caller = message.metadata?.[callerField];
  const key = typeof caller === "string" ? taskIds.decode(caller) : undefined;
  const turn = key && (await store.loadTurn(key));
  if (turn?.state !== "waiting") return;
  const { length, revision } = turn;
  await store.commit({ key: turn, length, revision, from: ["waiting"], then: { do: "wake" } });
}
