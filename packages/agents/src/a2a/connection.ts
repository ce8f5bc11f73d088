import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import type { RequestOptions, Transport, TransportFactory } from "@a2a-js/sdk/client";
/**
 * The line to one agent: calls over the transport that its card names, tried again where that is safe, in the wire's own types.
 *
 * What may be tried again, and on which errors:
 *
 * | call                                  | no answer at all         | 429, 503 | never arrived |
 * |---------------------------------------|--------------------------|----------|---------------|
 * | Get, List, Cancel, push configs       | again                    | again    | again         |
 * | Send, to an agent of the profile      | again, same message id   | again    | again         |
 * | Send, to any other agent              | `send.unknown`           | again    | again         |
 *
 * The profile promises that a message sent again is the same turn (I3); A2A itself only says that an agent may see to that
 * (A2A 1.0, section 3.3.1), and then sending twice might do the work twice.
 */
import { A2A_VERSION, EXTENSION_URIS } from "@nylorun/protocol";
import type {
  AgentCard,
  AgentInterface,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from "@nylorun/protocol";

import { chooseInterface } from "./card.ts";
import type { CardSource } from "./card.ts";
import { A2aClientError, invalidAnswer, wireError } from "./errors.ts";
import type { WireError } from "./errors.ts";
import type { Fetch } from "./exchange.ts";
import { BackOff, pause } from "./patience.ts";
import {
  fromSdkEvent,
  fromSdkList,
  fromSdkPushConfig,
  fromSdkResult,
  fromSdkTask,
  toSdkList,
  toSdkPushConfig,
  toSdkRequest,
} from "./sdk.ts";
import type { RawForm } from "./sdk.ts";

export interface ConnectionOptions {
  readonly source: CardSource;
  /** `createExchange`'s, for the transports of our own. */
  readonly exchange: Fetch;
  /** More transports than JSON-RPC and HTTP+JSON. */
  readonly transports: readonly TransportFactory[];
  /** What `A2A-Extensions` asks for. */
  readonly extensions: readonly string[];
  /** For one attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** For one attempt of SendMessage to an agent that may answer only when the task has ended. */
  readonly sendTimeoutMs: number;
  /** How long a call is tried again, in milliseconds. */
  readonly patienceMs: number;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

interface Plan extends CallOptions {
  readonly timeoutMs: number;
  readonly again: (error: A2aClientError) => boolean;
}

type Work<T> = (transport: Transport, options: RequestOptions) => Promise<T>;

interface Line {
  readonly to: AgentInterface;
  readonly transport: Transport;
  readonly raw: RawForm;
}

export class Connection {
  readonly #options: ConnectionOptions;
  #line: Line;
  /** Whether to try streams: the card offers them, and none has been refused since. */
  #streams = true;

  private constructor(options: ConnectionOptions, line: Line) {
    this.#options = options;
    this.#line = line;
  }

  /** @throws A2aClientError `card.unsupported`, `card.invalid`. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    return new Connection(options, await lineTo(options));
  }

  get card(): AgentCard {
    return this.#options.source.card;
  }

  /** Where calls go. */
  get url(): string {
    return this.#line.to.url;
  }

  get streams(): boolean {
    return this.#streams && this.card.capabilities?.streaming === true;
  }

  /** From now on the agent is polled. */
  stopStreaming(): void {
    this.#streams = false;
  }

  /** Whether the agent keeps to the profile, whose messages can be sent again. */
  get isProfiled(): boolean {
    // A card may hold anything there.
    const declared: unknown = this.card.capabilities?.extensions;
    const ours: readonly unknown[] = EXTENSION_URIS;
    return Array.isArray(declared) && declared.some((one: { uri?: unknown } | null) => ours.includes(one?.uri));
  }

  /** @throws A2aClientError `send.unknown`, and those of any call. */
  async send(request: SendMessageRequest, { signal }: CallOptions): Promise<SendMessageResponse> {
    const { source, timeoutMs, sendTimeoutMs } = this.#options;
    // Not waited for: what the card says now serves this call as well.
    if (source.isStale) void this.#moved();
    const safe = this.isProfiled;
    const work: Work<SendMessageResponse> = async (transport, options) =>
      fromSdkResult(await transport.sendMessage(toSdkRequest(request, this.#line.raw), options));
    try {
      return await this.#call(work, {
        signal,
        // An agent that does as it is told answers at once; the others take as long as the task, or their own limit.
        timeoutMs: safe ? timeoutMs : sendTimeoutMs,
        again: (error) => isTransient(error) && (safe || neverArrived(error)),
      });
    } catch (error) {
      if (!(error instanceof A2aClientError) || error.code !== "agent.unreachable" || neverArrived(error)) throw error;
      throw new A2aClientError(
        "send.unknown",
        `Whether the agent took the message is not known: ${error.message} Send it again with this messageId, or look for its task.`,
        { cause: error, messageId: request.message.messageId },
      );
    }
  }

  getTask(id: string, options: CallOptions & { readonly historyLength?: number | undefined } = {}): Promise<Task> {
    const { historyLength } = options;
    return this.#ask(options, async (transport, request) =>
      fromSdkTask(await transport.getTask({ tenant: "", id, historyLength }, request)),
    );
  }

  cancelTask(id: string, options: CallOptions = {}): Promise<Task> {
    return this.#ask(options, async (transport, request) =>
      fromSdkTask(await transport.cancelTask({ tenant: "", id, metadata: undefined }, request)),
    );
  }

  listTasks(filter: ListTasksRequest, options: CallOptions = {}): Promise<ListTasksResponse> {
    return this.#ask(options, async (transport, request) =>
      fromSdkList(await transport.listTasks(toSdkList(filter), request)),
    );
  }

  createPushConfig(config: TaskPushNotificationConfig, options: CallOptions = {}): Promise<TaskPushNotificationConfig> {
    return this.#ask(options, async (transport, request) =>
      fromSdkPushConfig(await transport.createTaskPushNotificationConfig(toSdkPushConfig(config), request)),
    );
  }

  getPushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<TaskPushNotificationConfig> {
    return this.#ask(options, async (transport, request) =>
      fromSdkPushConfig(await transport.getTaskPushNotificationConfig({ tenant: "", taskId, id }, request)),
    );
  }

  async listPushConfigs(taskId: string, options: CallOptions = {}): Promise<readonly TaskPushNotificationConfig[]> {
    const configs: TaskPushNotificationConfig[] = [];
    let pageToken = "";
    do {
      const question = { tenant: "", taskId, pageSize: 0, pageToken };
      const page = await this.#ask(options, async (transport, request) => {
        const { configs: some, nextPageToken } = await transport.listTaskPushNotificationConfig(question, request);
        return { some: some.map(fromSdkPushConfig), next: nextPageToken };
      });
      if (page.next !== "" && page.next === pageToken) throw samePage();
      configs.push(...page.some);
      if (configs.length > MOST_CONFIGS || (page.some.length === 0 && page.next !== "")) throw noEnd();
      pageToken = page.next;
    } while (pageToken !== "");
    return configs;
  }

  deletePushConfig(taskId: string, id: string, options: CallOptions = {}): Promise<void> {
    return this.#ask(options, (transport, request) =>
      transport.deleteTaskPushNotificationConfig({ tenant: "", taskId, id }, request),
    );
  }

  /** The updates of a task that has not ended. Tried once: who reads them knows how to go on without. */
  async *subscribe(id: string, signal: AbortSignal): AsyncGenerator<StreamResponse, void, undefined> {
    try {
      const events = this.#line.transport.resubscribeTask({ tenant: "", id }, this.#request(signal));
      for await (const event of events) yield fromSdkEvent(event);
    } catch (error) {
      throw signal.aborted ? signal.reason : clientError(error);
    }
  }

  #ask<T>({ signal }: CallOptions, work: Work<T>): Promise<T> {
    return this.#call(work, { signal, timeoutMs: this.#options.timeoutMs, again: isTransient });
  }

  async #call<T>(work: Work<T>, { signal, timeoutMs, again }: Plan): Promise<T> {
    const backOff = new BackOff(250, 8_000);
    const deadline = Date.now() + this.#options.patienceMs;
    for (let looked = false; ;) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const limits = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
        return await work(this.#line.transport, this.#request(limits));
      } catch (caught) {
        if (signal?.aborted) throw signal.reason;
        const error = timeout.aborted ? tooLate(timeoutMs) : clientError(caught);
        if (!looked && (isMisdirected(error) || again(error))) {
          looked = true;
          if (await this.#moved()) continue;
        }
        const left = deadline - Date.now();
        const { retryAfterMs = 0 } = error;
        if (!again(error) || left <= 0 || retryAfterMs > left) throw error;
        const wait = Math.min(Math.max(retryAfterMs, backOff.next()), left);
        await pause(wait, signal);
      }
    }
  }

  #request(signal: AbortSignal): RequestOptions {
    const { extensions } = this.#options;
    return {
      signal,
      serviceParameters: {
        "A2A-Version": A2A_VERSION,
        ...(extensions.length > 0 && { "A2A-Extensions": extensions.join(", ") }),
      },
    };
  }

  /** Reads the card again. True when calls go elsewhere from now on. */
  async #moved(): Promise<boolean> {
    try {
      if (!(await this.#options.source.readAgain())) return false;
      this.#streams = true;
      const before = this.#line.to;
      this.#line = await lineTo(this.#options);
      const { url, protocolBinding, tenant } = this.#line.to;
      return url !== before.url || protocolBinding !== before.protocolBinding || tenant !== before.tenant;
    } catch {
      return false; // The card is no better off than the agent; what the agent said is what counts.
    }
  }
}

/** The SDK's transport for the interface that is chosen. */
async function lineTo({ source, exchange, transports }: ConnectionOptions): Promise<Line> {
  const ours = [
    new JsonRpcTransportFactory({ fetchImpl: exchange }),
    new RestTransportFactory({ fetchImpl: exchange }),
  ];
  const isOurs = ({ protocolName }: TransportFactory) =>
    !transports.some((other) => other.protocolName.toUpperCase() === protocolName.toUpperCase());
  const factories: TransportFactory[] = [...ours.filter(isOurs), ...transports];
  const names = factories.map(({ protocolName }) => protocolName);
  const { card, address } = source;
  const to = chooseInterface(card, names, address);
  // The factory chooses by binding alone, so it is shown the one that is chosen.
  const shown = { ...card, supportedInterfaces: [to] } as unknown as Parameters<
    ClientFactory["createFromAgentCard"]
  >[0];
  const { transport } = await new ClientFactory({ transports: factories }).createFromAgentCard(shown);
  const handedIn = transports.some(
    ({ protocolName }) => protocolName.toUpperCase() === to.protocolBinding.toUpperCase(),
  );
  return { to, transport, raw: handedIn ? "bytes" : "url" };
}

/** What may be over in a moment. */
function isTransient({ code }: A2aClientError): boolean {
  return code === "agent.unreachable" || code === "agent.busy";
}

/** Nobody has seen the request: it was turned away at the door, or there was no door. */
function neverArrived(error: A2aClientError): boolean {
  if (error.code === "agent.busy") return true;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    // Only Node's fetch says so; a page is not told why there was no answer.
    if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN") return true;
  }
  return false;
}

/** There is no such agent at that address (any more). */
function isMisdirected({ code, status }: A2aClientError): boolean {
  if (code === "agent.redirected") return true;
  return code === "agent.refused" && (status === 404 || status === 405 || status === 410 || status === 421);
}

function tooLate(timeoutMs: number): A2aClientError {
  return new A2aClientError("agent.unreachable", `The agent did not answer within ${timeoutMs} ms.`);
}

/** Of one task: more are no list, but an answer without an end. */
const MOST_CONFIGS = 10_000;

export function noEnd(): A2aClientError {
  return invalidAnswer("The agent names ever more pages.");
}

export function samePage(): A2aClientError {
  return invalidAnswer("The agent names the page that it just gave as the next one.");
}

/** What a transport threw. Ours throw an A2aClientError, or the SDK's complaint about an answer; gRPC has errors of its own. */
function clientError(error: unknown): A2aClientError {
  if (error instanceof A2aClientError) return error;
  const { message, reason, metadata, cause } = error as Error & {
    readonly reason?: unknown;
    readonly metadata?: unknown;
  };
  if (cause instanceof A2aClientError) return cause;
  const sdk = [error, cause].find((one) => typeof (one as WireError | undefined)?.["envelopeCode"] === "number");
  if (sdk !== undefined) {
    const { envelopeCode, data, message: said } = sdk as WireError;
    return wireError({ code: envelopeCode, message: said, data });
  }
  if (typeof reason === "string") {
    return wireError({ message, details: [{ "@type": "google.rpc.ErrorInfo", reason, metadata }] });
  }
  if ((error as WireError)["code"] === 14 /* gRPC's UNAVAILABLE */) {
    return new A2aClientError("agent.unreachable", `The agent did not answer: ${message}.`, { cause: error });
  }
  return invalidAnswer(`The answer makes no sense: ${message}`, error);
}
