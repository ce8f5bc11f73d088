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
  | "answer.invalid"
  /** `turn.effect`, a wait, `call`, `usage` or `patch` was called with something it does not take. */
  | "call.invalid"
  /** `turn.file` or `turn.folder` got a path, a media type or a content that it does not take. */
  | "file.invalid"
  /** A call was made after the author awaited something that is not turn's, and carries no key (or one that was used before). */
  | "turn.unjournaled"
  /** A call of `turn` was made inside an effect's function. */
  | "turn.nested"
  /** `turn.call` was given an id that no agent served here has. */
  | "call.noSuchAgent"
  /** Agents have called each other too often in a row. */
  | "call.tooDeep"
  /** The turn asked for more than 10,000 things, or what came back is more than 64 MiB. */
  | "turn.tooLarge";

export type EffectErrorCode =
  /** What the function returned is no JSON. */
  | "effect.notJson"
  /** What it returned is more than 1 MiB, or nested deeper than 500 levels. */
  | "effect.tooLarge"
  /** It was tried as often as it may, and what became of the last attempt is not known. */
  | "effect.exhausted";

/**
 * What an effect's function threw, or why its outcome cannot be used. The same on the first run and on every replay: what is
 * not listed here of the original error is gone.
 */
export class EffectError extends Error {
  override readonly name = "EffectError";
  /** The effect's name. */
  readonly effect: string;
  /** The original error's `code`, when it had a text or a number; or an {@link EffectErrorCode}; of a file, as `turn.file` says. */
  readonly code: EffectErrorCode | (string & {}) | number | undefined;
  /** The original error's `name`. */
  readonly originalName: string;
  /** The original error's `data`, when it was JSON. */
  readonly data: unknown;

  constructor(effect: string, error: { name: string; message: string; code?: string | number; data?: unknown }) {
    super(error.message);
    this.effect = effect;
    this.originalName = error.name;
    this.code = error.code;
    this.data = error.data;
  }
}

/**
 * Throw it from an effect's function when you cannot know whether it happened: a connection that broke after the request
 * was sent. An idempotent effect runs again; any other becomes uncertain, and an operator decides.
 */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** Thrown by a wait whose `expiresInMs` has passed. */
export class WaitExpired extends Error {
  override readonly name = "WaitExpired";
}

/** Thrown by everything of `turn` once the caller has cancelled the task. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
}

/** Why another agent's task did not come to an output. */
export type CallErrorCode =
  /** The task failed. */
  | "callee.failed"
  /** The agent does not do this. */
  | "callee.rejected"
  /** Somebody else ended the task. */
  | "callee.canceled"
  /** The agent asked for an authorization, and the caller declined. */
  | "callee.declined"
  /** `timeoutMs` has passed. The task was cancelled, if the agent could be told. */
  | "callee.timeout"
  /** The agent does not know the task any more. */
  | "callee.lost"
  /** The agent does not take the message: there is none, it wants other credentials, or other content. */
  | "callee.refused"
  /** The agent did not answer, ten times. */
  | "callee.unreachable"
  /** What it answered is more than 1 MiB, or not A2A. */
  | "callee.unreadable";

/**
 * Thrown by `turn.call`, the same on every replay. Its message is for operators, and so is what the agent said (`text`): that comes from
 * elsewhere, and your caller is told only what you tell it.
 */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: CallErrorCode;
  /** The agent's id or address, as it was called. */
  readonly agent: string;
  /** The task there; undefined when there is none. */
  readonly taskId: string | undefined;
  /** The words that the agent ended the task with. */
  readonly text: string | undefined;

  constructor(
    code: CallErrorCode,
    message: string,
    about: { readonly agent: string; readonly taskId?: string | undefined; readonly text?: string | undefined },
  ) {
    super(message);
    this.code = code;
    this.agent = about.agent;
    this.taskId = about.taskId;
    this.text = about.text;
  }
}
