import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { assertDurable, testAgent } from "@nylorun/runtime/testing";
import * as fc from "fast-check";

import profiler from "../profiler.ts";
import { kindOf } from "../profiler/cell.ts";
import { inferType, profileColumn } from "../profiler/column.ts";
import type { ColumnProfile } from "../profiler/column.ts";
import { findOutliers } from "../profiler/outliers.ts";
import { Pace } from "../profiler/pace.ts";
import { NotCsv, readTable } from "../profiler/table.ts";

const pace = new Pace();

async function read(text: string) {
  const table = await readTable(text, { pace });
  return { ...table, cells: table.columns.map((column) => column.cells), names: table.columns.map(({ name }) => name) };
}

/** The profile of a column with these cells, in a file that has an index beside it. */
async function profile(cells: readonly string[], delimiter = ",") {
  const quoted = cells.map((cell, index) => `${index}${delimiter}"${cell.replaceAll('"', '""')}"\n`);
  const table = await readTable(`index${delimiter}value\n${quoted.join("")}`, { pace });
  const column = table.columns[1]!;
  const typed = { ...column, type: await inferType(column, pace) };
  const profiled = await profileColumn(typed, pace);
  return { ...profiled, ...(await findOutliers(typed, profiled.numbers, pace)) };
}

describe("reading", () => {
  for (const [name, delimiter] of Object.entries({ comma: ",", semicolon: ";", tab: "\t", bar: "|" })) {
    test(`a file with the delimiter ${name} is recognized`, async () => {
      const table = await read(`city${delimiter}n\nOslo${delimiter}1\nBergen${delimiter}2\n`);
      assert.equal(table.delimiter, delimiter);
      assert.deepEqual(table.cells, [
        ["Oslo", "Bergen"],
        ["1", "2"],
      ]);
    });
  }

  test("a delimiter inside of quotes does not count", async () => {
    const table = await read('name;note\n"a,b,c";"d,e,f"\n"g,h";"say ""hi"";\nthere"\n');
    assert.equal(table.delimiter, ";");
    assert.deepEqual(table.cells, [
      ["a,b,c", "g,h"],
      ["d,e,f", 'say "hi";\nthere'],
    ]);
  });

  test("decimal commas do not outvote semicolons", async () => {
    const table = await read("a;b\n1,5;2,5\n3,5;4,5\n");
    assert.deepEqual(table.cells, [
      ["1,5", "3,5"],
      ["2,5", "4,5"],
    ]);
  });

  test("a byte order mark, CRLF and blank lines leave no trace", async () => {
    const table = await read("\uFEFFid,name\r\n\r\n1,Ada\r\n2,Bo\r\n\r\n");
    assert.deepEqual(table.names, ["id", "name"]);
    assert.deepEqual(table.cells, [
      ["1", "2"],
      ["Ada", "Bo"],
    ]);
  });

  test("rows that are too short or too long are counted, and cost no column", async () => {
    const table = await read("a,b,c\n1,2,3\n4,5\n6,7,8,9\n");
    assert.deepEqual(table.raggedRows, { count: 2, examples: [2, 3] });
    assert.deepEqual(table.cells, [
      ["1", "4", "6"],
      ["2", "5", "7"],
      ["3", "", "8"],
    ]);
  });

  test("a header alone is a table without rows", async () => {
    const table = await read("id,name,born\n");
    assert.equal(table.rows, 0);
    assert.deepEqual(table.names, ["id", "name", "born"]);
  });

  test("one column needs no delimiter", async () => {
    const table = await read("age\n41\n42\n");
    assert.deepEqual(table.cells, [["41", "42"]]);
  });

  test("a column without a name is called by its position", async () => {
    assert.deepEqual((await read(",a,\n1,2,3\n")).names, ["column 1", "a", "column 3"]);
  });

  const refused = {
    nothing: ["  \n ", /got no text/],
    "a question": ["Could you profile my file, please?", /first line should name the columns/],
    "a greeting": ["hello there", /got one line, "hello there"/],
    JSON: ['[{"a": 1}]', /looks like JSON/],
    HTML: ["<!doctype html><table><tr><td>1</td></tr></table>", /looks like HTML/],
    "a spreadsheet": ["PK\u0003\u0004\u0014\u0000", /binary file/],
    "an open quote": ['a,b\n1,2\n3,"4\n', /Line 3 opens a quote that is never closed/],
    "too many columns": [`${"a,".repeat(600)}b\n1,2\n`, /601 columns; this agent takes 500/],
  } as const;
  for (const [what, [text, reason]] of Object.entries(refused)) {
    test(`${what} is refused with a reason`, async () => {
      await assert.rejects(read(text), (error) => error instanceof NotCsv && reason.test(error.message));
    });
  }

  test("whatever cells a file has come back as they were written", async () => {
    const cell = fc.string({
      unit: fc.constantFrom("a", "7", " ", ",", ";", "\t", '"', "\n", "ü", "🙂"),
      maxLength: 8,
    });
    const table = fc
      .integer({ min: 2, max: 4 })
      .chain((width) =>
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
      );
    await fc.assert(
      fc.asyncProperty(table, fc.constantFrom(",", ";", "\t", "|"), async (rows, delimiter) => {
        const line = (row: readonly string[]) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(delimiter);
        const header = rows[0]!.map((_, index) => `c${index}`);
        const reading = await read([header, ...rows].map(line).join("\n"));
        assert.equal(reading.delimiter, delimiter);
        assert.deepEqual(
          reading.cells,
          header.map((_, index) => rows.map((row) => row[index])),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("what is no file at all is refused or read, and never breaks anything else", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (text) => {
        const table = await readTable(text, { pace }).catch((error: unknown) => {
          if (!(error instanceof NotCsv)) throw error;
        });
        for (const column of table?.columns ?? []) assert.equal(column.cells.length, table?.rows);
      }),
      { numRuns: 300 },
    );
  });

  test("a long file lets others run, and stops when the caller cancels", async () => {
    const text = `a,b\n${"1,2\n".repeat(300_000)}`;
    const canceling = new AbortController();
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
      if (turns === 3) canceling.abort(new Error("canceled"));
    }, 1);
    try {
      await assert.rejects(readTable(text, { pace: new Pace(canceling.signal) }), /canceled/);
    } finally {
      clearInterval(timer);
    }
    assert.ok(turns >= 3);
  });
});

describe("types", () => {
  const kinds = {
    integer: ["0", "42", "-7", "+3", " 12 "],
    number: ["3.14", "-0.5", ".5", "1.", "1e-3", "6.02E23"],
    boolean: ["true", "FALSE", "Yes", "no"],
    date: ["2026-02-28", "2024-02-29", "2026-07-01T12:30:00Z", "2026-07-01 12:30:00.5+02:00"],
    missing: ["", "  ", "NA", "n/a", "NULL", "NaN", "#N/A"],
    // A postal code, an identifier, an ambiguous date, a day that is none, thousands, and three that only begin like numbers.
    text: ["00123", "9007199254740993", "03/04/2026", "2026-02-29", "1,234", "-", ".", "1e999"],
  } as const;
  for (const [kind, cells] of Object.entries(kinds)) {
    for (const cell of cells) {
      test(`${JSON.stringify(cell)} is ${kind}`, () => assert.equal(kindOf(cell, "."), kind));
    }
  }

  test("a column has the narrowest type that all its values fit", async () => {
    const typeOf = async (...cells: string[]) => (await profile(cells)).type;
    assert.equal(await typeOf("1", "", "2"), "integer");
    assert.equal(await typeOf("1", "2.5"), "number");
    assert.equal(await typeOf("1", "yes"), "text");
    assert.equal(await typeOf("yes", "NO", "n/a"), "boolean");
    assert.equal(await typeOf("2026-01-01", "2026-01-02T10:00:00Z"), "date");
    assert.equal(await typeOf("", "NA"), "empty");
    assert.equal(await typeOf(), "empty");
  });

  test("a comma is a decimal mark where semicolons part the fields, and nowhere else", async () => {
    const european = await profile(["1,5", "2,5"], ";");
    assert.equal(european.type, "number");
    assert.equal(european.numbers?.mean, 2);
    assert.equal((await profile(["1,5", "2,5"])).type, "text");
  });

  test("a few values of another type are named", async () => {
    const { type, mostly } = await profile([...Array.from({ length: 19 }, (_, n) => `${n}`), "twenty"]);
    assert.equal(type, "text");
    assert.deepEqual(mostly, { type: "integer", exceptions: { count: 1, examples: [{ row: 20, value: "twenty" }] } });
  });
});

describe("profiles", () => {
  test("numbers are summed up", async () => {
    const { numbers, values, missing } = await profile(["1", "2", "", "3", "4"]);
    assert.deepEqual({ values, missing }, { values: 4, missing: 1 });
    assert.deepEqual(numbers, {
      min: 1,
      max: 4,
      mean: 2.5,
      standardDeviation: 1.29099444874,
      quantiles: { p5: 1.15, p25: 1.75, p50: 2.5, p75: 3.25, p95: 3.85 },
    });
  });

  test("one number has no deviation", async () => {
    assert.equal("standardDeviation" in (await profile(["7"])).numbers!, false);
  });

  test("dates are ordered as moments, texts are measured, the most common values come first", async () => {
    const dates = await profile(["2026-03-01T00:30:00+02:00", "2026-02-28T23:00:00Z", "2026-01-01"]);
    assert.deepEqual(dates.dates, { earliest: "2026-01-01", latest: "2026-02-28T23:00:00Z" });
    const texts = await profile(["b", "a", "b", "ccc", "a", "b"]);
    assert.deepEqual(texts.lengths, { shortest: 1, longest: 3 });
    assert.deepEqual(texts.mostCommon, [
      { value: "b", count: 3 },
      { value: "a", count: 2 },
    ]);
    assert.deepEqual(texts.distinct, { count: 3 });
  });

  test("counting distinct values stops at a bound, and says so", async () => {
    const { distinct, mostCommon } = await profile(Array.from({ length: 10_500 }, (_, n) => `v${n}`));
    assert.deepEqual(distinct, { count: 10_000, atLeast: true });
    assert.equal(mostCommon, undefined);
  });

  test("outliers are found with their rows, the farthest first", async () => {
    const { outliers } = await profile(["10", "11", "12", "", "11", "10", "12", "95", "11", "-300"]);
    assert.deepEqual(outliers, {
      low: 7,
      high: 15,
      count: 2,
      examples: [
        { row: 10, value: -300 },
        { row: 8, value: 95 },
      ],
    });
  });

  test("where most values are the same, the others are no outliers", async () => {
    assert.equal((await profile(["0", "0", "0", "0", "0", "0", "0", "9"])).outliers, undefined);
  });

  test("whatever numbers a column has: all counts add up, all statistics are in order, and JSON holds them", async () => {
    const number = fc.oneof(
      fc.integer().map(String),
      fc.double({ noNaN: true, min: -1e99, max: 1e99 }).map((n) => n.toExponential()),
      fc.constant(""),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(number, { maxLength: 60 }), async (cells) => {
        const profiled = await profile(cells);
        const { numbers, outliers } = profiled;
        assert.equal(profiled.values + profiled.missing, cells.length);
        assert.equal(profiled.values, cells.filter((cell) => cell !== "").length);
        assert.equal(numbers === undefined, profiled.values === 0);
        if (numbers === undefined) return;

        const { min, max, mean, standardDeviation, quantiles } = numbers;
        const inOrder = [min, quantiles.p5, quantiles.p25, quantiles.p50, quantiles.p75, quantiles.p95, max];
        assert.deepEqual(
          inOrder,
          inOrder.toSorted((a, b) => a - b),
        );
        assert.ok(mean >= min && mean <= max);
        assert.ok((standardDeviation ?? 0) >= 0);
        if (outliers) {
          const outside = cells.filter(
            (cell) => cell !== "" && !(Number(cell) >= outliers.low && Number(cell) <= outliers.high),
          );
          assert.equal(outliers.count, outside.length);
        }
        // A number that JSON cannot hold would come back as null.
        assert.doesNotMatch(JSON.stringify(profiled), /null/);
      }),
      { numRuns: 200 },
    );
  });

  test("the order of the rows changes no statistic", async () => {
    const part = ({ numbers, distinct, missing, type }: ColumnProfile) => ({ numbers, distinct, missing, type });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer().map(String), { minLength: 1, maxLength: 30 }), async (cells) => {
        assert.deepEqual(part(await profile(cells)), part(await profile(cells.toReversed())));
      }),
      { numRuns: 50 },
    );
  });
});

describe("the agent", () => {
  test("makes its report and its chart once, whenever its process dies (E7)", async () => {
    const url = "https://example.com/people.csv";
    const { run, uncertain } = await assertDurable(profiler, {
      message: [{ url, mediaType: "text/csv" }],
      urls: { [url]: "name,age\nAda,36\nBo,41\n" },
    });
    assert.deepEqual(uncertain, []);
    const [report, chart] = run.files;
    assert.deepEqual([report?.path, report?.version, chart?.path, chart?.version], ["report.md", 1, "chart.svg", 1]);
    assert.match(report!.text, /^# people.csv\n\n2 rows, 2 columns/);
  });

  test("takes one file at a time", async () => {
    const raw = Buffer.from("a,b\n1,2\n").toString("base64");
    const { state, status } = await testAgent(profiler, { message: [{ raw }, { raw }] });
    assert.equal(state, "TASK_STATE_REJECTED");
    assert.equal(status, "This agent profiles one CSV at a time; it got 2 files.");
  });
});
