/**
 * What is kept of one task's events, so that a view which joins late, or was away for a while, ends up with what a view shows
 * that saw them all (`nextShown`): the last event that opened the task, the first one that ended it since, and the latest.
 */
import { nextShown } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";

export interface Track<Event extends ProgressEvent> {
  readonly opened: Event | undefined;
  readonly ended: Event | undefined;
  readonly latest: Event;
  /** What a view shows. */
  readonly shown: Event;
}

export function nextTrack<Event extends ProgressEvent>(track: Track<Event> | undefined, event: Event): Track<Event> {
  // One of the two that it was given.
  const shown = nextShown(track?.shown, event) as Event;
  if (event.status === "started") return { opened: event, ended: undefined, latest: event, shown };
  const ends = event.status === "done" || event.status === "error";
  return { opened: track?.opened, ended: track?.ended ?? (ends ? event : undefined), latest: event, shown };
}

/** The events to show one after the other, in their order. */
export function catchUp<Event extends ProgressEvent>({ opened, ended, latest }: Track<Event>): Event[] {
  return [...new Set([opened, ended, latest])].filter((event) => event !== undefined);
}
