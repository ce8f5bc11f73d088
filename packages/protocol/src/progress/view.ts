/**
 * What a view (a bar, a dashboard, a terminal) shows of a task's events, as opposed to the latest record.
 *
 * | shown          | next event | then shown                                   |
 * |----------------|------------|----------------------------------------------|
 * | nothing        | any        | the event                                    |
 * | any            | started    | the event: it opens or reopens the task      |
 * | done, error    | any other  | as before: the first terminal state wins     |
 * | any other      | any        | the event                                    |
 */
import type { ProgressEvent } from "../generated/types.ts";
import { clampPercent } from "./event.ts";

/**
 * The event to show after `event` came in. Works as a reducer over one task's events, in the order of receipt; for many tasks
 * keep a `Map` by `task_id`, not an object: `constructor` and `10` are legal ids.
 */
export function nextShown(shown: ProgressEvent | undefined, event: ProgressEvent): ProgressEvent {
  if (shown === undefined || event.status === "started") return event;
  return shown.status === "done" || shown.status === "error" ? shown : event;
}

/**
 * The number on the bar, 0-100: floored, so that 99.6 is not yet 100; `done` is always 100.
 *
 * @returns undefined when `percent` is no finite number: draw no number at all.
 */
export function shownPercent(event: Pick<ProgressEvent, "status" | "percent">): number | undefined {
  if (event.status === "done") return 100;
  return Number.isFinite(event.percent) ? Math.floor(clampPercent(event.percent)) : undefined;
}
