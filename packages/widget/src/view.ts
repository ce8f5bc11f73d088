/**
 * What is shown of an event: the seed's rendering guidance as one pure function.
 *
 * | status  | stage line                     | time                                              | bar            |
 * |---------|--------------------------------|---------------------------------------------------|----------------|
 * | started | stage, else "Starting"         | as running                                        | as far as told |
 * | running | stage, else "Working"          | "no update for 4:10", else "30 s left", else "estimating…" | as far as told |
 * | paused  | "Paused — stage", else "Paused" | "paused"                                          | desaturated    |
 * | done    | stage, else "Done"             | "done"                                            | 100%, at once  |
 * | error   | none: the alert says what      | "failed"                                          | as far as told |
 */
import { plainText, shownPercent } from "@nylorun/protocol";
import type { ProgressEvent, ProgressStatus } from "@nylorun/protocol";

import type { Words } from "./words.ts";

/** What may come from a page: any of an event's fields may be missing or of another type. */
export type LooseEvent = { readonly [Field in keyof ProgressEvent]?: unknown };

export interface View {
  readonly status: ProgressStatus;
  /** Whole, 0-100; undefined when no finite number came. */
  readonly percent: number | undefined;
  readonly percentText: string;
  /** How much of the bar is filled, 0-100. */
  readonly fill: number;
  /** What the bar measures. */
  readonly name: string;
  readonly stage: string;
  /** What went wrong; empty in every other state. */
  readonly alert: string;
  readonly note: string;
  readonly time: string;
  /** No event has come for a while, though some should. */
  readonly stale: boolean;
  /** The whole, to be listened to. */
  readonly spoken: string;
}

export interface ViewOptions {
  readonly words: Words;
  /** Milliseconds since 1970, by the clock of whoever stamped the events; undefined: draw no ages. */
  readonly now: number | undefined;
  readonly label: string;
}

/** From this age on, in seconds, a silence is shown. */
const STALE_AFTER = 60;

const STATUSES = ["started", "running", "paused", "done", "error"] as const satisfies readonly ProgressStatus[];

export function viewOf(event: LooseEvent, { words, now, label }: ViewOptions): View {
  const text = (value: unknown, limit: number) => (typeof value === "string" ? plainText(value, limit) : "");
  const status = STATUSES.find((each) => each === event.status) ?? "started";
  const amount = { status, percent: event.percent as number };
  const percent = shownPercent(amount);
  const percentText = percent === undefined ? "" : words.percent(percent);
  const given = text(event.stage, 120);
  const message = text(event.message, 280);
  const failed = status === "error";
  const stage = failed
    ? ""
    : status !== "paused"
      ? given || words[status]
      : given
        ? words.pausedAt(given)
        : words.paused;
  const alert = failed ? message || words.failed : "";
  const [time, timeSpoken = time, stale = false] = timeOf(event, status, { words, now });
  const agent = text(event.agent, 128);
  return {
    status,
    percent,
    percentText,
    fill: percent === 100 || percent === undefined ? 100 : Math.max(0, amount.percent),
    name: plainText(label, 200) || text(event.task_id, 128) || words.progress,
    stage,
    alert,
    note: [agent, failed ? given : message].filter((part) => part !== "").join(" · "),
    time,
    stale,
    spoken: [stage + alert, percentText, timeSpoken].filter((part) => part !== "").join(", "),
  };
}

/** The time, how it is said, and whether it tells of a silence. */
function timeOf(
  event: LooseEvent,
  status: ProgressStatus,
  { words, now }: Pick<ViewOptions, "words" | "now">,
): readonly [time: string, spoken?: string, stale?: boolean] {
  if (status === "paused") return [words.timePaused];
  if (status === "done") return [words.timeDone];
  if (status === "error") return [words.timeError];
  // Another clock than the stamping one may be behind it: an age is never negative.
  const at = typeof event.timestamp === "string" ? Date.parse(event.timestamp) : NaN;
  const age = now === undefined ? 0 : Math.max(0, (now - at) / 1000) || 0;
  if (age >= STALE_AFTER) {
    const seconds = Math.floor(age);
    return [words.noUpdate(seconds), words.noUpdateSpoken(seconds), true];
  }
  const eta = event.eta_seconds;
  if (typeof eta !== "number" || !Number.isFinite(eta) || eta < 0 || (eta < age && age > 0)) return [words.estimating];
  const left = Math.ceil(eta - age);
  return [words.left(left), words.leftSpoken(left)];
}
