/**
 * Reporting progress: round trips of `report_progress` over stdio, each record stored before its answer, against a bare echo tool
 * on the same SDK; and what a record costs at the sink.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";

import { brief, median, result, spread, table } from "./figures.ts";
import type { BenchOptions } from "./main.ts";
import { McpSession } from "./mcp-session.ts";

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
    console.log();
    console.log(result("progress", { ...mcp, ...append }));
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
