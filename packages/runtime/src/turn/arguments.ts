/** What authors give with their calls of `turn`, checked at once: in their first test, and not when it is to be stored. */
import { AgentError } from "@nylorun/agents";
import type { ProgressReport, Usage } from "@nylorun/agents";

import type { Totals } from "./journal.ts";
import { resultOf } from "./json.ts";

export const sayLimit = 4000;
const nameLimit = 200;
const stageLimit = 120;
/** What is as good as for ever, in milliseconds: three thousand years. A moment after it is still one that a date, and every store, can hold. */
const longestMs = 1e14;
/** Of one report: no sum of such is beyond what a number can be. */
const mostCostUsd = 1e12;

export function checkedText(text: string): string {
  if (typeof text === "string" && text.trim() !== "" && text.length <= sayLimit) return text;
  throw new AgentError("say.invalid", `turn.say takes a text of 1 to ${sayLimit} characters.`);
}

export function checkedProgress({ percent, stage, etaSeconds }: ProgressReport): ProgressReport {
  const wrong = (field: string, expected: string, came: unknown) =>
    new AgentError("progress.invalid", `turn.progress: ${field} must be ${expected}; it is ${String(came)}.`);
  if (percent !== undefined && !Number.isFinite(percent)) throw wrong("percent", "a finite number", percent);
  if (stage !== undefined && typeof stage !== "string") throw wrong("stage", "a text", stage);
  if (etaSeconds !== undefined && etaSeconds !== null && !(Number.isFinite(etaSeconds) && etaSeconds >= 0)) {
    throw wrong("etaSeconds", "a finite number from 0, or null when unknown", etaSeconds);
  }
  return {
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, percent)) }),
    ...(stage !== undefined && { stage: [...stage].slice(0, stageLimit).join("") }),
    ...(etaSeconds !== undefined && { etaSeconds }),
  };
}

export function checkedUsage({ tokens, costUsd }: Usage): Totals {
  for (const [field, value] of Object.entries({ tokens, costUsd })) {
    const fits = field === "costUsd" ? value! <= mostCostUsd : Number.isSafeInteger(value);
    if (value === undefined || (fits && value >= 0)) continue;
    const expected = field === "costUsd" ? `a number from 0 to ${mostCostUsd}` : "a whole number from 0";
    throw invalid(`usage: ${field} must be ${expected}; it is ${String(value)}.`);
  }
  return { ...(tokens !== undefined && { tokens }), ...(costUsd !== undefined && { costUsd }) };
}

export function checkName(call: string, name: string): void {
  if (typeof name === "string" && name !== "" && name.length <= nameLimit) return;
  throw invalid(`turn.${call} takes a name of 1 to ${nameLimit} characters first.`);
}

export function checkTime(field: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isFinite(value) && value >= least)) return;
  throw invalid(`${field} must be milliseconds, ${least} or more; it is ${String(value)}.`);
}

/** Stores keep whole milliseconds. */
export function wholeTime(ms: number): number {
  return Math.min(Math.ceil(ms), longestMs);
}

/** As it is kept, and shown. */
export function jsonOf<T>(field: string, value: T): T {
  const json = resultOf(value);
  if ("error" in json) throw invalid(`${field} cannot be shown. ${json.error.message}`);
  return json.value as T;
}

export function keyOf({ key }: { readonly key?: string }): { readonly key?: string } {
  if (key === undefined) return {};
  if (typeof key === "string" && key !== "" && key.length <= nameLimit) return { key };
  throw invalid(`A key must be a text of 1 to ${nameLimit} characters.`);
}

export function invalid(message: string): AgentError {
  return new AgentError("call.invalid", message);
}
