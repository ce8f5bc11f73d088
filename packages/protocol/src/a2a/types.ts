/**
 * What A2A 1.0 says on the wire, in the lowerCamelCase JSON form (A2A 1.0, sections 3.2, 4 and 5.5).
 *
 * Types only: `requests.ts` reads them from what a caller sent. A field that is not there is absent, never `null`.
 */

/** `google.protobuf.Struct`: a JSON object whose keys the protocol does not name. */
export type Struct = Readonly<Record<string, unknown>>;

/** Where a task stands (section 4.1.3). The states of a task are decided in `states.ts`. */
export type TaskState =
  | "TASK_STATE_SUBMITTED"
  | "TASK_STATE_WORKING"
  | "TASK_STATE_COMPLETED"
  | "TASK_STATE_FAILED"
  | "TASK_STATE_CANCELED"
  | "TASK_STATE_INPUT_REQUIRED"
  | "TASK_STATE_REJECTED"
  | "TASK_STATE_AUTH_REQUIRED";

/** Who speaks (section 4.1.5). */
export type Role = "ROLE_USER" | "ROLE_AGENT";

interface PartFields {
  readonly metadata?: Struct;
  readonly filename?: string;
  /** Without one: see `mediaTypeOf`. */
  readonly mediaType?: string;
}

export interface TextPart extends PartFields {
  readonly text: string;
  readonly raw?: never;
  readonly url?: never;
  readonly data?: never;
}

export interface RawPart extends PartFields {
  /** Base64. */
  readonly raw: string;
  readonly text?: never;
  readonly url?: never;
  readonly data?: never;
}

export interface UrlPart extends PartFields {
  readonly url: string;
  readonly text?: never;
  readonly raw?: never;
  readonly data?: never;
}

export interface DataPart extends PartFields {
  /** Any JSON value, `null` too. */
  readonly data: unknown;
  readonly text?: never;
  readonly raw?: never;
  readonly url?: never;
}

/** A piece of content: exactly one of text, raw, url, data (section 4.1.6). */
export type Part = TextPart | RawPart | UrlPart | DataPart;

/** One thing said, by the caller or by the agent (section 4.1.4). */
export interface Message {
  readonly messageId: string;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly role: Role;
  /** At least one. */
  readonly parts: readonly Part[];
  readonly metadata?: Struct;
  /** URIs of the extensions that this message carries data of. */
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

/** An output of a task (section 4.1.7). */
export interface Artifact {
  /** Unique within the task. */
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  /** At least one. */
  readonly parts: readonly Part[];
  readonly metadata?: Struct;
  readonly extensions?: readonly string[];
}

/** Section 4.1.2. */
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** ISO 8601, UTC, milliseconds: when the status was recorded. */
  readonly timestamp?: string;
}

/** One turn as its caller sees it (section 4.1.1). */
export interface Task {
  readonly id: string;
  readonly contextId?: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: Struct;
}

/** Section 4.2.1. */
export interface TaskStatusUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly metadata?: Struct;
}

/** Section 4.2.2. */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Struct;
}

/** What a stream or a push carries: exactly one of four (section 3.2.3). */
export type StreamResponse =
  | { readonly task: Task; readonly message?: never; readonly statusUpdate?: never; readonly artifactUpdate?: never }
  | { readonly message: Message; readonly task?: never; readonly statusUpdate?: never; readonly artifactUpdate?: never }
  | {
      readonly statusUpdate: TaskStatusUpdateEvent;
      readonly task?: never;
      readonly message?: never;
      readonly artifactUpdate?: never;
    }
  | {
      readonly artifactUpdate: TaskArtifactUpdateEvent;
      readonly task?: never;
      readonly message?: never;
      readonly statusUpdate?: never;
    };

/** How to authenticate to a webhook (section 4.3.2). */
export interface AuthenticationInfo {
  /** An HTTP authentication scheme such as `Bearer`. */
  readonly scheme: string;
  readonly credentials?: string;
}

/** Where to push a task's updates (section 4.3.1). */
export interface TaskPushNotificationConfig {
  readonly tenant?: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: AuthenticationInfo;
}

/** Section 3.2.2. */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[];
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig;
  /** At most this many messages of history in the answer; 0: none; absent: as many as there are (section 3.2.4). */
  readonly historyLength?: number;
  readonly returnImmediately?: boolean;
}

/** Section 3.2.1. */
export interface SendMessageRequest {
  readonly tenant?: string;
  readonly message: Message;
  readonly configuration?: SendMessageConfiguration;
  readonly metadata?: Struct;
}

/** The task that a message began or went to, or the agent's own message (section 3.1.1). */
export type SendMessageResponse =
  | { readonly task: Task; readonly message?: never }
  | { readonly message: Message; readonly task?: never };

/** Section 3.1.3. */
export interface GetTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly historyLength?: number;
}

/** Section 3.1.4. */
export interface ListTasksRequest {
  readonly tenant?: string;
  readonly contextId?: string;
  readonly status?: TaskState;
  /** 1-100; absent: 50. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  /** `YYYY-MM-DDTHH:mm:ss.sssZ`; only tasks whose status changed then or later. */
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts?: boolean;
}

/** Section 3.1.4. All four fields are always there. */
export interface ListTasksResponse {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

/** Section 3.1.5. */
export interface CancelTaskRequest {
  readonly tenant?: string;
  readonly id: string;
  readonly metadata?: Struct;
}

/** Section 3.1.6. */
export interface SubscribeToTaskRequest {
  readonly tenant?: string;
  readonly id: string;
}

/** Section 3.1.7. */
export interface CreateTaskPushNotificationConfigRequest extends TaskPushNotificationConfig {
  readonly taskId: string;
}

/** Section 3.1.8. */
export interface GetTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly id: string;
}

/** Section 3.1.9. */
export interface ListTaskPushNotificationConfigsRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/** Section 3.1.9. */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs?: readonly TaskPushNotificationConfig[];
  readonly nextPageToken?: string;
}

/** Section 3.1.10. */
export interface DeleteTaskPushNotificationConfigRequest {
  readonly tenant?: string;
  readonly taskId: string;
  readonly id: string;
}

/** Section 3.1.11. */
export interface GetExtendedAgentCardRequest {
  readonly tenant?: string;
}

/** The parameters of each method (section 5.3). */
export interface A2aRequests {
  readonly SendMessage: SendMessageRequest;
  readonly SendStreamingMessage: SendMessageRequest;
  readonly GetTask: GetTaskRequest;
  readonly ListTasks: ListTasksRequest;
  readonly CancelTask: CancelTaskRequest;
  readonly SubscribeToTask: SubscribeToTaskRequest;
  readonly CreateTaskPushNotificationConfig: CreateTaskPushNotificationConfigRequest;
  readonly GetTaskPushNotificationConfig: GetTaskPushNotificationConfigRequest;
  readonly ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsRequest;
  readonly DeleteTaskPushNotificationConfig: DeleteTaskPushNotificationConfigRequest;
  readonly GetExtendedAgentCard: GetExtendedAgentCardRequest;
}

export type A2aMethod = keyof A2aRequests;
