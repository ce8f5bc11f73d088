/** The figures of a Runtime that serves: what it stores, what waits, how quick the disk and the event loop are, what the process takes. */
import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Metrics } from "../http/metrics.ts";
import type { Store, StoreFigures } from "../store/store.ts";
import type { Engine } from "../turn/engine.ts";
import type { DiskRoom } from "./disk-room.ts";

export interface GaugeParts {
  readonly metrics: Metrics;
  readonly store: Store;
  readonly engine: Engine;
  readonly disk: DiskRoom;
  /** How many connections are open. */
  readonly connections: () => number;
}

/** How long figures that were read from the store stand for what it holds, in milliseconds: one reading answers all of a scrape. */
const FRESH = 500;
/** How often the event loop is looked at, in milliseconds, and how long one look is remembered. */
const RESOLUTION = 20;
const MINUTE = 60_000;

/** @returns Ends what measures. */
export function addGauges({ metrics, store, engine, disk, connections }: GaugeParts): Disposable {
  let figures: { readonly at: number; readonly read: Promise<StoreFigures> } | undefined;
  const stored = () => {
    const now = performance.now();
    if (figures === undefined || now - figures.at > FRESH) figures = { at: now, read: store.measure() };
    return figures.read;
  };
  const known = (value: number | undefined) => (value === undefined ? [] : [{ value }]);
  const stateOf = (name: string) => name.replace("TASK_STATE_", "").toLowerCase();

  metrics.gauge("nylorun_turns", "Turns that are stored, by the state that callers are shown.", async () =>
    Object.entries((await stored()).turns).map(([name, value]) => ({ value, labels: { state: stateOf(name) } })),
  );
  metrics.gauge("nylorun_turns_running", "Turns that run in this process.", () => [{ value: engine.running }]);
  metrics.gauge("nylorun_queue_contexts", "Contexts that wait for room to run.", async () => [
    { value: (await stored()).ready },
  ]);
  metrics.gauge("nylorun_queue_age_seconds", "How long the oldest of them has waited.", async () => {
    const { readySince } = await stored();
    return [{ value: readySince === undefined ? 0 : Math.max(0, store.now() - readySince) / 1000 }];
  });
  metrics.gauge("nylorun_push_waiting", "Deliveries that wait to reach their webhook.", async () => [
    { value: (await stored()).deliveries.waiting },
  ]);
  metrics.gauge("nylorun_push_age_seconds", "How long the oldest of them has waited.", async () => {
    const { since } = (await stored()).deliveries;
    return [{ value: since === undefined ? 0 : Math.max(0, store.now() - since) / 1000 }];
  });
  metrics.gauge("nylorun_push_given_up", "Deliveries that were given up, and are kept.", async () => [
    { value: (await stored()).deliveries.givenUp },
  ]);
  metrics.gauge("nylorun_connections", "Connections that are open.", () => [{ value: connections() }]);
  metrics.gauge("nylorun_store_bytes", "What the store takes.", async () => known((await stored()).bytes));
  metrics.gauge("nylorun_store_free_bytes", "How much of that is free to be used again.", async () =>
    known((await stored()).freeBytes),
  );
  metrics.gauge("nylorun_disk_free_bytes", "What is free on the disk of the home.", () => known(disk.free));

  const loop = new LoopDelay();
  metrics.gauge(
    "nylorun_event_loop_delay_seconds",
    "How much later than it should the event loop came round, in the last minute.",
    () => loop.read(),
  );
  metrics.gauge("process_resident_memory_bytes", "Resident memory.", () => [{ value: process.memoryUsage.rss() }]);
  metrics.gauge("process_start_time_seconds", "When the process began.", () => [
    { value: Math.round(Date.now() / 1000 - process.uptime()) },
  ]);
  metrics.figures.push({
    name: "process_cpu_seconds_total",
    help: "Processor time, in all threads.",
    kind: "counter",
    read: () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6 }];
    },
  });
  return loop;
}

type Delays = ReturnType<typeof monitorEventLoopDelay>;

class LoopDelay implements Disposable {
  #now = started();
  #last: Delays | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => {
      this.#now.disable();
      this.#last = this.#now;
      this.#now = started();
    }, MINUTE).unref();
  }

  read() {
    const delays = this.#last ?? this.#now;
    const at = (share: number) => ({
      // What is measured is the time between two looks.
      value: Math.max(0, delays.percentile(share * 100) / 1e6 - RESOLUTION) / 1000,
      labels: { quantile: String(share) },
    });
    return delays.count === 0 ? [] : [at(0.5), at(0.99), at(1)];
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#now.disable();
  }
}

function started(): Delays {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  return delays;
}
