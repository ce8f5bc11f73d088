/** What a script's caller does when an interaction is shown to it. */
export type Answer = AnswerOptions &
  (
    | { readonly answer: "approve"; readonly approved: boolean }
    | { readonly answer: "value"; readonly value: unknown }
    | { readonly answer: "expire" }
    | { readonly answer: "cancel" }
  );

export interface AnswerOptions {
  /** What the caller does in the world before it answers, such as connecting the calendar that it was asked to connect. */
  readonly first?: () => void | Promise<void>;
}

/** Approves; of a connection: says that it is made, which the agent's `verify` decides. `approve(false)` declines. */
export function approve(approved = true, options: AnswerOptions = {}): Answer {
  return { ...options, answer: "approve", approved };
}

/** Answers a question: one of its choices, a value that fits its schema, or a text. */
export function answer(value: unknown, options: AnswerOptions = {}): Answer {
  return { ...options, answer: "value", value };
}

/** Says nothing until the time of the interaction is up (`expiresInMs`); simulated, so it takes no time. */
export function expire(): Answer {
  return { answer: "expire" };
}

/** Cancels the task. */
export function cancel(): Answer {
  return { answer: "cancel" };
}

/** As one would write it in a script. */
export function answerText(given: Answer): string {
  switch (given.answer) {
    case "approve":
      return `approve(${given.approved})`;
    case "value":
      return `answer(${JSON.stringify(given.value)})`;
    case "expire":
    case "cancel":
      return `${given.answer}()`;
  }
}
