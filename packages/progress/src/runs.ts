/**
 * How long a task usually takes, from the runs that are on record. It is history, shown as such; it never becomes an ETA (I11).
 */
import type { SinkRecord } from "./record.ts";

/** Fewer runs say nothing about what is usual. */
const LEAST = 3;
/** The last so many runs count. */
const MOST = 50;

export interface UsualDuration {
  /** Half of the runs took between these two, in milliseconds. */
  readonly low: number;
  readonly high: number;
  readonly runs: number;
}

export class Runs {
  readonly #begun = new Map<string, number>();
  readonly #durations = new Map<string, number[]>();

  /** Takes records in, in their order. */
  add({ task_id: id, status, timestamp }: SinkRecord): void {
    const at = Date.parse(timestamp);
    const begun = this.#begun.get(id);
    if (status === "started" || begun === undefined) this.#begun.set(id, at);
    if (status !== "done" && status !== "error") return;
    // Until it is opened again nothing is a new run of it.
    this.#begun.set(id, Number.NaN);
    // A run that was first heard of at its end took who knows how long; one that failed is no measure.
    if (status === "error" || begun === undefined || Number.isNaN(begun)) return;
    const durations = this.#durations.get(id) ?? [];
    durations.push(Math.max(0, at - begun));
    this.#durations.set(id, durations.slice(-MOST));
  }

  /** Undefined when there are too few runs to say. */
  usual(taskId: string): UsualDuration | undefined {
    const sorted = this.#durations.get(taskId)?.toSorted((one, other) => one - other) ?? [];
    if (sorted.length < LEAST) return undefined;
    const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)]!;
    return { low: at(0.25), high: at(0.75), runs: sorted.length };
  }
}
