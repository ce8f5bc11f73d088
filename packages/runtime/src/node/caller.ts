/** A caller of a Runtime's agents: an ordinary A2A client, for the commands that a subject gives. */
import { randomUUID } from "node:crypto";

import { A2A_VERSION, EXTENSIONS, plainText } from "@nylorun/protocol";
import type { InteractionAnswer, JsonRpcError, Part, Task } from "@nylorun/protocol";

import { RuntimeError } from "./errors.ts";
import type { SignIn } from "./sign-in.ts";

/** For one answer, in milliseconds. Nothing here waits for a task. */
const PATIENCE = 30_000;
const TASK_NOT_FOUND = -32001;

/** An agent that the caller may use. */
export interface Listed {
  readonly id: string;
  readonly name: string;
}

/** A task of the caller's, and whose agent's it is. */
export interface Found {
  readonly agent: Listed;
  readonly task: Task;
}

/** What the Runtime says to a call that is wrong, for the program: the JSON-RPC error. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly error: JsonRpcError;

  constructor(error: JsonRpcError) {
    super(error.message);
    this.error = error;
  }

  get reason(): string {
    return this.error.data[0].reason;
  }
}

/** Every call throws RuntimeError `call.failed`, `call.refused`, or CallError. */
export class Caller {
  readonly url: string;
  readonly #key: string;

  constructor({ url, key }: SignIn) {
    this.url = url;
    this.#key = key;
  }

  /** The caller's own task, and the agent that has it. */
  async find(id: string): Promise<Found | undefined> {
    const { agents } = (await this.#fetch("/v1/agents")) as { readonly agents: readonly Listed[] };
    const found = await Promise.all(
      agents.map(async (agent) => {
        const task = await this.get(agent.id, id).catch((error: unknown) => {
          if (error instanceof CallError && error.error.code === TASK_NOT_FOUND) return undefined;
          throw error;
        });
        return task === undefined ? undefined : { agent, task };
      }),
    );
    return found.find((each) => each !== undefined);
  }

  get(agent: string, id: string): Promise<Task> {
    return this.#call(agent, "GetTask", { id, historyLength: 0 });
  }

  /** Answers the interaction that is open. Returns the task as it is right then. */
  async answer(agent: string, task: Task, { answer, parts }: Answering): Promise<Task> {
    const message = {
      messageId: randomUUID(),
      role: "ROLE_USER",
      taskId: task.id,
      parts,
      metadata: { [EXTENSIONS.interactions]: answer },
      extensions: [EXTENSIONS.interactions],
    };
    const configuration = { returnImmediately: true, historyLength: 0 };
    return (await this.#call<{ readonly task: Task }>(agent, "SendMessage", { message, configuration })).task;
  }

  async #call<Result>(agent: string, method: string, params: object): Promise<Result> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = (await this.#fetch(`/v1/a2a/agents/${encodeURIComponent(agent)}/`, body)) as {
      readonly result?: Result;
      readonly error?: JsonRpcError;
    };
    if (answer.error !== undefined) throw new CallError(answer.error);
    if (answer.result === undefined) throw this.#failed("what it answers is no A2A");
    return answer.result;
  }

  async #fetch(path: string, body?: string): Promise<unknown> {
    const headers = {
      authorization: `Bearer ${this.#key}`,
      "content-type": "application/json",
      "a2a-version": A2A_VERSION,
      "a2a-extensions": [EXTENSIONS.interactions, EXTENSIONS.effects].join(", "),
    };
    let response: Response;
    let text: string;
    try {
      const method = body === undefined ? "GET" : "POST";
      const signal = AbortSignal.timeout(PATIENCE);
      // A redirect could be to anywhere; Runtimes send none.
      const init = { method, headers, signal, redirect: "error" as const };
      response = await fetch(`${this.url}${path}`, body === undefined ? init : { ...init, body });
      text = await response.text();
    } catch (error) {
      const { cause, message } = error as Error;
      throw this.#failed(cause instanceof Error && cause.message !== "" ? cause.message : message, error);
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (error) {
      throw this.#failed(`it answered ${response.status}, and not as a Runtime does`, error);
    }
    if (response.ok) return json;
    const said = (json as { readonly error?: { readonly message?: unknown } } | null)?.error?.message;
    throw new RuntimeError(
      "call.refused",
      `${this.url} says: ${typeof said === "string" ? plainText(said, 300) : response.status}`,
    );
  }

  #failed(why: string, cause?: unknown): RuntimeError {
    return new RuntimeError("call.failed", `No Runtime answers at ${this.url}: ${why}.`, { cause });
  }
}

/** What is answered, and what the task's history shows of it. */
export interface Answering {
  readonly answer: InteractionAnswer;
  readonly parts: readonly Part[];
}
