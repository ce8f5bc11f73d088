/** Somebody who calls agents over A2A with interactions/v1, as a client of theirs would. */
import { setTimeout } from "node:timers/promises";

import { EXTENSIONS } from "@nylorun/protocol";
import type { Message, OpenInteraction, PlanStep, ProgressData, Task, TaskState } from "@nylorun/protocol";

/** For whatever is waited for, in milliseconds. */
const PATIENCE = 20_000;

let messages = 0;

export class Caller {
  readonly #url: string;
  readonly #key: string;

  /** @param url Of the Runtime. */
  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Sends a text, and waits until the task has ended or waits for an answer. */
  send(agent: string, text: string, rest: Partial<Message> = {}): Promise<Task> {
    return this.sendMessage(agent, { ...newMessage(text), ...rest });
  }

  /** Answers what the task asks: `approved`, or `value`. */
  answer(
    agent: string,
    task: Task,
    given: { readonly approved: boolean } | { readonly value: unknown },
  ): Promise<Task> {
    return this.sendMessage(agent, answerTo(task, given));
  }

  async sendMessage(agent: string, message: Message): Promise<Task> {
    return ((await this.#call(agent, "SendMessage", { message })) as { readonly task: Task }).task;
  }

  async get(agent: string, { id }: Task): Promise<Task> {
    return (await this.#call(agent, "GetTask", { id })) as Task;
  }

  async cancel(agent: string, { id }: Task): Promise<Task> {
    return (await this.#call(agent, "CancelTask", { id })) as Task;
  }

  /** Asks for the task until it is in this state. */
  async until(agent: string, task: Task, state: TaskState): Promise<Task> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const now = await this.get(agent, task);
      if (now.status.state === state) return now;
      if (performance.now() > deadline) throw new Error(`The task is ${now.status.state}, not ${state}.`);
      await setTimeout(20);
    }
  }

  async #call(agent: string, method: string, params: object): Promise<unknown> {
    const response = await fetch(`${this.#url}/v1/a2a/agents/${agent}/`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": [EXTENSIONS.interactions, EXTENSIONS.progress].join(", "),
        authorization: `Bearer ${this.#key}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: object };
    if (error !== undefined) throw Object.assign(new Error(`${method} was refused.`), error);
    return result;
  }
}

/** The answer to what the task asks, to be sent once or more often. */
export function answerTo(
  task: Task,
  given: { readonly approved: boolean } | { readonly value: unknown },
  interactionId = openInteraction(task)?.interactionId,
): Message {
  return {
    ...newMessage("My answer."),
    taskId: task.id,
    extensions: [EXTENSIONS.interactions],
    metadata: { [EXTENSIONS.interactions]: { interactionId, ...given } },
  };
}

function newMessage(text: string): Message {
  return { messageId: `message-${++messages}`, role: "ROLE_USER", parts: [{ text }] };
}

export function openInteraction({ status }: Task): OpenInteraction | undefined {
  return status.message?.metadata?.[EXTENSIONS.interactions] as OpenInteraction | undefined;
}

export function planOf({ metadata }: Task): readonly PlanStep[] | undefined {
  return (metadata?.[EXTENSIONS.progress] as ProgressData | undefined)?.steps;
}

/** What the agent has answered, or why it did not. */
export function wordsOf({ artifacts, status }: Task): string | undefined {
  return artifacts?.[0]?.parts[0]?.text ?? status.message?.parts[0]?.text;
}
