/**
 * An agent that says what is in a CSV: what each column holds, how often it is empty, how its numbers are spread, and which
 * values look wrong. It hands out a report and a chart as files, and the figures as data. The work is in `profiler/`; here is what the
 * caller sees of it.
 */
import { defineAgent, refuse } from "@nylorun/agents";

import { inferType, profileColumn } from "./profiler/column.ts";
import { findOutliers } from "./profiler/outliers.ts";
import { Pace } from "./profiler/pace.ts";
import { chart, markdown } from "./profiler/report.ts";
import { NotCsv, readTable } from "./profiler/table.ts";

export default defineAgent({
  id: "profiler",
  name: "CSV profiler",
  description:
    "Profiles a CSV, sent as text or as a file: column types, counts, missing and distinct values, statistics, outliers.",
  version: "1.0.0",
  skills: [
    {
      id: "profile",
      name: "Profile a CSV",
      description:
        "The message brings the CSV as its text or as a file; the first line names the columns. Fields are separated by commas, semicolons, tabs or |.",
      tags: ["csv", "data", "statistics"],
      examples: ["city,population\nOslo,717710\nBergen,291940\n"],
    },
  ],
  inputModes: ["text/plain", "text/csv", "text/tab-separated-values", "application/octet-stream"],
  outputModes: ["application/json", "text/markdown", "image/svg+xml"],

  async run(turn) {
    const plan = turn.plan([
      "Read the CSV",
      "Infer column types",
      "Profile columns",
      "Look for outliers",
      "Write the report",
    ]);
    const pace = new Pace(turn.signal);
    const [file, ...others] = turn.inputs;
    if (others.length > 0)
      refuse(`This agent profiles one CSV at a time; it got ${count(turn.inputs.length, "file")}.`);
    const csv = file === undefined ? turn.text : await file.text();
    turn.say(`Profiling ${count(csv.length, "character")} of CSV.`);

    plan.start("Read the CSV");
    const table = await readTable(csv, {
      pace,
      onRead: (share) => turn.progress({ percent: 40 * share }),
    }).catch((error: unknown) => {
      if (error instanceof NotCsv) refuse(error.message);
      throw error;
    });
    plan.done("Read the CSV", {
      note: `${count(table.rows, "row")}, ${count(table.columns.length, "column")}`,
    });

    plan.start("Infer column types");
    const typed = [];
    for (const column of table.columns) {
      typed.push({ ...column, type: await inferType(column, pace) });
      turn.progress({ percent: 40 + (20 * typed.length) / table.columns.length });
    }

    plan.start("Profile columns");
    const profiled = [];
    for (const column of typed) {
      profiled.push({ column, profile: await profileColumn(column, pace) });
      turn.progress({ percent: 60 + (30 * profiled.length) / typed.length });
    }

    plan.start("Look for outliers");
    const columns = [];
    for (const { column, profile } of profiled) {
      columns.push({ ...profile, ...(await findOutliers(column, profile.numbers, pace)) });
      turn.progress({ percent: 90 + (10 * columns.length) / profiled.length });
    }
    const outliers = columns.reduce((sum, column) => sum + (column.outliers?.count ?? 0), 0);
    plan.done("Look for outliers", { note: outliers === 0 ? "none" : `${outliers} found` });

    plan.start("Write the report");
    const profile = { rows: table.rows, columns };
    // The profiling awaits what is not turn's, so these calls say which they are.
    await turn.file("report.md", markdown(file?.name ?? "Your CSV", profile), { key: "report" });
    await turn.file("chart.svg", chart(profile), { key: "chart" });

    return { rows: table.rows, delimiter: table.delimiter, raggedRows: table.raggedRows, columns };
  },
});

function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
