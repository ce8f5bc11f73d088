/** Every A2A task is also a progress event: the same bar draws it. */
import { progressOfTask } from "@nylorun/protocol";
import type { InteractionKind, ProgressEvent, TaskProgress } from "@nylorun/protocol";

import type { TaskView } from "./view.ts";

/**
 * The progress event of any A2A task, for `<agent-progress>`, a dashboard or a terminal.
 *
 * Of an agent without extensions it shows what the state says: there is no plan to count, so the bar stays at 0 until the task has
 * ended. No ETA is ever made up: A2A carries none, so it is `null`.
 *
 * @param at When this was so, in milliseconds since 1970. Default: now.
 */
export function toProgressEvent(task: TaskView, at: number = Date.now()): ProgressEvent {
  const { agent, id, message, state, plan, text, interaction } = task;
  const waitsFor = task.waiting ? kindOf(interaction) : undefined;
  const shown: TaskProgress = {
    agent,
    taskId: id ?? message?.messageId ?? "",
    state,
    ...(plan && { steps: plan.steps }),
    ...(waitsFor && { waitsFor }),
    ...(text !== undefined && (task.ended ? { failure: text } : { stepText: text })),
  };
  return progressOfTask(shown, at);
}

/** Who asks for authorization in words may mean an approval or a connection. */
function kindOf(interaction: TaskView["interaction"]): InteractionKind | undefined {
  if (interaction === undefined) return undefined;
  return interaction.kind === "question" && interaction.wantsAuthorization ? undefined : interaction.kind;
}
