/** What the journal keeps is JSON, and what the author sees is what the journal keeps (E4). */
import { OutcomeUnknown } from "@nylorun/agents";

import type { EffectResult, RecordedError } from "./journal.ts";

/** Of one result, in bytes of UTF-8. */
export const resultLimit = 1024 * 1024;
/** Levels of one result: what is nested much deeper, some that read it cannot (SQLite a thousand, `structuredClone` some thousands). */
export const nestingLimit = 500;

const encoder = new TextEncoder();

/**
 * The value as it would be read back; or why there is none.
 *
 * @param limit In bytes of UTF-8.
 */
export function resultOf(value: unknown, limit = resultLimit): EffectResult {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    return {
      error: { name: "TypeError", code: "effect.notJson", message: `The result is no JSON: ${messageOf(error)}` },
    };
  }
  if (text === undefined) {
    if (value === undefined) return {};
    return {
      error: { name: "TypeError", code: "effect.notJson", message: `The result is no JSON, it is a ${typeof value}.` },
    };
  }
  if (limit < Infinity && sizeOf(text) > limit) {
    const message = "The result is larger than 1 MiB; keep it elsewhere, and return where.";
    return { error: { name: "RangeError", code: "effect.tooLarge", message } };
  }
  if (isNestedDeeper(text, nestingLimit)) {
    const message = `The result is nested deeper than ${nestingLimit} levels; keep it as a text.`;
    return { error: { name: "RangeError", code: "effect.tooLarge", message } };
  }
  return { value: JSON.parse(text) as unknown };
}

/** @param text JSON. Read and not walked through: what is nested so deep cannot be. */
function isNestedDeeper(text: string, levels: number): boolean {
  if (text.length < 2 * levels) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '"') isInText = !isInText;
    else if (isInText) {
      if (letter === "\\") at++;
    } else if (letter === "[" || letter === "{") {
      if (++depth > levels) return true;
    } else if (letter === "]" || letter === "}") depth--;
  }
  return false;
}

/** What is kept of something that was thrown. */
export function recordedError(error: unknown): RecordedError {
  if (!(error instanceof Error) && !isErrorLike(error)) return { name: "Error", message: cut(String(error)) };
  const { name, message, code, data } = error as { name?: unknown; message?: unknown; code?: unknown; data?: unknown };
  const kept = data === undefined ? undefined : resultOf(data);
  return {
    name: typeof name === "string" ? cut(name) : "Error",
    message: typeof message === "string" ? cut(message) : "",
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(kept && "value" in kept && { data: kept.value }),
  };
}

/** An agent's file may have its own copy of `@nylorun/agents`: names count, not classes. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof OutcomeUnknown || (isErrorLike(error) && error.name === "OutcomeUnknown");
}

/** What a value takes as JSON, in bytes of UTF-8. */
export function bytesOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length;
}

export function sizeOf(text: string): number {
  // Up to three bytes a code unit: most texts need no second look.
  return text.length * 3 <= resultLimit ? text.length : encoder.encode(text).length;
}

function isErrorLike(error: unknown): error is { readonly name: string; readonly message: string } {
  return typeof error === "object" && error !== null && "name" in error && "message" in error;
}

export function messageOf(error: unknown): string {
  return isErrorLike(error) ? error.message : String(error);
}

function cut(text: string): string {
  return text.length <= 4000 ? text : `${text.slice(0, 3999)}…`;
}
