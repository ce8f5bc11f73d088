import type { Part } from "@nylorun/protocol";

import { AgentError } from "./errors.ts";

// Brands, not instanceof: an agent's file may have its own copy of this package.
const replyBrand = Symbol.for("nylorun.reply");
const refusalBrand = Symbol.for("nylorun.refusal");

/** An answer in words instead of an artifact. Made by {@link reply}. */
export interface Reply {
  readonly parts: readonly Part[];
}

/**
 * Answers the caller with a Message (A2A 1.0, section 3.1.1) instead of an artifact: for small talk, where a task with outputs
 * says too much. Return it from `run`.
 *
 * @param content Texts and A2A parts, in the order in which the caller sees them; at least one.
 * @throws AgentError `answer.invalid` without content.
 */
export function reply(...content: readonly (string | Part)[]): Reply {
  if (content.length === 0) throw new AgentError("answer.invalid", "reply() needs a text or a part to answer with.");
  const parts = content.map((item) => (typeof item === "string" ? { text: item } : item));
  return Object.freeze({ parts, [replyBrand]: true });
}

/** Whether `value` was made by {@link reply}. */
export function isReply(value: unknown): value is Reply {
  return typeof value === "object" && value !== null && replyBrand in value;
}

/** Thrown by {@link refuse}. Let it pass: a `catch` of your own that swallows it un-refuses the turn. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly [refusalBrand] = true;
}

/**
 * Ends the turn as refused: the caller's task becomes REJECTED and shows the reason. For work that this agent will not do,
 * as opposed to work that failed.
 *
 * @param reason What the caller reads; say what would be accepted instead.
 * @throws Always: a {@link Refusal}; `AgentError` `answer.invalid` without a reason.
 */
export function refuse(reason: string): never {
  if (typeof reason !== "string" || reason.trim() === "") {
    throw new AgentError("answer.invalid", "refuse() needs a reason: a text that tells the caller why.");
  }
  throw new Refusal(reason);
}

/** Whether `error` was thrown by {@link refuse}. */
export function isRefusal(error: unknown): error is Refusal {
  return typeof error === "object" && error !== null && refusalBrand in error;
}
