/** What is wrong with an agent, or with the script it was run by, in one sentence. `code` is stable. */
export class TestingError extends Error {
  override readonly name = "TestingError";
  readonly code: TestingErrorCode;
  /** What differs, where something does: test runners show it. */
  readonly expected?: unknown;
  readonly actual?: unknown;

  constructor(
    code: TestingErrorCode,
    message: string,
    options: ErrorOptions & { readonly expected?: unknown; readonly actual?: unknown } = {},
  ) {
    super(message, options);
    this.code = code;
    if ("expected" in options) {
      this.expected = options.expected;
      this.actual = options.actual;
    }
  }
}

export type TestingErrorCode =
  /** Run again, the code asked for something else than it did before: it depends on what is not `turn`'s. */
  | "journal.diverged"
  /** The code went on after awaiting something that is not `turn`'s, or left a timer behind when it was dropped. */
  | "turn.unjournaled"
  /** A crash changed what the caller, or the world, sees in the end. */
  | "outcome.differs"
  /** A crash made an effect run twice that may run once, or made another effect of it. */
  | "effect.repeated"
  /** An answer does not fit what the agent asks. */
  | "answer.wrong"
  /** The agent came to its end, or to a wait without one, before all answers were given. */
  | "answer.unused"
  /** The agent calls another one, and the script does not say what that does. */
  | "agent.unscripted"
  /** Nothing has happened for too long. */
  | "run.stuck";
