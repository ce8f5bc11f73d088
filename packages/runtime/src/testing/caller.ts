/** What the caller of a script does at an interaction that it is shown. */
import { inspect } from "node:util";

import { EXTENSIONS } from "@nylorun/protocol";
import type { Message, OpenInteraction } from "@nylorun/protocol";

import { isInteraction } from "../turn/journal.ts";
import type { TurnRecord } from "../turn/record.ts";
import { answerText } from "./answers.ts";
import type { Answer } from "./answers.ts";
import { TestingError } from "./errors.ts";
import { taskIds } from "./life.ts";

export type Reaction =
  | { readonly do: "send"; readonly message: Message }
  | { readonly do: "cancel" }
  /** Nothing, until this moment. */
  | { readonly do: "wait"; readonly until: number };

/** An answer of a script, and the interaction that it is to. */
export interface Given {
  readonly index: number;
  readonly answer: Answer;
  readonly open: OpenInteraction;
}

/** @throws TestingError `answer.wrong` */
export function reactionTo(turn: TurnRecord, given: Given): Reaction {
  const { index, answer, open } = given;
  const { interactionId } = open;
  switch (answer.answer) {
    case "cancel":
      return { do: "cancel" };
    case "expire": {
      const wait = turn.view.waits?.find((one) => isInteraction(one) && one.id === interactionId);
      if (wait !== undefined && isInteraction(wait) && wait.expiresAt !== undefined)
        return { do: "wait", until: wait.expiresAt };
      throw wrong(given, "sets no expiresInMs: it waits for ever");
    }
    case "approve":
    case "value": {
      if ((answer.answer === "value") !== (open.kind === "question")) throw wrong(given, "is answered otherwise");
      const data = answer.answer === "value" ? { value: answer.value } : { approved: answer.approved };
      return {
        do: "send",
        message: {
          messageId: `answer-${index}`,
          role: "ROLE_USER",
          parts: [{ text: answerText(answer) }],
          taskId: taskIds.encode(turn),
          extensions: [EXTENSIONS.interactions],
          metadata: { [EXTENSIONS.interactions]: { interactionId, ...data } },
        },
      };
    }
  }
}

export function wrong({ index, answer, open }: Given, why: string, cause?: unknown): TestingError {
  const asks = { question: "asks", approval: "asks to approve", connection: "asks to connect" }[open.kind];
  return new TestingError(
    "answer.wrong",
    `answers[${index}] is ${answerText(answer)}, but the agent ${asks} ${inspect(open.prompt)}, which ${why}.`,
    { cause },
  );
}
