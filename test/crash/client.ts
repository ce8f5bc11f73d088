/** Calls one agent as one subject, and says exactly what came back: a crash test counts answers. */

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly history?: readonly { readonly messageId: string; readonly role: string }[];
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

export interface Message {
  readonly messageId: string;
  readonly text: string;
  readonly contextId?: string;
  /** Answer at once rather than when the task is done. */
  readonly returnImmediately?: boolean;
  /** A webhook that is to hear of the task. */
  readonly push?: { readonly id: string; readonly url: string };
}

export class Client {
  readonly #url: string;
  readonly key: string;
  readonly #extensions: string;

  /** @param extensions URIs to activate. */
  constructor(base: string, key: string, agent: string, extensions = "") {
    this.#extensions = extensions;
    this.#url = `${base}/v1/a2a/agents/${agent}`;
    this.key = key;
  }

  /** @throws Whenever no whole answer came: the caller cannot know then whether the message was taken. */
  async send({ messageId, text, contextId, returnImmediately, push }: Message): Promise<Task> {
    const message = { messageId, role: "ROLE_USER", parts: [{ text }], contextId };
    const configuration = { returnImmediately, ...(push && { taskPushNotificationConfig: push }) };
    const { task } = await this.#call<{ task: Task }>("SendMessage", { message, configuration });
    return task;
  }

  async get(id: string): Promise<Task> {
    return this.#call<Task>("GetTask", { id });
  }

  /** All of the subject's tasks, page by page. */
  async list(): Promise<Task[]> {
    const tasks: Task[] = [];
    let pageToken = "";
    do {
      const page = await this.#call<{ tasks: Task[]; nextPageToken?: string }>("ListTasks", {
        pageSize: 100,
        historyLength: 0,
        ...(pageToken === "" ? {} : { pageToken }),
      });
      tasks.push(...page.tasks);
      pageToken = page.nextPageToken ?? "";
    } while (pageToken !== "");
    return tasks;
  }

  async #call<Result>(method: string, params: unknown): Promise<Result> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": this.#extensions,
        authorization: `Bearer ${this.key}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(30_000),
    });
    const answer = (await response.json()) as { result?: Result; error?: unknown };
    if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer)}`);
    return answer.result;
  }
}

const terminal = new Set(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"]);

export function isTerminal(task: Task): boolean {
  return terminal.has(task.status.state);
}
