import type { Part, PlanStep, TaskState } from "@nylorun/protocol";

/** One message and the work it starts: what an agent's `run` is given. On the wire it is one A2A Task. */
export interface Turn {
  /** The id of the caller's task. Opaque. */
  readonly taskId: string;
  /** The conversation that this turn belongs to. One subject's, with this agent. */
  readonly contextId: string;
  /** Who the caller authenticated as. 1-200 visible ASCII characters. */
  readonly subject: string;
  /** The message's text parts, joined by line breaks; empty when it has none. */
  readonly text: string;
  /** All parts of the message, in order, as the caller sent them. */
  readonly parts: readonly Part[];
  /** The earlier turns of this context that have ended, oldest first; the last 100 at most. */
  readonly history: readonly EarlierTurn[];
  /** Aborted when the caller cancels the task or the turn runs out of time. Hand it to whatever you await. */
  readonly signal: AbortSignal;

  /**
   * Shows the caller what you are going to do (progress/v1): 1-20 steps, all pending at first. Calling it again replaces the plan.
   * When the turn ends, the Runtime settles what is left open: an active step is done (or failed, or skipped), pending ones are skipped.
   *
   * @param steps Labels of 1-120 characters, each different.
   * @returns The handle that moves the steps, by label or by index.
   * @throws AgentError `plan.invalid`.
   */
  plan<const Label extends string>(steps: readonly Label[]): Plan<Label>;

  /**
   * Says how far the work is, apart from the plan: for a bar. What you do not know, leave out; nothing is guessed from it.
   * The last call wins; shown at most four times a second, the last one always.
   *
   * @throws AgentError `progress.invalid` for a value that is no finite number, or a stage that is no text.
   */
  progress(report: ProgressReport): void;

  /**
   * Replaces the one line that tells the caller what is happening now (the task's WORKING status message). The line it replaces
   * moves to the task's history.
   *
   * @param text 1-4,000 characters.
   * @throws AgentError `say.invalid`.
   */
  say(text: string): void;
}

/** Moves the steps of a plan. A step is named by its label or its index (from 0). */
export interface Plan<Label extends string = string> {
  /** The steps as the caller sees them now. */
  readonly steps: readonly PlanStep[];
  /** Makes the step active; a step that was active until now is done. */
  start(step: Label | number, options?: StepOptions): void;
  /** The step is done. */
  done(step: Label | number, options?: StepOptions): void;
  /** The step failed; the turn goes on. */
  fail(step: Label | number, options?: StepOptions): void;
  /** The step was not needed. */
  skip(step: Label | number, options?: StepOptions): void;
}

export interface StepOptions {
  /** A short remark beside the label. Up to 280 characters; `""` removes it. */
  readonly note?: string;
}

export interface ProgressReport {
  /** 0-100; values outside are clamped. Left out: the share of finished steps is shown instead. */
  readonly percent?: number;
  /** What is being done, in a few words. Up to 120 characters. Left out: the active step is shown instead. */
  readonly stage?: string;
  /** Seconds until the end, when you really know. `null`, or left out: unknown. Never a guess. */
  readonly etaSeconds?: number | null;
}

/** A turn of the same context that has ended. */
export interface EarlierTurn {
  readonly taskId: string;
  /** How it ended: `TASK_STATE_COMPLETED`, `…_FAILED`, `…_CANCELED` or `…_REJECTED`. */
  readonly state: TaskState;
  /** What the caller wrote: the text parts, joined by line breaks. */
  readonly text: string;
  readonly parts: readonly Part[];
  /** What the agent answered: the parts of its reply, or of its output. Empty when there was none. */
  readonly answer: readonly Part[];
}
