/**
 * The official SDK's Express server with an agent of a few words, over JSON-RPC and HTTP+JSON, and its gRPC server. As its `profile` says, it speaks the
 * extensions of the profile, or is a plain A2A 1.0 agent.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

import { Role, TaskState } from "@a2a-js/sdk";
import type { AgentCard, Artifact, Message, Part, TaskStatus } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import type { A2ARequestHandler, AgentExecutor, ExecutionEventBus, RequestContext } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from "@a2a-js/sdk/server/grpc";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { EXTENSION_URIS, EXTENSIONS } from "@nylorun/protocol";
import type { ExtensionData, OpenInteraction } from "@nylorun/protocol";
import express from "express";

export interface SdkServerOptions {
  readonly profile: boolean;
  readonly streaming: boolean;
  /** In the order of the card. Default: JSON-RPC. */
  readonly bindings?: readonly ("JSONRPC" | "HTTP+JSON" | "GRPC")[];
}

export const CSV = "day,visits\nMon,12\nTue,40\n";
const CSV_SHA256 = createHash("sha256").update(CSV).digest("hex");
export const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

export class SdkServer implements AsyncDisposable {
  readonly url: string;
  /** What was asked for so far: one answer, or a stream of them. */
  readonly calls: ("call" | "stream")[] = [];
  readonly #server: Server;
  readonly #grpc = new GrpcServer();
  readonly #agent: FewWords;

  private constructor(server: Server, agent: FewWords, url: string) {
    this.#server = server;
    this.#agent = agent;
    this.url = url;
  }

  static async start({ profile, streaming, bindings = ["JSONRPC"] }: SdkServerOptions): Promise<SdkServer> {
    const app = express();
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const agent = new FewWords(url, profile);
    const started = new SdkServer(server, agent, `${url}/`);
    const pushes = new InMemoryPushNotificationStore();
    const grpcPort = await started.#listenGrpc();
    const handler = new DefaultRequestHandler(
      cardOf(
        { JSONRPC: `${url}/rpc`, "HTTP+JSON": `${url}/rest`, GRPC: `127.0.0.1:${grpcPort}` },
        { profile, streaming, bindings },
      ),
      new InMemoryTaskStore(),
      agent,
      undefined,
      pushes,
      new DefaultPushNotificationSender(pushes, { timeout: 2_000 }),
    );
    const userBuilder = UserBuilder.noAuthentication;
    app.use((request, _response, next) => {
      started.calls.push(request.get("accept") === "text/event-stream" ? "stream" : "call");
      next();
    });
    app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
    app.get("/files/:link", (request, response) => agent.serveFile(request.params.link, response));
    app.use("/rest", restHandler({ requestHandler: handler, userBuilder }));
    app.use("/rpc", jsonRpcHandler({ requestHandler: handler, userBuilder }));
    started.#serveGrpc(handler);
    return started;
  }

  #serveGrpc(requestHandler: A2ARequestHandler): void {
    const service = grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication });
    const noted = Object.entries(A2AService).map(([name, { responseStream }]) => {
      const answer = service[name] as (...args: unknown[]) => unknown;
      const note = (...args: unknown[]) => {
        this.calls.push(responseStream ? "stream" : "call");
        return answer(...args);
      };
      return [name, note] as const;
    });
    this.#grpc.addService(A2AService, Object.fromEntries(noted));
  }

  #listenGrpc(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
    return promise;
  }

  /** Somebody approves, or connects, somewhere else: the agent goes on by itself. */
  authorize(taskId: string): void {
    this.#agent.goOn(taskId);
  }

  /** The links that the tasks carried so far lead nowhere any more. */
  expireLinks(): void {
    this.#agent.expireLinks();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#grpc.forceShutdown();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

type Binding = NonNullable<SdkServerOptions["bindings"]>[number];

function cardOf(
  urls: Readonly<Record<Binding, string>>,
  { profile, streaming, bindings = [] }: SdkServerOptions,
): AgentCard {
  return {
    name: "Few words",
    description: "For a test.",
    supportedInterfaces: bindings.map((protocolBinding) => ({
      url: urls[protocolBinding],
      protocolBinding,
      tenant: "",
      protocolVersion: "1.0",
    })),
    provider: undefined,
    version: "1.0.0",
    capabilities: {
      streaming,
      pushNotifications: true,
      extensions: profile
        ? EXTENSION_URIS.map((uri) => ({ uri, description: "", required: false, params: undefined }))
        : [],
      extendedAgentCard: false,
    },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    documentationUrl: "",
    signatures: [],
  };
}

/** What a task says, and what of it was asked for. */
interface Scene {
  readonly taskId: string;
  readonly contextId: string;
  readonly bus: ExecutionEventBus;
  readonly active: ReadonlySet<string>;
}

class FewWords implements AgentExecutor {
  readonly #url: string;
  readonly #profile: boolean;
  readonly #scenes = new Map<string, { readonly scene: Scene; readonly word: string }>();
  #links = 0;
  #oldestLink = 0;

  constructor(url: string, profile: boolean) {
    this.#url = url;
    this.#profile = profile;
  }

  serveFile(link: string, response: express.Response): void {
    if (Number(link) < this.#oldestLink) response.status(410).end();
    else response.type("text/csv").send(CSV);
  }

  expireLinks(): void {
    this.#oldestLink = this.#links + 1;
  }

  goOn(taskId: string): void {
    const { scene, word } = this.#scenes.get(taskId)!;
    this.#complete(scene, word === "connect" ? "Connected." : "Approved.");
  }

  async execute(
    { taskId, contextId, task, userMessage, context }: RequestContext,
    bus: ExecutionEventBus,
  ): Promise<void> {
    const active = new Set(this.#profile ? (context.requestedExtensions ?? []) : []);
    const scene: Scene = { taskId, contextId, bus, active };
    if (task !== undefined) {
      bus.publish(AgentEvent.task(task));
      this.#reply(scene, userMessage);
      return;
    }
    const word = textIn(userMessage);
    if (word === "reply") {
      bus.publish(AgentEvent.message(messageOf(scene, "Hello.")));
      bus.finished();
      return;
    }
    this.#scenes.set(taskId, { scene, word });
    const status = statusOf(TaskState.TASK_STATE_SUBMITTED);
    const history = [userMessage];
    bus.publish(AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history, metadata: undefined }));
    await this.#begin(scene, word);
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const { scene } = this.#scenes.get(taskId)!;
    this.#say({ ...scene, bus }, TaskState.TASK_STATE_CANCELED);
    bus.finished();
  }

  async #begin(scene: Scene, word: string): Promise<void> {
    switch (word) {
      case "work":
        this.#say(scene, TaskState.TASK_STATE_WORKING, "Working on it.", {
          data: { [EXTENSIONS.progress]: { steps: plan("active", "pending") } },
        });
        await new Promise((resolve) => setTimeout(resolve, 400));
        this.#complete(scene, "Worked.");
        return;
      case "file":
        this.#artifact(scene, this.#csv(scene));
        this.#complete(scene, "Here it is.");
        return;
      case "pieces":
        for (const [index, piece] of ["One ", "two ", "three."].entries()) {
          this.#artifact(scene, artifactOf("output", { $case: "text", value: piece }), index > 0);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        this.#say(scene, TaskState.TASK_STATE_COMPLETED);
        scene.bus.finished();
        return;
      case "slow":
        this.#say(scene, TaskState.TASK_STATE_WORKING, "Taking my time.");
        return;
      case "fail":
        this.#say(scene, TaskState.TASK_STATE_FAILED, "It did not work.");
        scene.bus.finished();
        return;
      default:
        this.#ask(scene, word);
    }
  }

  #ask(scene: Scene, word: string): void {
    const interactionId = `${scene.taskId}-1`;
    const asked: { readonly [word: string]: OpenInteraction } = {
      approve: { interactionId, kind: "approval", prompt: "Really?", detail: { amount: 42 } },
      connect: {
        interactionId,
        kind: "connection",
        prompt: "Connect it.",
        detail: { provider: "calendar", url: "https://example.com/" },
      },
      ask: { interactionId, kind: "question", prompt: "Which day?", detail: { choices: ["Mon", "Tue"] } },
    };
    const open = asked[word]!;
    const state = word === "ask" ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_AUTH_REQUIRED;
    this.#say(scene, state, open.prompt, { interaction: open });
  }

  /** The caller said something to a task that waits. */
  #reply(scene: Scene, message: Message): void {
    const { word } = this.#scenes.get(scene.taskId)!;
    const data = message.metadata?.[EXTENSIONS.interactions] as { approved?: boolean; value?: string } | undefined;
    if (word === "ask") this.#complete(scene, `You said ${data?.value ?? textIn(message)}.`);
    else if (data?.approved === true) this.#complete(scene, word === "connect" ? "Connected." : "Approved.");
    else if (data?.approved === false) this.#complete(scene, "Denied.");
    else this.#ask(scene, word); // Words approve nothing.
  }

  #complete(scene: Scene, text: string): void {
    this.#artifact(scene, artifactOf("output", { $case: "text", value: text }));
    this.#say(scene, TaskState.TASK_STATE_COMPLETED, undefined, {
      data: {
        [EXTENSIONS.progress]: { steps: plan("done", "done") },
        [EXTENSIONS.telemetry]: { steps: 1, tokens: 12, costUsd: 0.5, traceId: TRACE },
      },
    });
    scene.bus.finished();
  }

  #say(
    scene: Scene,
    state: TaskState,
    text?: string,
    { data, interaction }: { readonly data?: ExtensionData; readonly interaction?: OpenInteraction } = {},
  ): void {
    const { taskId, contextId, bus, active } = scene;
    const shown = Object.entries(data ?? {}).filter(([uri]) => active.has(uri));
    const message = text === undefined ? undefined : messageOf(scene, text);
    if (message !== undefined && interaction !== undefined && active.has(EXTENSIONS.interactions)) {
      message.metadata = { [EXTENSIONS.interactions]: interaction };
      message.extensions = [EXTENSIONS.interactions];
    }
    const metadata = shown.length === 0 ? undefined : Object.fromEntries(shown);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(state, message), metadata }));
  }

  #artifact({ taskId, contextId, bus }: Scene, artifact: Artifact, append = false): void {
    bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: false, metadata: undefined }),
    );
  }

  #csv({ active }: Scene): Artifact {
    const url = `${this.#url}/files/${(this.#links += 1)}`;
    const artifact = artifactOf("report", { $case: "url", value: url });
    artifact.parts[0]!.mediaType = "text/csv";
    artifact.parts[0]!.filename = "report.csv";
    if (!active.has(EXTENSIONS.files)) return artifact;
    artifact.extensions = [EXTENSIONS.files];
    artifact.metadata = {
      [EXTENSIONS.files]: { kind: "file", version: 2, size: CSV.length, sha256: CSV_SHA256, path: "out/report.csv" },
    };
    return artifact;
  }
}

function plan(...states: readonly string[]) {
  return states.map((state, index) => ({ label: ["Find", "Do"][index], state }));
}

function statusOf(state: TaskState, message?: Message): TaskStatus {
  return { state, message, timestamp: new Date().toISOString() };
}

function messageOf({ taskId, contextId }: Pick<Scene, "taskId" | "contextId">, text: string): Message {
  return {
    messageId: crypto.randomUUID(),
    taskId: text === "Hello." ? "" : taskId,
    contextId,
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function artifactOf(artifactId: string, content: NonNullable<Part["content"]>): Artifact {
  const parts = [{ content, metadata: undefined, filename: "", mediaType: "" }];
  return { artifactId, name: artifactId, description: "", parts, metadata: undefined, extensions: [] };
}

function textIn(message: Message): string {
  return message.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}
