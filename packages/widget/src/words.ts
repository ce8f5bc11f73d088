/** What the element says. Every word can be replaced: `element.words = { estimating: "wird geschätzt …" }`. */
export interface Words {
  /** Names the bar when there is neither a `label` nor a task id. */
  readonly progress: string;
  /** The stage of a task that named none, by its status. */
  readonly started: string;
  readonly running: string;
  readonly paused: string;
  readonly done: string;
  /** The alert of an error without a message. */
  readonly failed: string;
  /** The stage of a paused task. */
  readonly pausedAt: (stage: string) => string;
  /** Said when a paused task goes on. */
  readonly resumed: string;
  /** @param percent A whole number, 0-100. */
  readonly percent: (percent: number) => string;
  /** Where the countdown stands: no ETA is known, or the known one has run out. */
  readonly estimating: string;
  /** Where the countdown stands, in the states that have none. */
  readonly timePaused: string;
  readonly timeDone: string;
  readonly timeError: string;
  /** @param seconds A whole number, 0 or more. */
  readonly left: (seconds: number) => string;
  /** The same, to be listened to. */
  readonly leftSpoken: (seconds: number) => string;
  /** @param seconds Since the last event; a whole number. */
  readonly noUpdate: (seconds: number) => string;
  readonly noUpdateSpoken: (seconds: number) => string;
}

export const ENGLISH: Words = {
  progress: "Progress",
  started: "Starting",
  running: "Working",
  paused: "Paused",
  done: "Done",
  failed: "Something went wrong",
  pausedAt: (stage) => `Paused — ${stage}`,
  resumed: "Resumed",
  percent: (percent) => `${percent}%`,
  estimating: "estimating…",
  timePaused: "paused",
  timeDone: "done",
  timeError: "failed",
  left: (seconds) => `${clock(seconds)} left`,
  leftSpoken: (seconds) => `${spoken(seconds)} left`,
  noUpdate: (seconds) => `no update for ${clock(seconds)}`,
  noUpdateSpoken: (seconds) => `no update for ${spoken(seconds)}`,
};

const DAY = 86_400;

/** `30 s`, `4:10`, `2:05:00`, `3 days`: no two of them read alike. */
function clock(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds >= 2 * DAY) return days(seconds);
  const two = (part: number) => `${part % 60}`.padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return seconds < 3600 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

/** The two largest units: nobody listens to three. */
function spoken(seconds: number): string {
  if (seconds >= 2 * DAY) return days(seconds);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const parts =
    hours > 0
      ? [many(hours, "hour"), many(minutes % 60, "minute")]
      : [many(minutes, "minute"), many(seconds % 60, "second")];
  return parts.filter((part) => part !== "").join(" ") || "0 seconds";
}

function days(seconds: number): string {
  const count = Math.floor(seconds / DAY);
  return count > 999 ? "more than 999 days" : `${count} days`;
}

function many(count: number, unit: string): string {
  return count === 0 ? "" : `${count} ${unit}${count === 1 ? "" : "s"}`;
}
