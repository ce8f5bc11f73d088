/**
 * Agents at other addresses, for `turn.call`: over A2A, as any caller reaches them. The client's own patience is short, as the engine tries
 * again what may be tried again, and says what may not.
 */
import { OutcomeUnknown } from "@nylorun/agents";
import type { Auth } from "@nylorun/agents";
import type { A2aClient, A2aTask, AgentCard, Interaction } from "@nylorun/agents/a2a";
import { EXTENSION_URIS } from "@nylorun/protocol";

import type { LinksOf } from "../files/task-links.ts";
import { noSuchAgent, seenTask } from "../turn/callee.ts";
import type { Answering, Asking, Callees, Line } from "../turn/callee.ts";

/** In milliseconds: of one attempt, and of all. A turn that looks at a task has its place meanwhile. */
const ATTEMPT = 10_000;
const PATIENCE = 5_000;
/** How long a card is taken to be what it was, in milliseconds. */
const CARD_AGE = 300_000;
/** Cards that are kept. */
const CARDS = 200;
/** What says that there was no answer, and not what became of it. */
const UNKNOWN: ReadonlySet<unknown> = new Set(["agent.unreachable", "agent.busy", "send.unknown"]);

export interface NetworkCallees extends Callees {
  /** How files of agents that are served here are handed to who calls these; known when it is known where this Runtime is. */
  links: LinksOf | undefined;
}

export function createCallees(): NetworkCallees {
  const cards = new Map<string, { readonly card: AgentCard; readonly at: number }>();
  return {
    links: undefined,
    async reach({ agent, auth }) {
      if (!URL.canParse(agent)) throw noSuchAgent(agent);
      // With the first call only: most agents call nobody, and the SDK takes its time.
      const { createA2aClient } = await import("@nylorun/agents/a2a");
      const options = { timeoutMs: ATTEMPT, patienceMs: PATIENCE, ...(auth !== undefined && { auth }) };
      const key = `${agent} ${credentialsText(auth)}`;
      const known = cards.get(key);
      const isFresh = known !== undefined && performance.now() - known.at < CARD_AGE;
      const client = await told(createA2aClient({ ...options, ...(isFresh ? { card: known.card } : { url: agent }) }));
      if (!isFresh) {
        cards.delete(key);
        cards.set(key, { card: client.card, at: performance.now() });
        if (cards.size > CARDS) cards.delete(cards.keys().next().value!);
      }
      return lineTo(client);
    },
  };
}

/** A card may be for some alone. */
function credentialsText(auth: Auth | undefined): string {
  return typeof auth === "function" ? "asked for" : JSON.stringify(auth ?? null);
}

function lineTo(client: A2aClient): Line {
  const declared = client.card.capabilities.extensions ?? [];
  return {
    repeats: declared.some(({ uri }) => (EXTENSION_URIS as readonly string[]).includes(uri)),
    async send({ messageId, parts, contextId }, { signal }) {
      const options = { messageId, signal, ...(contextId !== undefined && { contextId }) };
      const { task, message } = await told(client.send(parts, options));
      return task === undefined ? { message: message! } : { task };
    },
    async get(taskId, { signal }) {
      return (await told(client.task(taskId, { signal }))).task!;
    },
    async answer(taskId, answer, { signal }) {
      const task = await told(client.task(taskId, { signal }));
      // Words say nothing of what they answer.
      if (answer.asking.inWords && seenTask(task.task!).asking?.id !== answer.asking.id) {
        throw Object.assign(new Error("The agent asks something else by now."), { code: "a2a.invalidParams" });
      }
      await told(give(task, answer, signal));
    },
    async cancel(taskId, { signal }) {
      const task = await told(client.task(taskId, { signal }));
      if (!task.ended) await told(task.cancel({ signal }));
    },
  };
}

function give(task: A2aTask, { messageId, asking, value }: Answering, signal: AbortSignal): Promise<unknown> {
  const options = { messageId, signal, interaction: interactionOf(asking) };
  switch (asking.kind) {
    case "question":
      return task.answer(value, options);
    case "approval":
      return task.approve(value === true, options);
    case "connection":
    case "authorization":
      return task.connected(value === true, options);
  }
}

function interactionOf({ id, kind, prompt, inWords }: Asking): Interaction {
  switch (kind) {
    case "question":
      return { kind, prompt, id: inWords ? undefined : id, wantsAuthorization: false };
    case "approval":
    case "connection":
      return { kind, prompt, id };
    case "authorization":
      return { kind: "question", prompt, id: undefined, wantsAuthorization: true };
  }
}

async function told<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: string };
    if (UNKNOWN.has(code)) throw new OutcomeUnknown(message, { cause: error });
    throw error;
  }
}
