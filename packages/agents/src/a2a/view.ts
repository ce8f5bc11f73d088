/** A task as a program wants to read it. Pure: the same task gives the same view. What the agent did not say is `undefined`. */
import {
  EXTENSIONS,
  isEffectsData,
  isInterrupted,
  isProgressData,
  isTelemetryData,
  isTerminal,
  outputOf,
  replyOf,
  textOf,
  valueOf,
} from "@nylorun/protocol";
import type { Message, PlanStep, Task, TaskState } from "@nylorun/protocol";

import { filesOf } from "./files.ts";
import type { Download, RemoteFile } from "./files.ts";
import { interactionOf } from "./interaction.ts";
import type { Interaction } from "./interaction.ts";

/** One look at a task: everything in it belongs together. */
export interface TaskView {
  /** undefined: the agent answered with a message, and made no task. */
  readonly id: string | undefined;
  readonly contextId: string | undefined;
  /** The agent's id on a Nylorun Runtime, else its name. */
  readonly agent: string;
  /** As A2A names it, such as `TASK_STATE_WORKING`. An answer that is only a message counts as completed. */
  readonly state: TaskState;
  /** Whether the state is final. */
  readonly ended: boolean;
  /** Whether the task waits for its caller. */
  readonly waiting: boolean;
  /** When the state was recorded, by the agent's clock: ISO 8601. */
  readonly since: string | undefined;
  /** The words that go with the state: what is being done, what is asked, why it failed. */
  readonly text: string | undefined;
  /** What the agent plans to do, and how far it is (`progress/v1`). */
  readonly plan: { readonly steps: readonly PlanStep[] } | undefined;
  /** What the task asks; answered ones are not shown again. */
  readonly interaction: Interaction | undefined;
  /** The id of an effect whose outcome is lost (`effects/v1`). Nobody should repeat by hand what it may have done. */
  readonly uncertain: string | undefined;
  /** What the task took (`telemetry/v1`); once it has ended. */
  readonly totals: Totals | undefined;
  /** The trace to give to the agent's operator: 32 hexadecimal digits (`telemetry/v1`); once it has ended. */
  readonly traceId: string | undefined;
  /**
   * What came out of it: a text, or another JSON value. Of the artifact `output`, else the last one with text or data, else
   * the agent's closing message.
   */
  readonly output: unknown;
  /** What can be downloaded, each in its newest version. */
  readonly files: readonly RemoteFile[];
  /** The task as it came; undefined when the agent answered with a message. */
  readonly task: Task | undefined;
  /** What the agent answered with instead of artifacts. */
  readonly message: Message | undefined;
}

export interface Totals {
  /** Effects that were completed. */
  readonly steps: number;
  /** undefined: the agent reported none. */
  readonly tokens?: number;
  /** US dollars; undefined: the agent reported none. */
  readonly costUsd?: number;
}

/** What a view is made of beside the task. */
export interface ViewOptions {
  readonly agent: string;
  /** Whether an extension was asked for. */
  readonly isActive: (uri: string) => boolean;
  readonly download: Download;
  /** Whether the interaction has been answered through this handle. */
  readonly isAnswered: (task: Task, interaction: Interaction) => boolean;
}

export function viewOf(task: Task, options: ViewOptions): TaskView {
  const { isActive } = options;
  const { id, contextId, status, metadata } = task;
  const { state } = status;
  const data = (uri: string): unknown => (isActive(uri) ? metadata?.[uri] : undefined);
  const plan = data(EXTENSIONS.progress);
  const effects = data(EXTENSIONS.effects);
  const telemetry = data(EXTENSIONS.telemetry);
  const told = isTelemetryData(telemetry) ? telemetry : undefined;
  const interaction = interactionOf(task, isActive(EXTENSIONS.interactions));
  const reply = replyOf(task);
  return {
    id,
    contextId,
    agent: options.agent,
    state,
    ended: isTerminal(state),
    waiting: isInterrupted(state),
    since: status.timestamp,
    text: textOf(status.message) || undefined,
    plan: isProgressData(plan) ? { steps: plan.steps } : undefined,
    interaction: interaction && (options.isAnswered(task, interaction) ? undefined : interaction),
    uncertain: isEffectsData(effects) ? effects.uncertain : undefined,
    totals: told && totalsOf(told),
    traceId: told?.traceId,
    output: outputOf(task.artifacts ?? [], reply),
    files: filesOf(task, isActive(EXTENSIONS.files), options.download),
    task,
    message: reply,
  };
}

/** An answer that is only a message. A Runtime's carries the ids of its task, other agents' often none. */
export function viewOfMessage(message: Message, { agent }: Pick<ViewOptions, "agent">): TaskView {
  return {
    id: message.taskId,
    contextId: message.contextId,
    agent,
    state: "TASK_STATE_COMPLETED",
    ended: true,
    waiting: false,
    since: undefined,
    text: textOf(message) || undefined,
    plan: undefined,
    interaction: undefined,
    uncertain: undefined,
    totals: undefined,
    traceId: undefined,
    output: valueOf(message.parts, "\n"),
    files: [],
    task: undefined,
    message,
  };
}

function totalsOf({ steps, tokens, costUsd }: Totals): Totals {
  return { steps, ...(tokens !== undefined && { tokens }), ...(costUsd !== undefined && { costUsd }) };
}
