/**
 * What this server knows of tasks: what was reported to it, and what others wrote to the sink since yesterday.
 *
 * The sink says what is latest, as it has everybody's reports in their order. What could not be stored there is known here all
 * the same.
 */
import { dayOf, daysBefore, receiptClock, sinkRecord, SinkReader } from "@nylorun/progress";
import type { Sink, SinkRecord } from "@nylorun/progress";
import { isComplete, normalizeReport } from "@nylorun/protocol";

/** Tasks that are remembered; those that were heard of least recently are forgotten. */
const CAPACITY = 10_000;

export interface LedgerOptions {
  readonly sink: Sink;
  /** Who reports here; without it a task's id says so. */
  readonly agent: string | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** What is answered to a report. */
export type Receipt = SinkRecord & { readonly complete: boolean; readonly persisted: boolean };

/** What is known of a task. */
export type Status = SinkRecord & { readonly complete: boolean; readonly updated_at: string };

export class Ledger {
  readonly #sink: Sink;
  readonly #agent: string | undefined;
  readonly #now: () => number;
  readonly #reader: SinkReader;
  /** The latest of what was reported here. */
  readonly #own = new Map<string, { readonly record: SinkRecord; readonly persisted: boolean }>();
  /** The latest of what was stored, by whomever. */
  readonly #stored = new Map<string, SinkRecord>();

  constructor({ sink, agent, now = Date.now }: LedgerOptions) {
    this.#sink = sink;
    this.#agent = agent;
    this.#now = receiptClock(now);
    this.#reader = new SinkReader({ folder: sink.folder, from: daysBefore(dayOf(this.#now()), 1) });
  }

  /**
   * Takes a report in; it is stored when this resolves. The record's place is the moment of the call.
   *
   * @throws ReportError.
   */
  async report(report: unknown): Promise<Receipt> {
    const record = sinkRecord(normalizeReport(report, this.#now()), this.#agent);
    const persisted = await this.#sink.append(record);
    remember(this.#own, record.task_id, { record, persisted });
    return { ...record, complete: isComplete(record), persisted };
  }

  /** The latest record of each task, the newest first. `taskId`: of that one. */
  status(taskId?: string): Status[] {
    this.#sink.flush();
    for (const record of this.#reader.read().records) remember(this.#stored, record.task_id, record);
    const since = daysBefore(dayOf(this.#now()), 1);
    return [...new Set([...this.#stored.keys(), ...this.#own.keys()])]
      .filter((id) => taskId === undefined || id === taskId)
      .map((id) => this.#latest(id))
      .filter((record) => record !== undefined && record.timestamp >= since)
      .map((record) => ({ ...record!, complete: isComplete(record!), updated_at: record!.timestamp }))
      .toReversed()
      .toSorted((one, other) => (one.timestamp < other.timestamp ? 1 : one.timestamp > other.timestamp ? -1 : 0));
  }

  #latest(taskId: string): SinkRecord | undefined {
    const stored = this.#stored.get(taskId);
    const own = this.#own.get(taskId);
    if (stored === undefined || own === undefined) return stored ?? own?.record;
    return !own.persisted && own.record.timestamp >= stored.timestamp ? own.record : stored;
  }
}

function remember<Value>(map: Map<string, Value>, id: string, value: Value): void {
  // The order of a map is that of its insertions: the last one is the one that was heard of last.
  map.delete(id);
  map.set(id, value);
  if (map.size <= CAPACITY) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
