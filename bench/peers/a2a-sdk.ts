/**
 * The official SDK's Express server, as its samples set it up, with an executor that answers one text at once.
 *
 *     node bench/peers/a2a-sdk.ts PORT [DATABASE [push]]
 *
 * Without a database, or with an empty one, it keeps tasks in memory. With `push` it sends to webhooks, as the SDK has it. Prints `listening on PORT` when it serves.
 */
import type { AddressInfo } from "node:net";

import { A2A_PROTOCOL_VERSION, AGENT_CARD_PATH, TaskState } from "@a2a-js/sdk";
import type { AgentCard } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import type { AgentExecutor, ExecutionEventBus, RequestContext, TaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) {
    const status = (state: TaskState) => ({ state, timestamp: new Date().toISOString(), message: undefined });
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: status(TaskState.TASK_STATE_WORKING),
        metadata: undefined,
      }),
    );
    bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: {
          artifactId: "output",
          name: "output",
          description: "",
          parts: [
            {
              content: { $case: "text", value: "Here is your answer." },
              metadata: undefined,
              filename: "",
              mediaType: "text/plain",
            },
          ],
          metadata: undefined,
          extensions: [],
        },
        append: false,
        lastChunk: true,
        metadata: undefined,
      }),
    );
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: status(TaskState.TASK_STATE_COMPLETED),
        metadata: undefined,
      }),
    );
    bus.finished();
  },
  async cancelTask() {},
};

const card = (port: number, pushNotifications: boolean): AgentCard => ({
  name: "Answer",
  description: "Answers one text at once.",
  supportedInterfaces: [
    {
      url: `http://127.0.0.1:${port}/`,
      protocolBinding: "JSONRPC",
      tenant: "",
      protocolVersion: A2A_PROTOCOL_VERSION,
    },
  ],
  provider: undefined,
  version: "1.0.0",
  capabilities: { streaming: false, pushNotifications, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  documentationUrl: "",
  signatures: [],
});

// The SQL modules are loaded only where they are used, so that the other server starts as fast as it can.
async function openStore(file: string | undefined): Promise<TaskStore> {
  if (file === undefined || file === "") return new InMemoryTaskStore();
  const [{ DatabaseTaskStore }, { Kysely }, { openDatabase }] = await Promise.all([
    import("@a2a-js/sdk/server/database"),
    import("kysely"),
    import("./sqlite.ts"),
  ]);
  return new DatabaseTaskStore(new Kysely({ dialect: openDatabase(file) }));
}

const [port = "0", database, push] = process.argv.slice(2);
const store = await openStore(database);
const app = express();
const server = app.listen(Number(port), "127.0.0.1", (error) => {
  if (error) throw error;
  const { port: bound } = server.address() as AddressInfo;
  const webhooks = push === "push" ? new InMemoryPushNotificationStore() : undefined;
  const sender = webhooks && new DefaultPushNotificationSender(webhooks);
  const ours = card(bound, webhooks !== undefined);
  const handler = new DefaultRequestHandler(ours, store, executor, undefined, webhooks, sender);
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: handler }));
  app.use(jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
  console.log(`listening on ${bound}`);
});
process.once("SIGTERM", () => process.exit(0));
