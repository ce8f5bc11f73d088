import type * as Sdk from "@a2a-js/sdk";
/**
 * Between the SDK's types and the wire's: the SDK's transports take and give messages in the shape of protocol buffers, everything else in
 * here works with A2A's JSON form. What the SDK fills in (empty texts and lists) is left out again, so that what is not there is
 * absent.
 */
import { TASK_STATES } from "@nylorun/protocol";
import type {
  Artifact,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  Part,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from "@nylorun/protocol";

import { decodeBase64, encodeBase64 } from "./base64.ts";
import { invalidAnswer } from "./errors.ts";
import { rawOfUrl, urlOfRaw } from "./raw-parts.ts";

/* oxlint-disable typescript/no-unsafe-enum-assignment, typescript/no-unsafe-enum-comparison -- the values of the SDK's enums would bring a second copy of the SDK along */

/** The SDK's numbers of the states, in its order; 0 stands for none. */
const STATES: readonly (TaskState | undefined)[] = [undefined, ...TASK_STATES];

const ROLE_USER = 1;
const ROLE_AGENT = 2;

/** How raw bytes leave: around the SDK's Buffer, or, on a transport that is not ours to watch, as bytes. */
export type RawForm = "url" | "bytes";

export function toSdkRequest({ message, configuration }: SendMessageRequest, form: RawForm): Sdk.SendMessageRequest {
  const push = configuration?.taskPushNotificationConfig;
  return {
    tenant: "",
    message: toSdkMessage(message, form),
    configuration: {
      acceptedOutputModes: [...(configuration?.acceptedOutputModes ?? [])],
      taskPushNotificationConfig: push && toSdkPushConfig(push),
      historyLength: configuration?.historyLength,
      returnImmediately: configuration?.returnImmediately ?? false,
    },
    metadata: undefined,
  };
}

function toSdkMessage(message: Message, form: RawForm): Sdk.Message {
  return {
    messageId: message.messageId,
    contextId: message.contextId ?? "",
    taskId: message.taskId ?? "",
    role: message.role === "ROLE_USER" ? ROLE_USER : ROLE_AGENT,
    parts: message.parts.map((part) => toSdkPart(part, form)),
    metadata: message.metadata,
    extensions: [...(message.extensions ?? [])],
    referenceTaskIds: [...(message.referenceTaskIds ?? [])],
  };
}

function toSdkPart(part: Part, form: RawForm): Sdk.Part {
  return {
    content: contentOf(part, form),
    metadata: part.metadata,
    filename: part.filename ?? "",
    mediaType: part.mediaType ?? "",
  };
}

function contentOf(part: Part, form: RawForm): Sdk.Part["content"] {
  if (part.text !== undefined) return { $case: "text", value: part.text };
  if (part.url !== undefined) return { $case: "url", value: part.url };
  if (part.raw === undefined) return { $case: "data", value: part.data };
  if (form === "url") return { $case: "url", value: urlOfRaw(part.raw) };
  // The SDK's type says Buffer; what it does with it, it does with any bytes.
  return { $case: "raw", value: decodeBase64(part.raw) as Uint8Array as never };
}

export function toSdkList(request: ListTasksRequest): Sdk.ListTasksRequest {
  return {
    tenant: "",
    contextId: request.contextId ?? "",
    status: STATES.indexOf(request.status),
    pageSize: request.pageSize,
    pageToken: request.pageToken ?? "",
    historyLength: request.historyLength,
    statusTimestampAfter: request.statusTimestampAfter,
    includeArtifacts: request.includeArtifacts,
  };
}

export function toSdkPushConfig(config: TaskPushNotificationConfig): Sdk.TaskPushNotificationConfig {
  const { authentication } = config;
  return {
    tenant: "",
    id: config.id ?? "",
    taskId: config.taskId ?? "",
    url: config.url,
    token: config.token ?? "",
    authentication: authentication && {
      scheme: authentication.scheme,
      credentials: authentication.credentials ?? "",
    },
  };
}

export function fromSdkPushConfig(config: Sdk.TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { authentication } = config;
  return {
    ...optional("id", config.id),
    ...optional("taskId", config.taskId),
    url: config.url,
    ...optional("token", config.token),
    ...(authentication && {
      authentication: { scheme: authentication.scheme, ...optional("credentials", authentication.credentials) },
    }),
  };
}

/** @throws A2aClientError `answer.invalid`: there is neither a task nor a message in it. */
export function fromSdkResult(result: Sdk.Message | Sdk.Task): SendMessageResponse {
  return "messageId" in result ? { message: fromSdkMessage(result) } : { task: fromSdkTask(result) };
}

/** @throws A2aClientError `answer.invalid`: no id, no status, or a state that the protocol does not have. */
export function fromSdkTask(task: Sdk.Task): Task {
  if (task.id === "") throw invalidAnswer("The agent answered without a task.");
  const { artifacts, history, metadata } = task;
  return {
    id: task.id,
    ...optional("contextId", task.contextId),
    status: fromSdkStatus(task.status),
    ...(artifacts.length > 0 && { artifacts: artifacts.map(fromSdkArtifact) }),
    ...(history.length > 0 && { history: history.map(fromSdkMessage) }),
    ...(metadata && { metadata }),
  };
}

export function fromSdkList(list: Sdk.ListTasksResponse): ListTasksResponse {
  const { tasks, nextPageToken, pageSize, totalSize } = list;
  return { tasks: tasks.map(fromSdkTask), nextPageToken, pageSize, totalSize };
}

/** @throws A2aClientError `answer.invalid`. */
export function fromSdkEvent({ payload }: Sdk.StreamResponse): StreamResponse {
  switch (payload?.$case) {
    case "task":
      return { task: fromSdkTask(payload.value) };
    case "message":
      return { message: fromSdkMessage(payload.value) };
    case "statusUpdate": {
      const { taskId, contextId, status, metadata } = payload.value;
      return { statusUpdate: { taskId, contextId, status: fromSdkStatus(status), ...(metadata && { metadata }) } };
    }
    case "artifactUpdate": {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      if (artifact === undefined) throw invalidAnswer("The agent sent an artifact update without an artifact.");
      return {
        artifactUpdate: {
          taskId,
          contextId,
          artifact: fromSdkArtifact(artifact),
          ...(append && { append }),
          ...(lastChunk && { lastChunk }),
          ...(metadata && { metadata }),
        },
      };
    }
    case undefined:
      throw invalidAnswer("The agent sent an update with nothing in it.");
  }
}

function fromSdkStatus(status: Sdk.TaskStatus | undefined): TaskStatus {
  const state = status && STATES[status.state];
  if (status === undefined || state === undefined) {
    throw invalidAnswer("The agent's task is in none of the states that A2A 1.0 has.");
  }
  const { message, timestamp } = status;
  return { state, ...(message && { message: fromSdkMessage(message) }), ...optional("timestamp", timestamp ?? "") };
}

function fromSdkMessage(message: Sdk.Message): Message {
  const { metadata, extensions, referenceTaskIds } = message;
  return {
    messageId: message.messageId,
    ...optional("contextId", message.contextId),
    ...optional("taskId", message.taskId),
    role: message.role === ROLE_USER ? "ROLE_USER" : "ROLE_AGENT",
    parts: message.parts.map(fromSdkPart),
    ...(metadata && { metadata }),
    ...(extensions.length > 0 && { extensions }),
    ...(referenceTaskIds.length > 0 && { referenceTaskIds }),
  };
}

function fromSdkArtifact(artifact: Sdk.Artifact): Artifact {
  const { metadata, extensions } = artifact;
  return {
    artifactId: artifact.artifactId,
    ...optional("name", artifact.name),
    ...optional("description", artifact.description),
    parts: artifact.parts.map(fromSdkPart),
    ...(metadata && { metadata }),
    ...(extensions.length > 0 && { extensions }),
  };
}

function fromSdkPart({ content, metadata, filename, mediaType }: Sdk.Part): Part {
  const rest = {
    ...optional("filename", filename),
    ...optional("mediaType", mediaType),
    ...(metadata && { metadata }),
  };
  switch (content?.$case) {
    case "text":
      return { text: content.value, ...rest };
    case "raw":
      return { raw: encodeBase64(content.value), ...rest };
    case "url": {
      const raw = rawOfUrl(content.value);
      return raw === undefined ? { url: content.value, ...rest } : { raw, ...rest };
    }
    case "data":
      return { data: content.value as unknown, ...rest };
    case undefined:
      // The SDK takes `"data": null` for no content at all.
      return { data: null, ...rest };
  }
}

function optional<const Key extends string>(key: Key, value: string): { readonly [K in Key]?: string } {
  return value === "" ? {} : ({ [key]: value } as { readonly [K in Key]?: string });
}
