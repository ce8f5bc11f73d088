import type { TaskState } from "../a2a/types.ts";
/**
 * Every A2A task is also a progress event. Shared by the Runtime, which knows the turn, and by a client, which knows the task:
 * both know what the task shows.
 *
 * | task                          | status  | percent                                               |
 * |-------------------------------|---------|-------------------------------------------------------|
 * | SUBMITTED                     | started | 0                                                     |
 * | WORKING                       | running | what the agent says, else finished of all steps, or 0 |
 * | INPUT_REQUIRED, AUTH_REQUIRED | paused  | the same                                              |
 * | COMPLETED                     | done    | 100                                                   |
 * | FAILED, REJECTED, CANCELED    | error   | what the agent said, else done of all steps, or 0     |
 */
import type { InteractionKind, PlanStep, ProgressEvent } from "../generated/types.ts";
import { clampPercent, MESSAGE_LENGTH, STAGE_LENGTH } from "./event.ts";
import type { ProgressStatus } from "./event.ts";
import { plainText } from "./text.ts";

/** What a task shows, plainly. What is not known is left out. */
export interface TaskProgress {
  readonly agent: string;
  readonly taskId: string;
  readonly state: TaskState;
  /** Of an interrupted task: what it waits for. */
  readonly waitsFor?: InteractionKind;
  /** The plan. */
  readonly steps?: readonly PlanStep[];
  /** Given by the agent; clamped. */
  readonly percent?: number;
  /** Given by the agent. */
  readonly stage?: string;
  /** Given by the agent; null: unknown. */
  readonly etaSeconds?: number | null;
  /** The line that tells what is happening now. */
  readonly stepText?: string;
  /** Why the task failed or was refused. */
  readonly failure?: string;
}

/** @param at Milliseconds since 1970: when this was so. */
export function progressOfTask(task: TaskProgress, at: number): ProgressEvent {
  const status = statusOf(task.state);
  const ended = status === "done" || status === "error";
  const stage = stageOf(task, status);
  const stepText = plainText(task.stepText ?? "", MESSAGE_LENGTH);
  const message =
    status === "error"
      ? plainText(task.failure ?? "", MESSAGE_LENGTH) || wordsOf(task)
      : !ended && plainText(stepText, STAGE_LENGTH) !== stage
        ? stepText
        : "";
  const eta = task.etaSeconds ?? null;
  return {
    proto: 1,
    task_id: taskIdOf(task),
    percent: percentOf(task, status),
    eta_seconds: ended || eta === null || !Number.isFinite(eta) || eta < 0 ? null : eta + 0,
    stage,
    status,
    timestamp: new Date(at).toISOString(),
    agent: plainText(task.agent, 128),
    ...(message !== "" && { message }),
  };
}

function statusOf(state: TaskState): ProgressStatus {
  switch (state) {
    case "TASK_STATE_SUBMITTED":
      return "started";
    case "TASK_STATE_WORKING":
      return "running";
    case "TASK_STATE_INPUT_REQUIRED":
    case "TASK_STATE_AUTH_REQUIRED":
      return "paused";
    case "TASK_STATE_COMPLETED":
      return "done";
    case "TASK_STATE_FAILED":
    case "TASK_STATE_REJECTED":
    case "TASK_STATE_CANCELED":
      return "error";
  }
}

function percentOf({ percent, steps }: TaskProgress, status: ProgressStatus): number {
  if (status === "started") return 0;
  if (status === "done") return 100;
  if (percent !== undefined && Number.isFinite(percent)) return clampPercent(percent);
  if (steps === undefined || steps.length === 0) return 0;
  // When a turn fails, what is left of its plan is skipped: that is not work done.
  const finished = steps.filter(({ state }) =>
    status === "error" ? state === "done" : state !== "pending" && state !== "active",
  );
  return (finished.length * 100) / steps.length;
}

function stageOf(task: TaskProgress, status: ProgressStatus): string {
  const step = (state: PlanStep["state"]) => task.steps?.findLast((each) => each.state === state)?.label;
  const candidates =
    status === "done" ? [] : status === "error" ? [step("failed")] : [task.stage, step("active"), task.stepText];
  for (const candidate of candidates) {
    const stage = plainText(candidate ?? "", STAGE_LENGTH);
    if (stage !== "") return stage;
  }
  return wordsOf(task);
}

function wordsOf({ state, waitsFor }: TaskProgress): string {
  switch (state) {
    case "TASK_STATE_SUBMITTED":
      return "Queued";
    case "TASK_STATE_WORKING":
      return "Working";
    case "TASK_STATE_INPUT_REQUIRED":
      return "Waiting for an answer";
    case "TASK_STATE_AUTH_REQUIRED":
      return waitsFor === "connection"
        ? "Waiting for a connection"
        : waitsFor === "approval"
          ? "Waiting for approval"
          : "Waiting for authorization";
    case "TASK_STATE_COMPLETED":
      return "Completed";
    case "TASK_STATE_FAILED":
      return "Failed";
    case "TASK_STATE_REJECTED":
      return "Rejected";
    case "TASK_STATE_CANCELED":
      return "Canceled";
  }
}

/** `<agent>:<task id>`. Another server's ids may hold anything: what the contract does not allow becomes `-`. */
function taskIdOf({ agent, taskId }: TaskProgress): string {
  const id = `${agent}:${taskId}`.replaceAll(/[^a-zA-Z0-9._:-]/g, "-");
  return (/^[a-zA-Z0-9]/.test(id) ? id : `a${id}`).slice(0, 128);
}
