/** Reports of this process to the person's sink. */
import { receiptClock, sinkRecord } from "@nylorun/progress";
import type { Sink, SinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import type { ProgressStatus } from "@nylorun/protocol";

import { RuntimeError } from "../../node/errors.ts";
import { openLocalSink } from "../../node/sink.ts";

/** Reports of one task go out so often at most, in milliseconds; the last one always does. */
const PACE = 250;

/**
 * Reports once.
 *
 * @throws ReportError; RuntimeError `sink.unwritable`.
 */
export async function reportOnce(report: object, agent: string | undefined): Promise<SinkRecord> {
  let why = "";
  using sink = openLocalSink((text) => (why = text));
  const record = sinkRecord(normalizeReport(report, Date.now()), agent);
  if (!(await sink.append(record))) throw new RuntimeError("sink.unwritable", why.replace(/ Each report.*/, ""));
  return record;
}

export interface Progress {
  readonly percent: number;
  readonly stage: string;
  readonly status: ProgressStatus;
  readonly message?: string | undefined;
}

/** Reports of one task for as long as it goes on, at a pace that people can follow. */
export class Reporter implements Disposable {
  readonly #sink: Sink;
  readonly #fixed: { readonly task_id: string; readonly session_id?: string };
  readonly #agent: string;
  readonly #now = receiptClock();
  #next: Progress | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = -Infinity;

  constructor(options: {
    readonly sink: Sink;
    readonly task: string;
    readonly agent: string;
    readonly session?: string;
  }) {
    this.#sink = options.sink;
    this.#agent = options.agent;
    this.#fixed = { task_id: options.task, ...(options.session !== undefined && { session_id: options.session }) };
  }

  /** Reports now, or as soon as the pace allows, unless there is something newer by then. What begins or ends is not held back. */
  report(progress: Progress): void {
    this.#next = progress;
    const wait = this.#last + PACE - performance.now();
    if (progress.status !== "running" || wait <= 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), wait);
  }

  /** Reports what is held back. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const progress = this.#next;
    if (progress === undefined) return;
    this.#next = undefined;
    this.#last = performance.now();
    const event = normalizeReport({ ...this.#fixed, ...progress }, this.#now());
    void this.#sink.append(sinkRecord(event, this.#agent));
  }

  [Symbol.dispose](): void {
    this.flush();
    this.#sink.flush();
  }
}
