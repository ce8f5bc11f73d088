/**
 * What is wrong with a definition or a call, in one sentence: what was expected, what came, what to do.
 * `code` is stable, `message` is for people.
 */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type AgentErrorCode =
  /** A field of the definition is missing or out of range. */
  | "agent.invalid"
  /** A plan has no steps, more than 20, or a label or note out of range. */
  | "plan.invalid"
  /** A step was named that the plan does not have. */
  | "plan.noSuchStep"
  /** `turn.progress` got something that is no number, or a stage that is no text. */
  | "progress.invalid"
  /** `turn.say` got no text, or more than 4,000 characters. */
  | "say.invalid"
  /** `refuse` got no reason, or `reply` nothing to say. */
  | "answer.invalid";
