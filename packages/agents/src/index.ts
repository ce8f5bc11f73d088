/** What an author installs: an Agent is a definition and one async function. */
export { defineAgent, isAgent } from "./agent.ts";
export type { Agent, AgentDefinition, Output, Skill } from "./agent.ts";
export { isRefusal, isReply, Refusal, refuse, reply } from "./answer.ts";
export type { Reply } from "./answer.ts";
export { AgentError, CallError, Cancelled, EffectError, OutcomeUnknown, WaitExpired } from "./errors.ts";
export type { AgentErrorCode, CallErrorCode, EffectErrorCode } from "./errors.ts";
export type { Jsonified } from "./jsonified.ts";
export type {
  AgentAnswer,
  AgentCallOptions,
  Approval,
  CallOptions,
  Connection,
  EarlierTurn,
  Effect,
  EffectOptions,
  FileContent,
  FileOptions,
  FileVersion,
  FolderEntries,
  FolderEntry,
  Input,
  Interaction,
  Plan,
  ProgressReport,
  Question,
  StepOptions,
  Turn,
  Usage,
  WaitOptions,
} from "./turn.ts";
export type { Auth, AuthValue } from "./auth.ts";
export type { Artifact, Part, PlanStep, PlanStepState, TaskState } from "@nylorun/protocol";
