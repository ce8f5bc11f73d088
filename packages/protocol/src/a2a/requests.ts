/**
 * The parameters of each method (A2A 1.0, sections 3.1 and 3.2) as tables, and the one function that reads them.
 *
 * What passes here has the types that it says, and lies within the limits below. Whether a task, context or media type is any
 * good is for others to say.
 */
import { invalidParams } from "./errors.ts";
import type { FieldViolation } from "./errors.ts";
import {
  anyJson,
  boolean,
  bytes,
  enumeration,
  id,
  integer,
  list,
  note,
  object,
  string,
  struct,
  text,
  timestamp,
} from "./protojson.ts";
import type { Reader, Refine } from "./protojson.ts";
import { TASK_STATES } from "./states.ts";
import type {
  A2aMethod,
  A2aRequests,
  AuthenticationInfo,
  CancelTaskRequest,
  CreateTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  Message,
  Part,
  SendMessageConfiguration,
  SendMessageRequest,
  Struct,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
} from "./types.ts";

/** Parts of one message. */
export const MAX_PARTS = 1000;
/** Entries of any other list. */
const MAX_ENTRIES = 100;
/** Characters of a message id or of a push config's id. */
const MAX_ID = 256;
const INT32 = 2 ** 31 - 1;

const tenant = string();
const historyLength = integer(0, INT32);
const strings = list(text(), MAX_ENTRIES);
/** What no task has is answered by looking for it, not here: an id that is malformed and one that is unknown are the same. */
const taskId = string();

const contextId = string((value) =>
  /^[\x21-\x7e]{1,200}$/.test(value) ? undefined : "must be 1-200 visible ASCII characters, without spaces",
);

/** Goes into an HTTP header as it is. */
const headerValue = string((value) => (/[\r\n\0]/.test(value) ? "must not hold a line break or a NUL" : undefined));

const headerToken = string((value) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value) ? undefined : "must be an HTTP authentication scheme such as Bearer",
);

interface PartFields {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  metadata?: Struct;
  filename?: string;
  mediaType?: string;
}

const CONTENT = ["text", "raw", "url", "data"] as const;

/** Section 4.1.6. `data: null` is content only where there is no other: a client may write `null` for what it leaves out. */
const oneContent: Refine<PartFields> = (part, source, violations) => {
  let count = 0;
  for (const name of CONTENT) if (part[name] !== undefined) count++;
  if (count === 0 && source["data"] === null) {
    part.data = null;
    count = 1;
  }
  if (count === 1) return;
  const found = CONTENT.filter((name) => part[name] !== undefined);
  note(
    violations,
    `must have exactly one of text, raw, url, data; it has ${found.length === 0 ? "none" : found.join(" and ")}`,
  );
};

const part = object<PartFields>(
  {
    text: text(),
    raw: bytes,
    url: text((value) => (value === "" ? "must not be empty" : undefined)),
    data: anyJson,
    metadata: struct,
    filename: string(),
    mediaType: string(),
  },
  oneContent,
) as Reader<Part>;

const message = object<Message>({
  messageId: { required: id(MAX_ID) },
  contextId,
  taskId,
  // A caller speaks as the user; the agent's own words never come in from outside.
  role: { required: enumeration(["ROLE_USER"]) },
  parts: { required: list(part, MAX_PARTS), missing: "must hold at least one part" },
  metadata: struct,
  extensions: strings,
  referenceTaskIds: strings,
});

const authentication = object<AuthenticationInfo>({ scheme: { required: headerToken }, credentials: headerValue });

const pushConfig = {
  tenant,
  id: id(MAX_ID),
  url: { required: string() },
  token: headerValue,
  authentication,
} as const;

const configuration = object<SendMessageConfiguration>({
  acceptedOutputModes: strings,
  taskPushNotificationConfig: object<TaskPushNotificationConfig>({ ...pushConfig, taskId }),
  historyLength,
  returnImmediately: boolean,
});

const sendMessage = object<SendMessageRequest>({
  tenant,
  message: { required: message },
  configuration,
  metadata: struct,
});

const configOfTask = object<GetTaskPushNotificationConfigRequest>({
  tenant,
  taskId: { required: taskId },
  id: { required: id(MAX_ID) },
});

const READERS: { readonly [Method in A2aMethod]: Reader<A2aRequests[Method]> } = {
  SendMessage: sendMessage,
  SendStreamingMessage: sendMessage,
  GetTask: object<GetTaskRequest>({ tenant, id: { required: taskId }, historyLength }),
  ListTasks: object<ListTasksRequest>({
    tenant,
    contextId,
    status: enumeration(TASK_STATES, "TASK_STATE_UNSPECIFIED"),
    pageSize: integer(1, 100),
    pageToken: string(),
    historyLength,
    statusTimestampAfter: timestamp,
    includeArtifacts: boolean,
  }),
  CancelTask: object<CancelTaskRequest>({ tenant, id: { required: taskId }, metadata: struct }),
  SubscribeToTask: object<SubscribeToTaskRequest>({ tenant, id: { required: taskId } }),
  CreateTaskPushNotificationConfig: object<CreateTaskPushNotificationConfigRequest>({
    ...pushConfig,
    taskId: { required: taskId },
  }),
  GetTaskPushNotificationConfig: configOfTask,
  ListTaskPushNotificationConfigs: object<ListTaskPushNotificationConfigsRequest>({
    tenant,
    taskId: { required: taskId },
    pageSize: integer(0, INT32),
    pageToken: string(),
  }),
  DeleteTaskPushNotificationConfig: configOfTask,
  GetExtendedAgentCard: object<GetExtendedAgentCardRequest>({ tenant }),
};

/** Whether A2A 1.0 has a method of this name (section 5.3); it need not be served. */
export function isA2aMethod(name: string): name is A2aMethod {
  return Object.hasOwn(READERS, name);
}

/**
 * Reads the parameters of a method.
 *
 * @param params As they came: `params` of the envelope. Absent is the same as empty.
 * @throws A2aError -32602, with what is wrong in each field, 20 of them at most.
 */
export function parseParams<Method extends A2aMethod>(method: Method, params: unknown): A2aRequests[Method] {
  const violations: FieldViolation[] = [];
  const request = READERS[method](params ?? {}, violations);
  if (violations.length > 0) {
    throw invalidParams(violations.map(({ field, description }) => ({ field: field || "params", description })));
  }
  return request as A2aRequests[Method];
}
