/** The A2A 1.0 wire, the profile's extensions and the progress event: types, tables and pure functions. */
export { failure, parseEnvelope, success } from "./a2a/envelope.ts";
export type { Envelope, Failure, RequestId, Success } from "./a2a/envelope.ts";
export {
  A2A_ERRORS,
  A2aError,
  contentTypeNotSupported,
  extendedAgentCardNotConfigured,
  extensionSupportRequired,
  internalError,
  invalidAgentResponse,
  invalidParams,
  invalidRequest,
  jsonParseError,
  methodNotFound,
  pushNotificationNotSupported,
  taskNotCancelable,
  taskNotFound,
  toJsonRpcError,
  unsupportedOperation,
  versionNotSupported,
} from "./a2a/errors.ts";
export type {
  A2aErrorName,
  A2aErrorOptions,
  BadRequest,
  ErrorInfo,
  FieldViolation,
  JsonRpcError,
} from "./a2a/errors.ts";
export { activate, EXTENSION_URIS, EXTENSIONS, joinMetadata, readExtensions, splitMetadata } from "./a2a/extensions.ts";
export type { Activation, ExtensionData, ExtensionUri, SplitMetadata } from "./a2a/extensions.ts";
export { canonicalFolderList } from "./a2a/folder.ts";
export type { ListedFile } from "./a2a/folder.ts";
export { matchesMode, mediaTypeOf } from "./a2a/media.ts";
export { pathProblem } from "./a2a/paths.ts";
export { outputOf, replyOf, textOf, valueOf } from "./a2a/output.ts";
export { MAX_DEPTH } from "./a2a/protojson.ts";
export { isA2aMethod, MAX_PARTS, parseParams } from "./a2a/requests.ts";
export { isInterrupted, isTerminal, TASK_STATES, taskStateOf } from "./a2a/states.ts";
export type { TurnState, WaitKind } from "./a2a/states.ts";
export { subjectProblem } from "./a2a/subject.ts";
export type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  ApiKeySecurityScheme,
  HttpAuthSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from "./a2a/card.ts";
export type {
  A2aMethod,
  A2aRequests,
  Artifact,
  AuthenticationInfo,
  CancelTaskRequest,
  CreateTaskPushNotificationConfigRequest,
  DataPart,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  Part,
  RawPart,
  Role,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Struct,
  SubscribeToTaskRequest,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
  TaskStatusUpdateEvent,
  TextPart,
  UrlPart,
} from "./a2a/types.ts";
export { A2A_VERSION, negotiateVersion } from "./a2a/version.ts";
export { isEffectsData } from "./generated/effects.ts";
export { isFilesData } from "./generated/files.ts";
export { isInteractionAnswer, isOpenInteraction } from "./generated/interactions.ts";
export { isProgressEvent } from "./generated/progress-event.ts";
export { isProgressData } from "./generated/progress.ts";
export { isTelemetryData } from "./generated/telemetry.ts";
export type {
  ApprovalAnswer,
  EffectsData,
  FilesData,
  InteractionAnswer,
  InteractionKind,
  OpenInteraction,
  PlanStep,
  PlanStepState,
  ProgressData,
  ProgressEvent,
  QuestionAnswer,
  TelemetryData,
} from "./generated/types.ts";
export { isComplete, normalizeReport, ReportError } from "./progress/event.ts";
export type { ProgressStatus } from "./progress/event.ts";
export { progressOfTask } from "./progress/task.ts";
export type { TaskProgress } from "./progress/task.ts";
export { plainText } from "./progress/text.ts";
export { nextShown, shownPercent } from "./progress/view.ts";
export type { SchemaError, Validator } from "./validator.ts";
