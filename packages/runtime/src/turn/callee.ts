/**
 * Another agent, as a turn that calls it knows it: how it is reached, and what of its task matters to the turn. Pure.
 *
 * What is seen of a task is recorded, so it is no more than that: where it stands, what it asks, what came of it.
 */
import { AgentError } from "@nylorun/agents";
import type { Agent, Auth } from "@nylorun/agents";
import {
  EXTENSIONS,
  isInterrupted,
  isOpenInteraction,
  isTerminal,
  outputOf,
  replyOf,
  textOf,
  valueOf,
} from "@nylorun/protocol";
import type { Artifact, Part, SendMessageResponse, Struct, Task, TaskState } from "@nylorun/protocol";

import type { TurnRecord } from "./record.ts";
import type { ArtifactLinks } from "./task.ts";

export interface Callee {
  /** Its id, when it is served here, or its address. */
  readonly agent: string;
  readonly auth?: Auth | undefined;
}

/** Finds other agents. */
export interface Callees {
  /** @throws OutcomeUnknown, or an error with a `code`, as everything on a line does. */
  reach(callee: Callee, options: LineOptions & { readonly turn: TurnRecord }): Promise<Line>;
  /** Links to the files of agents that are served here, as their callers on the network have them. Default: there are none. */
  readonly links?:
    | ((turn: TurnRecord, artifacts: readonly Artifact[] | undefined) => Promise<ArtifactLinks | undefined>)
    | undefined;
}

/** To one agent. Everything on it throws OutcomeUnknown when there is no answer, else errors with a `code`, as A2aClientError has them. */
export interface Line {
  /** A message that is sent again, with its id, is the same task, and the same answer. */
  readonly repeats: boolean;
  send(message: Outgoing, options: LineOptions): Promise<SendMessageResponse>;
  /** @throws With the code `a2a.taskNotFound`. */
  get(taskId: string, options: LineOptions): Promise<Task>;
  answer(taskId: string, answer: Answering, options: LineOptions): Promise<void>;
  /** One that has ended stays as it is. */
  cancel(taskId: string, options: LineOptions): Promise<void>;
}

export interface LineOptions {
  readonly signal: AbortSignal;
}

export interface Outgoing {
  readonly messageId: string;
  readonly parts: readonly Part[];
  readonly contextId?: string | undefined;
}

export interface Answering {
  readonly messageId: string;
  readonly asking: Asking;
  readonly value: unknown;
}

/** What a task at another agent asks. */
export interface Asking {
  /** Tells one asking from another. */
  readonly id: string;
  /** `authorization`: one that words cannot give; who may, does so elsewhere, and the task goes on by itself (A2A 1.0, section 7.6). */
  readonly kind: "question" | "approval" | "connection" | "authorization";
  readonly prompt: string;
  readonly detail?: Struct;
  /** It has no interactions/v1: it is asked, and answered, in words. */
  readonly inWords?: true;
}

export interface SeenTask {
  /** Absent: the agent answered with a message alone. */
  readonly id?: string;
  readonly contextId?: string;
  readonly state: TaskState;
  readonly asking?: Asking;
  /** Once it has ended. */
  readonly text?: string;
  readonly output?: unknown;
  readonly artifacts?: readonly Artifact[];
}

export function seenResponse({ task, message }: SendMessageResponse): SeenTask {
  if (task !== undefined) return seenTask(task);
  const output = valueOf(message.parts, "\n");
  return {
    ...(message.contextId !== undefined && { contextId: message.contextId }),
    state: "TASK_STATE_COMPLETED",
    ...(output !== undefined && { output }),
  };
}

export function seenTask(task: Task): SeenTask {
  const { id, contextId, status, artifacts = [] } = task;
  const { state } = status;
  const seen: SeenTask = { id, ...(contextId !== undefined && { contextId }), state };
  if (isInterrupted(state)) return { ...seen, asking: askingOf(task) };
  if (!isTerminal(state)) return seen;
  const text = textOf(status.message);
  const output = outputOf(artifacts, replyOf(task));
  return {
    ...seen,
    ...(text !== "" && { text }),
    ...(output !== undefined && { output }),
    ...(artifacts.length > 0 && { artifacts }),
  };
}

/** Whether the task is not as it was. */
export function hasChanged(before: SeenTask, task: Task): boolean {
  const now = seenTask(task);
  return now.state !== before.state || now.asking?.id !== before.asking?.id;
}

function askingOf({ status: { state, message, timestamp } }: Task): Asking {
  const data = message?.metadata?.[EXTENSIONS.interactions];
  if (isOpenInteraction(data)) {
    const { interactionId, kind, prompt, detail } = data;
    return { id: interactionId, kind, prompt, ...(detail && { detail }) };
  }
  return {
    id: `${message?.messageId ?? ""} ${timestamp ?? ""}`,
    kind: state === "TASK_STATE_AUTH_REQUIRED" ? "authorization" : "question",
    prompt: textOf(message),
    inWords: true,
  };
}

/**
 * Who an agent acts for that another agent of this Runtime has called: the same subject, apart from what is that subject's own. No caller can
 * authenticate as it, as a subject has no blanks: what is called for is listed nowhere, and nobody comes upon it (I7, I10).
 */
export function subjectOfCalled({ subject }: TurnRecord): string {
  return `${subject}${mark}`;
}

const mark = " >";

/** Agents that call each other in a circle come to an end: so many may stand between a caller and a turn. */
export const deepest = 8;

/** As whom what a subject has called for is kept, and what was called for in turn. */
export function subjectsOfCalled(subject: string): readonly string[] {
  return Array.from({ length: deepest }, (_, depth) => subject + mark.repeat(depth + 1));
}

/** Who it is that a turn acts for, called or not. */
export function realSubject(subject: string): string {
  const at = subject.indexOf(mark);
  return at < 0 ? subject : subject.slice(0, at);
}

/** Whether an agent exists for a subject, and for what it has called for: else nothing of it is there (I7). */
export function isOpenTo({ subjects }: Pick<Agent, "subjects">, subject: string): boolean {
  return subjects === undefined || subjects.includes(realSubject(subject));
}

/** How many agents stand between a caller and this turn. */
export function depthOf(subject: string): number {
  return (subject.length - realSubject(subject).length) / mark.length;
}

export function noSuchAgent(agent: string): AgentError {
  return new AgentError(
    "call.noSuchAgent",
    `No agent ${JSON.stringify(agent)} is served here. Call one that is by its id, and any other by its address.`,
  );
}
