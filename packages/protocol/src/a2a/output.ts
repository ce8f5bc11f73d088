/** What came out of a task, as one value: A2A says how outputs travel, not which one is the answer. */
import type { Artifact, Message, Part, Task } from "./types.ts";

/**
 * What a completed task was answered with in words: the message that goes with the state, or a Runtime's reply, which has this id.
 * Anything else in the history was said on the way, and answers nothing.
 */
export function replyOf({ id, status, history }: Task): Message | undefined {
  if (status.state !== "TASK_STATE_COMPLETED") return undefined;
  return status.message ?? history?.findLast(({ messageId }) => messageId === `reply-${id}`);
}

/** The artifact `output`, else the last one with text or data, else the reply: a text, or another JSON value. */
export function outputOf(artifacts: readonly Artifact[], reply: Message | undefined): unknown {
  const named = artifacts.findLast(({ artifactId, name }) => artifactId === "output" || name === "output");
  const artifact = named ?? artifacts.findLast(({ parts }) => valueOf(parts, "") !== undefined);
  // The text parts of an artifact are the pieces that it came in.
  return artifact === undefined ? valueOf(reply?.parts ?? [], "\n") : valueOf(artifact.parts, "");
}

/** Texts joined, else the data: one value as it is, several as a list; undefined when there is neither. */
export function valueOf(parts: readonly Part[], between: string): unknown {
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  if (texts.length > 0) return texts.join(between);
  const data = parts.flatMap((part) => ("data" in part && part.data !== undefined ? [part.data] : []));
  return data.length > 1 ? data : data[0];
}

/** The text parts, one to a line. */
export function textOf(message: Pick<Message, "parts"> | undefined): string {
  return (message?.parts ?? []).flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n");
}
