/** Callers of the soak: many contexts of a few subjects, who send, ask again, answer and cancel, and remember what they were told. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

export interface Told {
  readonly subject: string;
  readonly messageId: string;
  readonly contextId: string;
  /** As the answer said. */
  readonly taskId: string;
  /** A webhook hears of it. */
  readonly pushed: boolean;
}

export interface LoadOptions {
  readonly url: string;
  /** Subjects, and a key of each. */
  readonly keys: ReadonlyMap<string, string>;
  readonly contexts: number;
  /** Messages a second. */
  readonly rate: number;
  /** The webhook. */
  readonly hook: string;
}

/** Messages that are being sent at once. */
const mostSending = 60;

const ended = new Set(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"]);

interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: unknown };
}

export class Load {
  readonly told: Told[] = [];
  /** Messages that were sent, and never answered. */
  unanswered = 0;
  /** How a task ended, as somebody saw it. */
  readonly ends = new Map<string, string>();
  readonly wrongs: string[] = [];
  readonly #options: LoadOptions;
  readonly #open: Told[] = [];
  #stopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open.length;
  }

  /** Sends until it is stopped. */
  async send(): Promise<void> {
    const sending = new Set<Promise<void>>();
    while (!this.#stopped) {
      // Who gets no answers does not send more and more.
      if (sending.size >= mostSending) await Promise.race(sending);
      const one = this.#sendOne().finally(() => sending.delete(one));
      sending.add(one);
      await delay((2 * Math.random() * 1000) / this.#options.rate);
    }
    await Promise.all(sending);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Looks after what was sent, until nothing is open, or the time is up. @returns Whether nothing is. */
  async tend(until: () => boolean): Promise<boolean> {
    while (!until()) {
      const tended = this.#open.splice(0, 100);
      // Others get their turn.
      this.#open.push(...tended);
      await Promise.all(tended.map((one) => this.#tendOne(one)));
      if (this.#stopped && this.#open.length === 0) return true;
      await delay(100);
    }
    return this.#open.length === 0;
  }

  async #sendOne(): Promise<void> {
    const subjects = [...this.#options.keys.keys()];
    const number = Math.floor(Math.random() * this.#options.contexts);
    const subject = subjects[number % subjects.length]!;
    const contextId = `context-${number}`;
    const messageId = randomUUID();
    const text = ["pay", "pay", "ask", "nap"][Math.floor(Math.random() * 4)]!;
    const pushed = Math.random() < 0.1;
    const params = {
      message: { messageId, role: "ROLE_USER", parts: [{ text }], contextId },
      configuration: {
        returnImmediately: true,
        ...(pushed && { taskPushNotificationConfig: { url: this.#options.hook } }),
      },
    };
    // The same message, until it is answered: and one time in five once more.
    for (let tries = 0; tries < 60; tries++) {
      const answer = await this.#call(subject, "SendMessage", params);
      const task = (answer as { task?: Task } | undefined)?.task;
      if (task === undefined) {
        if (this.#stopped && tries > 30) break;
        await delay(Math.min(5000, 250 * 2 ** tries));
        continue;
      }
      const before = this.told.find((one) => one.messageId === messageId);
      if (before === undefined) {
        const told = { subject, messageId, contextId, taskId: task.id, pushed };
        this.told.push(told);
        this.#open.push(told);
      } else if (before.taskId !== task.id) this.wrongs.push(`I3: ${messageId} is ${before.taskId} and ${task.id}`);
      if (before !== undefined || Math.random() > 0.2) return;
    }
    this.unanswered++;
  }

  async #tendOne(told: Told): Promise<void> {
    const task = (await this.#call(told.subject, "GetTask", { id: told.taskId })) as Task | undefined;
    if (task === undefined) return;
    const { state } = task.status;
    if (ended.has(state)) {
      this.ends.set(told.taskId, state);
      const index = this.#open.indexOf(told);
      if (index !== -1) this.#open.splice(index, 1);
    } else if (state === "TASK_STATE_INPUT_REQUIRED") {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "this" }], taskId: told.taskId };
      await this.#call(told.subject, "SendMessage", { message, configuration: { returnImmediately: true } });
    } else if (Math.random() < 0.002) await this.#call(told.subject, "CancelTask", { id: told.taskId });
  }

  /** Undefined: there was no result, for whatever reason. */
  async #call(subject: string, method: string, params: object): Promise<unknown> {
    try {
      const response = await fetch(`${this.#options.url}/v1/a2a/agents/worker`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "a2a-version": "1.0",
          authorization: `Bearer ${this.#options.keys.get(subject)}`,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        // A node that is stopped says nothing: another one may be asked.
        signal: AbortSignal.timeout(4000),
      });
      return ((await response.json()) as { result?: unknown }).result;
    } catch {
      return undefined;
    }
  }
}
