/**
 * A Runtime under as much load as it takes: messages that are answered, tasks that are read, listed, asked for and cancelled, of
 * several subjects. And what that does to its memory, its files and its event loop.
 */
import { setTimeout as delay } from "node:timers/promises";

import { load } from "../../bench/load.ts";
import type { Exchange, Round } from "../../bench/load.ts";
import { messageOf } from "../e2e/callers.ts";
import { Process } from "../e2e/process.ts";

export interface SaturationOptions {
  readonly milliseconds: number;
  /** Told how it goes. */
  readonly onMinute?: (line: string) => void;
}

export interface Saturation {
  readonly figures: Readonly<Record<string, number>>;
  /** What must not be, in words; none is good. */
  readonly problems: readonly string[];
}

const MIB = 1024 * 1024;
const SUBJECTS = 4;
const SENDERS = 16;

/** What a look at the process shows. */
interface Look {
  readonly bytes: number;
  readonly heap: number;
  readonly files: number;
}

export async function saturate({ milliseconds, onMinute }: SaturationOptions): Promise<Saturation> {
  await using runtime = await Process.start({ inspected: true });
  const keys: string[] = [];
  for (let n = 0; n < SUBJECTS; n++) keys.push((await runtime.as(`subject-${n}`)).key);
  const run = (time: number) => Promise.all(keys.map((key, index) => oneSubject(runtime.port, key, { index, time })));

  // Code is compiled, caches are filled: what grows from there on, grows.
  await run(Math.min(30_000, milliseconds / 4));
  const first = await look(runtime);
  const began = performance.now();
  const running = run(milliseconds);
  running.catch(() => {});
  const delays: number[] = [];
  const looks: Look[] = [];
  let files = 0;
  while (performance.now() - began < milliseconds) {
    await delay(Math.min(60_000, Math.max(100, milliseconds - (performance.now() - began))));
    const figures = await runtime.metrics();
    delays.push(figures.get('nylorun_event_loop_delay_seconds{quantile="0.99"}')! * 1000);
    files = Math.max(files, runtime.openFiles);
    looks.push({ bytes: runtime.residentBytes, heap: 0, files: runtime.openFiles });
    onMinute?.(
      `${Math.round((performance.now() - began) / 1000)} s: ${(runtime.residentBytes / MIB).toFixed()} MiB, ` +
        `${runtime.openFiles} files, event-loop delay p99 ${delays.at(-1)!.toFixed(1)} ms`,
    );
  }
  const rounds = (await running).flat();
  const last = await look(runtime);
  const calls = await runtime.metrics();
  const errors = [...calls].filter(([name]) => /^nylorun_calls_total\{.*answer="(?!ok")/.test(name));
  const requests = rounds.reduce((sum, one) => sum + one.requests, 0);
  const latencies = rounds[0]!.latencies;
  const problems = [
    ...errors.map(([name, count]) => `${count} calls were answered otherwise: ${name}`),
    ...(last.heap > first.heap + 8 * MIB ? [`The heap grew from ${first.heap} to ${last.heap} bytes.`] : []),
    ...(last.bytes > first.bytes * 1.5 + 64 * MIB ? [`Memory grew from ${first.bytes} to ${last.bytes} bytes.`] : []),
    ...(last.files > first.files + 5 ? [`Open files grew from ${first.files} to ${last.files}.`] : []),
  ];
  const most = Math.max(...looks.map(({ bytes }) => bytes));
  return {
    figures: {
      seconds: Math.round((performance.now() - began) / 1000),
      requests,
      perSecond: Math.round(requests / (milliseconds / 1000)),
      sendP50Ms: round(latencies[Math.floor(latencies.length * 0.5)]!),
      sendP99Ms: round(latencies[Math.floor(latencies.length * 0.99)]!),
      loopDelayP99Ms: round(Math.max(...delays)),
      heapMbBefore: round(first.heap / MIB),
      heapMbAfter: round(last.heap / MIB),
      residentMbBefore: round(first.bytes / MIB),
      residentMbMost: round(most / MIB),
      residentMbAfter: round(last.bytes / MIB),
      filesBefore: first.files,
      filesMost: files,
      filesAfter: last.files,
      tasks: [...calls].reduce((sum, [name, value]) => sum + (name.startsWith("nylorun_turns{") ? value : 0), 0),
    },
    problems,
  };
}

/** When nothing is asked, and what can be collected has been. */
async function look(runtime: Process): Promise<Look> {
  await runtime.measured((figures) => figures.get("nylorun_connections")! < 20);
  const { used } = await runtime.heap();
  return { bytes: runtime.residentBytes, heap: used, files: runtime.openFiles };
}

interface Subject {
  readonly index: number;
  readonly time: number;
}

/** Sends, reads, lists, asks and cancels. The first of the rounds is the sending. */
function oneSubject(port: number, key: string, { index, time }: Subject): Promise<Round[]> {
  const target = { port, path: "/v1/a2a/agents/moods/", headers: { Authorization: `Bearer ${key}` } };
  let latest: string | undefined;
  let asking: string | undefined;
  const call = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const resultOf = (answer: string) => {
    const { result } = JSON.parse(answer) as { result?: { task?: { id: string }; id?: string } };
    if (result === undefined) throw new Error(`Expected a result, got ${answer.slice(0, 500)}`);
    return result;
  };
  let sent = 0;
  const sends: Exchange = {
    // A tenth of them in contexts that go on.
    body: () =>
      call("SendMessage", {
        message: messageOf("Hello", ++sent % 10 === 0 ? { contextId: `talk-${index}-${sent % 500}` } : {}),
      }),
    check: (answer) => (latest = resultOf(answer).task!.id),
  };
  const reads: Exchange = {
    body: () => (latest === undefined ? call("ListTasks", { pageSize: 1 }) : call("GetTask", { id: latest })),
    check: (answer) => void resultOf(answer),
  };
  const lists: Exchange = {
    body: () => call("ListTasks", { pageSize: 20 }),
    check: (answer) => void resultOf(answer),
  };
  // Asked and cancelled in turns: what waits does not pile up.
  const cancels: Exchange = {
    body: () =>
      asking === undefined ? call("SendMessage", { message: messageOf("ask") }) : call("CancelTask", { id: asking }),
    check(answer) {
      const { task } = resultOf(answer);
      asking = task?.id;
    },
  };
  const options = (connections: number, exchange: Exchange) => ({ connections, exchange, milliseconds: time });
  return Promise.all([
    load(target, options(SENDERS, sends)),
    load(target, options(1, reads)),
    load(target, options(1, lists)),
    load(target, options(1, cancels)),
  ]);
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
