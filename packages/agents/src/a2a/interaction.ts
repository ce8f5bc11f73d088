/** What a waiting task asks its caller, and how it is answered (`interactions/v1`). */
import { EXTENSIONS, isInterrupted, isOpenInteraction, textOf } from "@nylorun/protocol";
import type { Message, Part, Task } from "@nylorun/protocol";

import { A2aClientError } from "./errors.ts";

interface Asked {
  /** What a person should read. */
  readonly prompt: string;
  /** What else the agent shows with it. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** A person has to approve. Answer with `task.approve(true)` or `task.approve(false)`. */
export interface OpenApproval extends Asked {
  readonly kind: "approval";
  readonly id: string;
}

/** Something has to be connected, by the person, elsewhere. Say so with `task.connected()`; the agent looks for itself, too. */
export interface OpenConnection extends Asked {
  readonly kind: "connection";
  readonly id: string;
  /** What to connect, such as `google-calendar`. */
  readonly provider?: string;
  /** Where to connect it. */
  readonly url?: string;
}

/** A question. Answer with `task.answer(value)`. */
export interface OpenQuestion extends Asked {
  readonly kind: "question";
  /** undefined: the agent asks in words alone, and takes words (or one JSON value) as answer. */
  readonly id: string | undefined;
  /** The only answers that are taken. */
  readonly choices?: readonly string[];
  /** JSON Schema of the answer. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /**
   * Whether the agent asks for an authorization (`TASK_STATE_AUTH_REQUIRED`) and only has words for it: it does not speak
   * `interactions/v1`, or that is not activated. **A reply in words does not approve anything**; it can only correct or turn down.
   * Who may authorize does so where the agent says; the task then goes on by itself (A2A 1.0, section 7.6).
   */
  readonly wantsAuthorization: boolean;
}

/** What a task waits for. Tell them apart by `kind`. */
export type Interaction = OpenApproval | OpenConnection | OpenQuestion;

/**
 * What a task asks; undefined when it asks nothing.
 *
 * @param active Whether interactions/v1 was asked for: what was not asked for is not looked at.
 */
export function interactionOf({ status }: Task, active: boolean): Interaction | undefined {
  if (!isInterrupted(status.state)) return undefined;
  const data: unknown = active ? status.message?.metadata?.[EXTENSIONS.interactions] : undefined;
  if (!isOpenInteraction(data)) {
    return {
      kind: "question",
      id: undefined,
      prompt: textOf(status.message),
      wantsAuthorization: status.state === "TASK_STATE_AUTH_REQUIRED",
    };
  }
  const { interactionId: id, kind, prompt, detail } = data;
  const asked = { id, prompt, ...(detail && { detail }) };
  switch (kind) {
    case "approval":
      return { kind, ...asked };
    case "connection":
      return {
        kind,
        ...asked,
        ...(typeof detail?.["provider"] === "string" && { provider: detail["provider"] }),
        ...(typeof detail?.["url"] === "string" && { url: detail["url"] }),
      };
    case "question": {
      const { choices, schema } = detail ?? {};
      return {
        kind,
        ...asked,
        wantsAuthorization: false,
        ...(isTexts(choices) && { choices }),
        ...(typeof schema === "object" && schema !== null && { schema: schema as Readonly<Record<string, unknown>> }),
      };
    }
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");
}

/** Names one asking, so that it is reported once: the interaction, or the message that asks in words. */
export function askingOf({ status }: Task, interaction: Interaction): string {
  return interaction.id ?? `${status.message?.messageId ?? ""} ${status.timestamp ?? ""}`;
}

/** What a reply says beside its ids. */
export type Reply = Pick<Message, "parts" | "metadata" | "extensions">;

/** @throws A2aClientError `interaction.none`, `interaction.kind`, `interaction.wordsOnly`. */
export function approval(open: Interaction | undefined, approved: boolean, kind: "approval" | "connection"): Reply {
  if (open === undefined) throw nothingOpen();
  if (open.kind === "question" && open.wantsAuthorization) {
    throw new A2aClientError(
      "interaction.wordsOnly",
      "This agent asks for authorization in words alone, and no reply in words approves. Authorize where the agent says; the task then goes on by itself.",
    );
  }
  if (open.kind !== kind) throw otherKind(open);
  const words =
    kind === "approval" ? (approved ? "Approved." : "Denied.") : approved ? "Connected." : "Will not be connected.";
  return withData([{ text: words }], { interactionId: open.id, approved });
}

/** @throws A2aClientError `interaction.none`, `interaction.kind`. */
export function answer(open: Interaction | undefined, value: unknown): Reply {
  if (open === undefined) throw nothingOpen();
  if (open.kind !== "question") throw otherKind(open);
  const parts: readonly Part[] = typeof value === "string" ? [{ text: value }] : [{ data: value }];
  if (open.id === undefined) return { parts };
  // Not every agent takes data parts, and the value is in the metadata anyway.
  return withData([{ text: typeof value === "string" && value !== "" ? value : JSON.stringify(value) }], {
    interactionId: open.id,
    value,
  });
}

function withData(parts: readonly Part[], data: object): Reply {
  return { parts, extensions: [EXTENSIONS.interactions], metadata: { [EXTENSIONS.interactions]: data } };
}

function nothingOpen(): A2aClientError {
  return new A2aClientError("interaction.none", "The task asks nothing (any more).");
}

function otherKind({ kind }: Interaction): A2aClientError {
  const how = { approval: "task.approve()", connection: "task.connected()", question: "task.answer()" }[kind];
  return new A2aClientError("interaction.kind", `The task waits for ${an(kind)}; use ${how}.`);
}

function an(kind: Interaction["kind"]): string {
  return kind === "approval" ? "an approval" : kind === "question" ? "an answer to a question" : "a connection";
}
