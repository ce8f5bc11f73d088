/** What a program installs to call agents: any A2A 1.0 agent well, and one of the Nylorun profile fully. */
export { createA2aClient } from "./client.ts";
export type { A2aClient, A2aClientOptions, A2aTransportFactory, SendOptions, TasksOptions } from "./client.ts";
export type { Conversation } from "./conversation.ts";
export type { Auth, AuthValue } from "../auth.ts";
export { A2aClientError } from "./errors.ts";
export type { A2aClientErrorCode, A2aClientErrorDetails, A2aWireCode } from "./errors.ts";
export { createA2aHandler } from "./gateway.ts";
export type { A2aHandler, A2aHandlerOptions } from "./gateway.ts";
export type { DownloadOptions, RemoteFile } from "./files.ts";
export type { Interaction, OpenApproval, OpenConnection, OpenQuestion } from "./interaction.ts";
export { toProgressEvent } from "./progress.ts";
export type { PushConfig, PushConfigs, PushTarget } from "./push-configs.ts";
export type { SeenIds } from "./seen-ids.ts";
export type { A2aTask, ReplyOptions, WaitOptions } from "./task.ts";
export type { TaskView, Totals } from "./view.ts";
export { verifyWebhook } from "./webhook.ts";
export type { RawRequest, VerifiedWebhook, WebhookOptions } from "./webhook.ts";
export type {
  AgentCard,
  Artifact,
  FieldViolation,
  Message,
  Part,
  PlanStep,
  PlanStepState,
  ProgressEvent,
  SecurityRequirement,
  SecurityScheme,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from "@nylorun/protocol";
