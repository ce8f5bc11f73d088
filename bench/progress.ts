/**
 * Reporting progress: round trips of `report_progress` over stdio, each record stored before its answer, against a bare echo tool
 * on the same SDK; what a record costs at the sink; and how soon 1,000 subscribers of a Runtime hear of a report.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";

import { EventReader } from "./event-reader.ts";
import { brief, median, percentile, result, spread, table } from "./figures.ts";
import type { BenchOptions } from "./main.ts";
import { McpSession } from "./mcp-session.ts";
import { addKey, launchNylorun } from "./nylorun.ts";
import { Server } from "./server.ts";

const command = fileURLToPath(new URL("../packages/mcp-server/bin/mcp-server.js", import.meta.url));
const echo = fileURLToPath(new URL("peers/mcp-echo.ts", import.meta.url));

const REPORT = {
  task_id: "claude:summarize-report",
  percent: 42,
  eta_seconds: 30,
  stage: "Reasoning",
  status: "running",
  message: "reading section 3 of 7",
};

export async function run({ quick, rounds = quick ? 3 : 7 }: BenchOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "nylorun-bench-"));
  try {
    const mcp = await measureMcp(join(folder, "mcp"), rounds, quick ? 500 : 1500);
    const append = await measureAppend(join(folder, "append"), rounds, quick ? 5_000 : 50_000);
    const events = await measureEvents(join(folder, "home"), quick ? 200 : 1_000, quick ? 50 : 200);
    console.log();
    console.log(result("progress", { ...mcp, ...append, ...events }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureMcp(folder: string, rounds: number, milliseconds: number): Promise<Record<string, number>> {
  await using report = await McpSession.open([command], { AGENT_PROGRESS_EVENTS_DIR: folder });
  await using bare = await McpSession.open([echo]);
  const measure = {
    report: (atOnce: number, ms: number) => report.rate("report_progress", REPORT, { atOnce, milliseconds: ms }),
    bare: (atOnce: number, ms: number) => bare.rate("echo", REPORT, { atOnce, milliseconds: ms }),
  };
  for (const each of Object.values(measure)) await each(64, milliseconds);
  const figures: Record<string, number> = {};
  const rows: string[][] = [];
  for (const [name, atOnce] of [
    ["one at a time", 1],
    ["pipelined, 64 at once", 64],
  ] as const) {
    const rates: Record<keyof typeof measure, number[]> = { report: [], bare: [] };
    for (let round = 0; round < rounds; round++) {
      rates.report.push(await measure.report(atOnce, milliseconds));
      rates.bare.push(await measure.bare(atOnce, milliseconds));
    }
    const ratio = median(rates.report.map((rate, round) => rate / rates.bare[round]!));
    for (const who of ["bare", "report"] as const) {
      const label = who === "bare" ? "bare echo" : "report_progress";
      rows.push([`${name}, ${label}`, brief(median(rates[who])), who === "bare" ? "" : `${brief(ratio)} x`]);
    }
    const key = atOnce === 1 ? "one" : "pipelined";
    Object.assign(figures, {
      [`${key}PerSecond`]: median(rates.report),
      [`${key}BarePerSecond`]: median(rates.bare),
      [`${key}VsBare`]: ratio,
      [`${key}Noise`]: Math.max(spread(rates.report), spread(rates.bare)),
    });
  }
  console.log(table(["MCP over stdio", "round trips/s", "is"], rows));
  return figures;
}

async function measureAppend(folder: string, rounds: number, count: number): Promise<Record<string, number>> {
  const sink = new Sink({ folder, warn: (text) => console.error(text) });
  using _ = sink;
  const record = sinkRecord(normalizeReport(REPORT, Date.now()));
  const time = async (work: () => Promise<unknown>): Promise<number> => {
    const begun = performance.now();
    await work();
    return (1000 * (performance.now() - begun)) / count;
  };
  const alone: number[] = [];
  const together: number[] = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(
      await time(async () => {
        for (let index = 0; index < count; index++) await sink.append(record);
      }),
    );
    together.push(
      await time(async () => {
        for (let index = 0; index < count; index += 64) {
          await Promise.all(Array.from({ length: Math.min(64, count - index) }, () => sink.append(record)));
        }
      }),
    );
  }
  console.log();
  console.log(
    table(
      ["The sink", "µs a record"],
      [
        ["append, one at a time", brief(median(alone))],
        ["append, 64 in one turn", brief(median(together))],
      ],
    ),
  );
  return { appendUs: median(alone), appendTogetherUs: median(together) };
}

/** Every report goes to all subscribers. They are read in this process, which takes its own share of the time. */
async function measureEvents(home: string, subscribers: number, reports: number): Promise<Record<string, number>> {
  const key = await addKey(home);
  await using server = await Server.start(
    launchNylorun({ home, agents: [fileURLToPath(new URL("agents/answer.ts", import.meta.url))] }),
  );
  using readers = new DisposableStack();
  let heard = 0;
  let wake: (() => void) | undefined;
  const onEvent = (): void => {
    heard++;
    wake?.();
  };
  const headers = { authorization: `Bearer ${key}` };
  await Promise.all(
    Array.from({ length: subscribers }, async () =>
      readers.use(await EventReader.open({ port: server.port, path: "/v1/progress/events", headers, onEvent })),
    ),
  );
  const hear = async (count: number): Promise<void> => {
    const timer = setTimeout(() => {
      throw new Error(`only ${heard} of ${count} events came`);
    }, 60_000);
    await new Promise<void>((resolve) => {
      wake = () => heard >= count && resolve();
      wake();
    });
    clearTimeout(timer);
  };
  const report = async (percent: number): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/v1/progress`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ ...REPORT, percent }),
    });
    await answer.arrayBuffer();
  };
  // Each of them once, to everybody; then as many as there are, at once.
  const latencies: number[] = [];
  for (let index = 0; index < reports / 2; index++) {
    const begun = performance.now();
    await report(index / 10);
    await hear((index + 1) * subscribers);
    latencies.push(performance.now() - begun);
  }
  const before = heard;
  const begun = performance.now();
  for (let index = 0; index < reports; index++) await report(50 + index / 10);
  await hear(before + reports * subscribers);
  const perSecond = (1000 * (heard - before)) / (performance.now() - begun);
  const sorted = latencies.toSorted((one, other) => one - other);
  console.log();
  console.log(
    table(
      [`${subscribers} subscribers`, ""],
      [
        ["events delivered per second", brief(perSecond)],
        ["ms until all have heard of a report, p50", brief(percentile(sorted, 0.5))],
        ["ms until all have heard of a report, p99", brief(percentile(sorted, 0.99))],
      ],
    ),
  );
  return {
    subscribers,
    eventsPerSecond: perSecond,
    allHeardP50Ms: percentile(sorted, 0.5),
    allHeardP99Ms: percentile(sorted, 0.99),
  };
}
