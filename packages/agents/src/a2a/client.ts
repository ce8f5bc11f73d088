import type { TransportFactory } from "@a2a-js/sdk/client";
/** The caller's side of A2A 1.0: any agent well, and an agent of the Nylorun profile fully. */
import { EXTENSION_URIS } from "@nylorun/protocol";
import type { AgentCard, ListTasksRequest, Part, TaskState } from "@nylorun/protocol";

import type { Auth } from "../auth.ts";
import { CardSource } from "./card.ts";
import { Connection, noEnd, samePage } from "./connection.ts";
import { createConversation } from "./conversation.ts";
import type { Conversation } from "./conversation.ts";
import { credentialsOf } from "./credentials.ts";
import { invalidCall } from "./errors.ts";
import { createExchange, networkError } from "./exchange.ts";
import { pushConfigOf } from "./push-configs.ts";
import type { PushTarget } from "./push-configs.ts";
import { messageRequest, taskOf } from "./task.ts";
import type { A2aTask, TaskContext } from "./task.ts";

export interface A2aClientOptions {
  /**
   * The agent's address, such as `https://example.com/v1/a2a/agents/refunds/`, or its card's, which ends in `.json`. Either this or
   * `card`.
   */
  readonly url?: string;
  /** The agent's card, when you have it. Then it is never read again. */
  readonly card?: AgentCard;
  /** What calls prove themselves with. Default: nothing. */
  readonly auth?: Auth;
  /** The extensions to activate, by URI. Default: the five of the profile. What the agent does not know it ignores. */
  readonly extensions?: readonly string[];
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** More transports, such as the SDK's `GrpcTransportFactory`. JSON-RPC and HTTP+JSON are there already. */
  readonly transports?: readonly A2aTransportFactory[];
  /** For one attempt of a call, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * For one attempt to send a message to an agent that may answer only once its task has ended. Longer than servers wait: who gives
   * up before them sends again what is still being done. In milliseconds; default: 330,000.
   */
  readonly sendTimeoutMs?: number;
  /** How long a call is tried again while the agent does not answer or is busy, in milliseconds. Default: 120,000. */
  readonly patienceMs?: number;
  /** Between two looks at a task that does not change, at most, in milliseconds. Default: 5,000. */
  readonly pollMs?: number;
  /** How many of a task's newest messages come with it. Default: 1; a page that shows what was said wants more. */
  readonly historyLength?: number;
  /** How long a stream may be silent, in milliseconds; then the task is asked for, and the stream opened again. Default: 60,000. */
  readonly silenceMs?: number;
  /** The longest answer that is read, and the longest event of a stream, in bytes. Default: 8 MiB. */
  readonly maxAnswerBytes?: number;
}

/** A transport of the SDK (`TransportFactory` of `@a2a-js/sdk/client`). */
export interface A2aTransportFactory {
  /** As cards name it, such as `GRPC`. */
  readonly protocolName: string;
  create(url: string, card: object): Promise<object>;
}

export interface SendOptions {
  /** The conversation to go on with. Default: a new one. */
  readonly contextId?: string;
  /**
   * Names the message. An agent of the profile takes the same message once, however often it is sent, for a day: keep the id, and
   * you can send again after a crash of your own. Default: 128 random bits.
   */
  readonly messageId?: string;
  /** `reject`: rather not at all than behind another turn of the same context (`CONTEXT_BUSY`). Default: wait in line. */
  readonly delivery?: "reject";
  /** Tasks that the message is about. */
  readonly referenceTaskIds?: readonly string[];
  /** A webhook that is told of the task from its beginning. Its token is `task.pushToken`. */
  readonly push?: PushTarget;
  /** Aborting it ends the call. Whether the agent took the message is then not known; the same `messageId` finds out. */
  readonly signal?: AbortSignal;
}

export interface TasksOptions {
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks whose state was recorded then or later. */
  readonly since?: Date;
  /** Asked for at a time; 1-100. Default: the agent's. */
  readonly pageSize?: number;
  /** Whether their artifacts come along, and with them `output` and `files`. Default: false. */
  readonly artifacts?: boolean;
  readonly signal?: AbortSignal;
}

/** An agent, to its caller. Everything on it throws A2aClientError; what the agent answered is `a2a.…`. */
export interface A2aClient {
  /** What the agent says of itself, as it was read last. */
  readonly card: AgentCard;
  /**
   * Sends a message, and returns its task as soon as the agent has taken it.
   *
   * @param content A text, or parts (A2A 1.0, section 4.1.6), at least one.
   * @throws A2aClientError `send.unknown`: the agent may have taken it.
   */
  send(content: string | readonly Part[], options?: SendOptions): Promise<A2aTask>;
  /**
   * Takes up a task again, by its id: after a restart of this program, say.
   *
   * @throws A2aClientError `a2a.taskNotFound`.
   */
  task(id: string, options?: { readonly signal?: AbortSignal }): Promise<A2aTask>;
  /** Your tasks at this agent, the one whose state changed last first. */
  tasks(options?: TasksOptions): AsyncGenerator<A2aTask, void, undefined>;
  /** A conversation: messages that belong together. @param contextId One that you have. Default: a new one, which begins with its first message. */
  context(contextId?: string): Conversation;
}

/**
 * Reads an agent's card and makes a client of it.
 *
 * ```ts
 * const agent = await createA2aClient({ url: "https://example.com/v1/a2a/agents/refunds/", auth: process.env.KEY });
 * const task = await agent.send("Refund order 1001");
 * ```
 *
 * @throws A2aClientError `card.notFound`, `card.invalid`, `card.unsupported`, `call.invalid`, and those of any call.
 */
export async function createA2aClient(options: A2aClientOptions): Promise<A2aClient> {
  const { url, card, extensions = EXTENSION_URIS } = options;
  const fetch: typeof globalThis.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const limits = limitsOf(options);
  const exchange = { ...limits, fetch, credentials: credentialsOf(options.auth) };
  if ((url === undefined) === (card === undefined)) throw invalidCall("Give either the agent's url or its card.");
  const source = card === undefined ? await CardSource.find(url as string, exchange) : CardSource.of(card, exchange);
  const transports = (options.transports ?? []) as readonly TransportFactory[];
  const connection = await Connection.open({
    ...limits,
    source,
    exchange: createExchange(exchange),
    transports,
    extensions,
  });
  const active = new Set(extensions);
  return new Client({
    connection,
    agent: nameOf(connection),
    pollMs: limits.pollMs,
    historyLength: limits.historyLength,
    maxAnswerBytes: limits.maxAnswerBytes,
    isActive: (uri) => active.has(uri),
    async download(from, signal) {
      try {
        return await fetch(from, { credentials: "omit", ...(signal && { signal }) });
      } catch (error) {
        throw networkError(error, signal);
      }
    },
  });
}

type Limits = Required<
  Pick<
    A2aClientOptions,
    "timeoutMs" | "sendTimeoutMs" | "patienceMs" | "pollMs" | "historyLength" | "silenceMs" | "maxAnswerBytes"
  >
>;

function limitsOf(options: A2aClientOptions): Limits {
  const limits: Limits = {
    timeoutMs: options.timeoutMs ?? 30_000,
    sendTimeoutMs: options.sendTimeoutMs ?? 330_000,
    patienceMs: options.patienceMs ?? 120_000,
    pollMs: options.pollMs ?? 5_000,
    historyLength: options.historyLength ?? 1,
    silenceMs: options.silenceMs ?? 60_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 8 * 1024 * 1024,
  };
  for (const [name, value] of Object.entries(limits)) {
    const least = name === "patienceMs" ? 0 : 1;
    // Timers take no more, and fire at once instead.
    if (!(value >= least && value < 2 ** 31))
      throw invalidCall(`${name} must be a number from ${least} to 2147483647; it is ${value}.`);
  }
  return limits;
}

/** Its id where the address is a Runtime's, else what it calls itself. */
function nameOf({ url, card }: Connection): string {
  return /\/v1\/a2a\/agents\/([a-z0-9][a-z0-9-]{0,63})\/?$/.exec(url)?.[1] ?? card.name;
}

class Client implements A2aClient {
  readonly #context: TaskContext;

  constructor(context: TaskContext) {
    this.#context = context;
  }

  get card(): AgentCard {
    return this.#context.connection.card;
  }

  async send(content: string | readonly Part[], options: SendOptions = {}): Promise<A2aTask> {
    const { contextId, messageId, delivery, referenceTaskIds, signal } = options;
    const push = options.push && pushConfigOf(options.push);
    const { message, configuration } = messageRequest({
      parts: partsOf(content),
      contextId,
      ...(messageId !== undefined && { messageId }),
      ...(delivery !== undefined && { metadata: { delivery } }),
      ...(referenceTaskIds && { referenceTaskIds }),
    });
    const { historyLength } = this.#context;
    const request = {
      message,
      configuration: { ...configuration, historyLength, ...(push && { taskPushNotificationConfig: push }) },
    };
    return taskOf(await this.#context.connection.send(request, { signal }), this.#context, push?.token);
  }

  async task(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<A2aTask> {
    return taskOf(
      { task: await this.#context.connection.getTask(id, { historyLength: this.#context.historyLength, signal }) },
      this.#context,
    );
  }

  async *tasks(options: TasksOptions = {}): AsyncGenerator<A2aTask, void, undefined> {
    const { contextId, state, since, pageSize, artifacts, signal } = options;
    const filter: ListTasksRequest = {
      historyLength: this.#context.historyLength,
      ...(contextId !== undefined && { contextId }),
      ...(state !== undefined && { status: state }),
      ...(since !== undefined && { statusTimestampAfter: since.toISOString() }),
      ...(pageSize !== undefined && { pageSize }),
      ...(artifacts === true && { includeArtifacts: true }),
    };
    for (let pageToken = "", empty = 0; ;) {
      const page: ListTasksRequest = pageToken === "" ? filter : { ...filter, pageToken };
      const { tasks, nextPageToken } = await this.#context.connection.listTasks(page, { signal });
      for (const task of tasks) yield taskOf({ task }, this.#context);
      if (nextPageToken === "") return;
      if (nextPageToken === pageToken) throw samePage();
      // Who reads them decides when it is enough, but of nothing nobody can.
      empty = tasks.length === 0 ? empty + 1 : 0;
      if (empty > MOST_EMPTY) throw noEnd();
      pageToken = nextPageToken;
    }
  }

  context(contextId?: string): Conversation {
    return createConversation(this, contextId);
  }
}

/** Pages of tasks in a row that may hold none: an agent that filters may give some. */
const MOST_EMPTY = 100;

function partsOf(content: string | readonly Part[]): readonly Part[] {
  if (typeof content === "string") return [{ text: content }];
  if (Array.isArray(content) && content.length > 0) return content as readonly Part[];
  throw invalidCall("A message must have a text or at least one part.");
}
