/** Messages to one agent that belong together: one context (A2A 1.0, section 3.4.1). */
import type { Part } from "@nylorun/protocol";

import type { A2aClient, SendOptions, TasksOptions } from "./client.ts";
import type { A2aTask } from "./task.ts";

export interface Conversation {
  /** undefined: it has not begun. */
  readonly id: string | undefined;
  /** As the client's, in this context. The first message of a new conversation goes alone; the others follow when it has a context. */
  send(content: string | readonly Part[], options?: Omit<SendOptions, "contextId">): Promise<A2aTask>;
  /** As the client's, of this context. Of one that has not begun there are none. */
  tasks(options?: Omit<TasksOptions, "contextId">): AsyncGenerator<A2aTask, void, undefined>;
}

export function createConversation(client: A2aClient, contextId?: string): Conversation {
  return new ClientConversation(client, contextId);
}

class ClientConversation implements Conversation {
  readonly #client: A2aClient;
  #id: string | undefined;
  /** The first message, as long as the agent has not said in which context it is. */
  #beginning: Promise<A2aTask> | undefined;

  constructor(client: A2aClient, id: string | undefined) {
    this.#client = client;
    this.#id = id;
  }

  get id(): string | undefined {
    return this.#id;
  }

  async send(content: string | readonly Part[], options: Omit<SendOptions, "contextId"> = {}): Promise<A2aTask> {
    while (this.#id === undefined && this.#beginning !== undefined) {
      // If it fails, the next message begins.
      await this.#beginning.catch(() => undefined);
    }
    if (this.#id !== undefined) return this.#client.send(content, { ...options, contextId: this.#id });
    this.#beginning = this.#client.send(content, options);
    try {
      const task = await this.#beginning;
      this.#id = task.contextId;
      return task;
    } finally {
      this.#beginning = undefined;
    }
  }

  async *tasks(options: Omit<TasksOptions, "contextId"> = {}): AsyncGenerator<A2aTask, void, undefined> {
    if (this.#id !== undefined) yield* this.#client.tasks({ ...options, contextId: this.#id });
  }
}
