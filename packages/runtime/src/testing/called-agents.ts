/**
 * The agents that an agent calls (`turn.call`), as a script has them: elsewhere, so they outlive every process. They keep to the profile: a
 * message that comes again is the same task, and the same answer.
 */
import type { Part } from "@nylorun/agents";
import { EXTENSIONS, isTerminal, textOf } from "@nylorun/protocol";
import type { Message, Task, TaskState, TaskStatus } from "@nylorun/protocol";

import type { Answering, Callees, Line, Outgoing } from "../turn/callee.ts";
import { TestingError } from "./errors.ts";

/**
 * Another agent: what it has come to, by the message that it was sent and the answers that it has been given so far. It is asked anew each
 * time, and has to say the same of the same.
 *
 * ```ts
 * const refunds: CalledAgent = (_, [approved]) =>
 *   approved === undefined ? { approve: "Refund 42.00 EUR?" } : { output: approved ? "Refunded." : "Not refunded." };
 * ```
 */
export type CalledAgent = (message: CalledMessage, answers: readonly unknown[]) => Called;

export interface CalledMessage {
  readonly text: string;
  readonly parts: readonly Part[];
  /** Undefined: it begins a conversation. */
  readonly contextId: string | undefined;
}

export type Called =
  /** It is done: a text, or another JSON value. */
  | { readonly output: unknown }
  /** It has failed, or does not do this: in words. */
  | { readonly fails: string }
  | { readonly refuses: string }
  /** It waits for an answer: a boolean, for a connection too; of a question a value. */
  | { readonly approve: string; readonly detail?: Readonly<Record<string, unknown>> }
  | { readonly ask: string; readonly choices?: readonly string[] }
  | { readonly connect: string; readonly provider: string }
  /** It goes on, without end. */
  | { readonly works: true };

/** One call of another agent, as that agent has it. */
export interface TestCall {
  /** As it was called: an id, or an address. */
  readonly agent: string;
  readonly text: string;
  /** What it was answered, in order. */
  readonly answers: readonly unknown[];
  readonly state: TaskState;
}

interface Kept {
  readonly id: string;
  readonly agent: string;
  readonly message: CalledMessage;
  readonly does: CalledAgent;
  /** By the ids of their messages. */
  readonly answers: Map<string, unknown>;
  canceled: boolean;
}

export class CalledAgents implements Callees {
  readonly #agents: Readonly<Record<string, CalledAgent>>;
  readonly #complain: (error: TestingError) => void;
  /** By the ids of their messages. */
  readonly #tasks = new Map<string, Kept>();

  constructor(agents: Readonly<Record<string, CalledAgent>>, complain: (error: TestingError) => void) {
    this.#agents = agents;
    this.#complain = complain;
  }

  /** In the order in which they began. */
  get calls(): readonly TestCall[] {
    return [...this.#tasks.values()].map((task) => ({
      agent: task.agent,
      text: task.message.text,
      answers: [...task.answers.values()],
      state: stateOf(task),
    }));
  }

  reach({ agent }: { readonly agent: string }): Promise<Line> {
    const does = Object.hasOwn(this.#agents, agent) ? this.#agents[agent] : undefined;
    if (does !== undefined) return Promise.resolve(this.#lineTo(agent, does));
    const message = `The agent calls ${JSON.stringify(agent)}; say in script.agents what that does.`;
    const error = new TestingError("agent.unscripted", message);
    this.#complain(error);
    return Promise.reject(error);
  }

  #lineTo(agent: string, does: CalledAgent): Line {
    const find = (id: string) => [...this.#tasks.values()].find((one) => one.id === id)!;
    return {
      repeats: true,
      send: async (message) => ({ task: taskOf(this.#begin(agent, does, message)) }),
      get: async (id) => taskOf(find(id)),
      answer: async (id, answering) => this.#answer(find(id), answering),
      cancel: async (id) => {
        const task = find(id);
        if (!isTerminal(stateOf(task))) task.canceled = true;
      },
    };
  }

  #begin(agent: string, does: CalledAgent, { messageId, parts, contextId }: Outgoing): Kept {
    const known = this.#tasks.get(messageId);
    if (known !== undefined) return known;
    const message = { text: textOf({ parts }), parts, contextId };
    const task: Kept = {
      id: `${agent} ${this.#tasks.size}`,
      agent,
      message,
      does,
      answers: new Map(),
      canceled: false,
    };
    this.#tasks.set(messageId, task);
    return task;
  }

  #answer(task: Kept, { messageId, asking, value }: Answering): void {
    if (task.answers.has(messageId)) return;
    if (asking.id !== askingId(task))
      throw Object.assign(new Error("It asks that no more."), { code: "a2a.invalidParams" });
    task.answers.set(messageId, value);
  }
}

function taskOf(task: Kept): Task {
  const { id, message, answers, canceled } = task;
  const said = message.contextId ?? `conversation ${id}`;
  const about = { id, contextId: said };
  if (canceled) return { ...about, status: { state: "TASK_STATE_CANCELED" } };
  const does = task.does(message, [...answers.values()]);
  const status = (state: TaskState, text?: string): TaskStatus => ({
    state,
    ...(text !== undefined && { message: words(task, text) }),
  });
  if ("output" in does) {
    const part = typeof does.output === "string" ? { text: does.output } : { data: does.output };
    return { ...about, status: status("TASK_STATE_COMPLETED"), artifacts: [{ artifactId: "output", parts: [part] }] };
  }
  if ("fails" in does) return { ...about, status: status("TASK_STATE_FAILED", does.fails) };
  if ("refuses" in does) return { ...about, status: status("TASK_STATE_REJECTED", does.refuses) };
  if ("works" in does) return { ...about, status: status("TASK_STATE_WORKING") };
  const [kind, prompt, detail] =
    "approve" in does
      ? (["approval", does.approve, does.detail] as const)
      : "ask" in does
        ? (["question", does.ask, does.choices && { choices: does.choices }] as const)
        : (["connection", does.connect, { provider: does.provider }] as const);
  const interaction = { interactionId: askingId(task), kind, prompt, ...(detail && { detail }) };
  const state = kind === "question" ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_AUTH_REQUIRED";
  return {
    ...about,
    status: { state, message: { ...words(task, prompt), metadata: { [EXTENSIONS.interactions]: interaction } } },
  };
}

function stateOf(task: Kept): TaskState {
  return taskOf(task).status.state;
}

/** What it asks after so many answers. */
function askingId({ id, answers }: Kept): string {
  return `${id} asks ${answers.size}`;
}

function words(task: Kept, text: string): Message {
  return { messageId: askingId(task), role: "ROLE_AGENT", parts: [{ text }] };
}
