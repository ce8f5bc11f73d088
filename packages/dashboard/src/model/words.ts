/** How things are said: states, times, sizes, money. */
import type { TaskState } from "@nylorun/protocol";

/** What a state is to a person: something goes on, wants them, went well, went wrong, or is over. */
export type Tone = "live" | "wait" | "good" | "bad" | "over";

export const STATES: { readonly [State in TaskState]: { readonly words: string; readonly tone: Tone } } = {
  TASK_STATE_SUBMITTED: { words: "Queued", tone: "over" },
  TASK_STATE_WORKING: { words: "Working", tone: "live" },
  TASK_STATE_INPUT_REQUIRED: { words: "Asks you", tone: "wait" },
  TASK_STATE_AUTH_REQUIRED: { words: "Needs you", tone: "wait" },
  TASK_STATE_COMPLETED: { words: "Done", tone: "good" },
  TASK_STATE_FAILED: { words: "Failed", tone: "bad" },
  TASK_STATE_REJECTED: { words: "Refused", tone: "bad" },
  TASK_STATE_CANCELED: { words: "Canceled", tone: "over" },
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `now`, `40 s ago`, `3 h ago`, `Oct 14`. */
export function ago(at: number, now: number): string {
  const age = Math.max(0, now - at);
  if (age < 10 * SECOND) return "now";
  if (age < MINUTE) return `${Math.floor(age / SECOND)} s ago`;
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
  if (age < DAY) return `${Math.floor(age / HOUR)} h ago`;
  if (age < 7 * DAY) return `${Math.floor(age / DAY)} d ago`;
  return DATE.format(at);
}

const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** In full, by this machine's clock and place. */
export function moment(at: number): string {
  return Number.isFinite(at) ? MOMENT.format(at) : "";
}

/** Of this day. */
export function time(at: number): string {
  return TIME.format(at);
}

export function day(at: number): string {
  return DATE.format(at);
}

/** Four digits that count: `$0.0042`, `$12.40`. */
export function money(usd: number): string {
  if (usd === 0) return "$0";
  const digits = usd >= 1 ? 2 : Math.min(8, 3 - Math.floor(Math.log10(usd)));
  return `$${usd.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

export function count(number: number): string {
  return number.toLocaleString();
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const unit = bytes < 1e6 ? 1e3 : bytes < 1e9 ? 1e6 : 1e9;
  const value = bytes / unit;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${{ [1e3]: "kB", [1e6]: "MB", [1e9]: "GB" }[unit]}`;
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A value as JSON that can be read. */
export function json(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

/**
 * A text from elsewhere as it may stand where somebody decides by it: without what changes the order in which its characters are drawn,
 * so that "not" cannot be made to look like another word.
 */
export function straight(text: string): string {
  return text.replaceAll(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, "");
}
