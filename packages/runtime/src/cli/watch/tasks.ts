/** What `watch` knows: the tasks that are worth showing, by agent, from the records of the sink. */
import { nextTrack, Runs } from "@nylorun/progress";
import type { SinkRecord, Track, UsualDuration } from "@nylorun/progress";

/** An ended task stays in view for so long, in milliseconds. */
const ENDED_SHOWN = 10 * 60_000;
/** An open task of which nothing was heard for so long is not shown any more, in milliseconds. */
const SILENT_SHOWN = 24 * 60 * 60_000;
/** Tasks that are remembered; those that were heard of least recently are forgotten. */
const CAPACITY = 10_000;

export interface WatchedTask {
  /** What a view shows of the task: the record, and how long it is since anything was heard of it, in milliseconds. */
  readonly shown: SinkRecord;
  readonly silentMs: number;
  readonly usual: UsualDuration | undefined;
}

export interface WatchedAgent {
  readonly agent: string;
  /** Open ones first, then those that have ended; each in the order in which they began. */
  readonly tasks: readonly WatchedTask[];
}

export class WatchedTasks {
  readonly #tracks = new Map<string, { track: Track<SinkRecord>; readonly first: number }>();
  readonly #runs = new Runs();
  #count = 0;

  /** Takes records in, in their order. Returns whether what is shown of the task is another record now. */
  add(record: SinkRecord): boolean {
    this.#runs.add(record);
    const known = this.#tracks.get(record.task_id);
    const track = nextTrack(known?.track, record);
    this.#tracks.delete(record.task_id);
    this.#tracks.set(record.task_id, { track, first: known?.first ?? ++this.#count });
    if (this.#tracks.size > CAPACITY) {
      const [oldest] = this.#tracks.keys();
      if (oldest !== undefined) this.#tracks.delete(oldest);
    }
    return track.shown !== known?.track.shown;
  }

  /**
   * By agent, in the order of their names.
   *
   * @param now Milliseconds since 1970.
   * @param all Also those that ended long ago.
   */
  shown(now: number, all: boolean): WatchedAgent[] {
    const tasks = [...this.#tracks.values()]
      .map(({ track: { shown, latest }, first }) => ({
        shown,
        first,
        silentMs: Math.max(0, now - Date.parse(latest.timestamp)),
        usual: this.#runs.usual(shown.task_id),
      }))
      .filter(({ shown, silentMs }) => all || silentMs < (isOpen(shown) ? SILENT_SHOWN : ENDED_SHOWN))
      .toSorted((one, other) => Number(isOpen(other.shown)) - Number(isOpen(one.shown)) || one.first - other.first);
    return [...Map.groupBy(tasks, ({ shown }) => shown.agent)]
      .map(([agent, ofAgent]) => ({ agent, tasks: ofAgent }))
      .toSorted((one, other) => (one.agent < other.agent ? -1 : 1));
  }
}

export function isOpen({ status }: SinkRecord): boolean {
  return status !== "done" && status !== "error";
}
