/** Days and the files that are named for them: `events-2026-10-14.jsonl`. Every day here is one of UTC. */

const DAY_MS = 24 * 60 * 60 * 1000;

/** `2026-10-14`. Days compare as texts do. */
export type Day = string;

/** @param at Milliseconds since 1970. */
export function dayOf(at: number): Day {
  return new Date(at).toISOString().slice(0, 10);
}

export function daysBefore(day: Day, count: number): Day {
  return dayOf(Date.parse(day) - count * DAY_MS);
}

export function eventsFileOf(day: Day): string {
  return `events-${day}.jsonl`;
}

/** The day that a file's whole name says, or undefined when the file is none of ours. */
export function dayOfFile(name: string): Day | undefined {
  const day = /^events-(\d{4}-\d{2}-\d{2})\.jsonl$/.exec(name)?.[1];
  // `2026-02-31` has the shape of a day and is none.
  return day !== undefined && !Number.isNaN(Date.parse(day)) && dayOf(Date.parse(day)) === day ? day : undefined;
}
