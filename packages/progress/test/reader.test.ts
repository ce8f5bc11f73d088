import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { follow } from "../src/follow.ts";
import type { Batch } from "../src/reader.ts";
import { SinkReader } from "../src/reader.ts";
import { FILE, line, record } from "./events.ts";
import { newFolder } from "./folder.ts";

const NEXT_FILE = "events-2026-10-15.jsonl";

interface Sink {
  readonly folder: string;
  readonly path: string;
  readonly reader: SinkReader;
}

function newSink(): Sink {
  const folder = newFolder();
  mkdirSync(folder);
  return { folder, path: join(folder, FILE), reader: new SinkReader({ folder, from: "2026-10-14" }) };
}

const percents = ({ records }: Batch): number[] => records.map(({ percent }) => percent);

describe("Reading the sink", () => {
  it("reads what is there, then only what is new", () => {
    const { path, reader } = newSink();
    assert.deepEqual(reader.read(), { records: [], bad: 0, more: false });
    appendFileSync(path, line({ percent: 1 }));
    assert.deepEqual(reader.read().records, [record({ percent: 1 })]);
    assert.deepEqual(percents(reader.read()), []);
    appendFileSync(path, line({ percent: 2 }) + line({ percent: 3 }));
    assert.deepEqual(percents(reader.read()), [2, 3]);
  });

  it("waits for the end of a line, and for the end of a character", () => {
    const { path, reader } = newSink();
    const bytes = Buffer.from(line({ stage: "読み込み中 👩‍👩‍👧" }));
    for (const [index] of bytes.entries()) {
      appendFileSync(path, bytes.subarray(index, index + 1));
      const { records, bad } = reader.read();
      assert.equal(bad, 0);
      assert.deepEqual(records, index === bytes.length - 1 ? [record({ stage: "読み込み中 👩‍👩‍👧" })] : []);
    }
  });

  // keeps: progress-sink-readers
  it("accepts a byte order mark, CRLF and blank lines, and counts what is no record (P15, P16)", () => {
    const { path, reader } = newSink();
    const texts = [
      `\uFEFF${line({ percent: 1 })}`,
      line({ percent: 2 }).replace("\n", "\r\n"),
      "\n\r\n  \n",
      line().slice(0, 50) + line({ percent: 66 }), // Two records glued together: both are lost, which is one line.
      `${"\0".repeat(4096)}\n`,
      `${"\0".repeat(4096)}${line({ percent: 3 })}`,
      '"text"\n[]\nnull\n{}\n',
      JSON.stringify({ ...record(), percent: "4" }),
      "\n",
      JSON.stringify({ ...record(), timestamp: "yesterday" }),
      "\n",
      line({ percent: 5 }),
    ];
    writeFileSync(path, texts.join(""));
    const batch = reader.read();
    assert.deepEqual(percents(batch), [1, 2, 3, 5]);
    assert.equal(batch.bad, 8);
  });

  it("lets nothing through that a report may not hold (P1, P2, P22, P23)", () => {
    const { path, reader } = newSink();
    const [escape, bell] = ["\u001b", "\u0007"];
    const hostile = {
      ...record(),
      percent: 130,
      stage: `${escape}[2J${escape}]0;title${bell}Working\u202e`,
      message: "x".repeat(5_000),
      agent: `${escape}[31mred`,
      unknown: "field",
    };
    writeFileSync(path, `${JSON.stringify(hostile)}\n${JSON.stringify({ ...record(), eta_seconds: -1 })}\n`);
    const { records, bad } = reader.read();
    assert.deepEqual(records, [record({ percent: 100, stage: "Working", message: "x".repeat(280), agent: "red" })]);
    assert.equal(bad, 1);
  });

  it("lets no time through that an event cannot have, though it is one to Date", () => {
    const { path, reader } = newSink();
    for (const timestamp of ["010000Z", "+275760-09-13T00:00:00.000Z", "-000001-12-31T23:59:59.999Z", "yesterday"]) {
      appendFileSync(path, line({ timestamp }));
    }
    appendFileSync(path, line({ timestamp: "9999-12-31T23:59:59.999Z" }));
    const { records, bad } = reader.read();
    assert.deepEqual([records.map(({ timestamp }) => timestamp), bad], [["9999-12-31T23:59:59.999Z"], 4]);
  });

  // keeps: progress-sink-readers
  it("passes over midnight, and still reads what comes late for the day before", () => {
    const { folder, path, reader } = newSink();
    appendFileSync(path, line({ percent: 1, timestamp: "2026-10-14T23:59:59.999Z" }));
    assert.deepEqual(percents(reader.read()), [1]);
    appendFileSync(join(folder, NEXT_FILE), line({ percent: 3, timestamp: "2026-10-15T00:00:00.000Z" }));
    appendFileSync(path, line({ percent: 2, timestamp: "2026-10-14T23:59:59.999Z" }));
    assert.deepEqual(percents(reader.read()), [2, 3]);
    appendFileSync(path, line({ percent: 4 }));
    appendFileSync(join(folder, NEXT_FILE), line({ percent: 5 }));
    assert.deepEqual(percents(reader.read()), [4, 5]);
  });

  // keeps: progress-sink-readers
  it("begins again in a file that was emptied, be it longer than before already (P16)", () => {
    const { path, reader } = newSink();
    appendFileSync(path, line({ percent: 1 }) + line({ percent: 2 }));
    reader.read();
    truncateSync(path);
    appendFileSync(path, line({ percent: 3 }));
    assert.deepEqual(percents(reader.read()), [3]);
    writeFileSync(path, [4, 5, 6].map((percent) => line({ percent, task_id: "another:task" })).join(""));
    assert.deepEqual(percents(reader.read()), [4, 5, 6]);
    truncateSync(path);
    reader.read();
    appendFileSync(path, line({ percent: 7 }));
    assert.deepEqual(percents(reader.read()), [7]);
  });

  it("forgets half a line of a file that was emptied", () => {
    const { path, reader } = newSink();
    appendFileSync(path, line({ percent: 1 }) + line().slice(0, 40));
    assert.deepEqual(percents(reader.read()), [1]);
    writeFileSync(path, line({ percent: 2 }));
    assert.deepEqual(percents(reader.read()), [2]);
  });

  it("reads a file to its end that was renamed, then the one that has its name (P16)", () => {
    const { path, reader } = newSink();
    appendFileSync(path, line({ percent: 1 }));
    reader.read();
    appendFileSync(path, line({ percent: 2 }));
    renameSync(path, `${path}.1`);
    writeFileSync(path, line({ percent: 3 }));
    assert.deepEqual(percents(reader.read()), [2, 3]);
    appendFileSync(path, line({ percent: 4 }));
    renameSync(path, `${path}.2`);
    assert.deepEqual(percents(reader.read()), [4]);
    writeFileSync(path, line({ percent: 5 }));
    assert.deepEqual(percents(reader.read()), [5]);
  });

  it("goes past a line of 2 MB, and past one that is too long to be held", () => {
    const { path, reader } = newSink();
    const long = (length: number) => `${JSON.stringify({ ...record({ percent: 66 }), extra: "é".repeat(length) })}\n`;
    writeFileSync(path, line({ percent: 1 }) + long(1024 * 1024) + line({ percent: 2 }));
    assert.deepEqual(percents(reader.read()), [1, 66, 2]);
    appendFileSync(path, `${"\0".repeat(2 * 1024 * 1024)}x\0${line({ percent: 66 })}`);
    appendFileSync(path, long(5 * 1024 * 1024) + line({ percent: 3 }));
    const batch = reader.read();
    assert.deepEqual(percents(batch), [3]);
    assert.equal(batch.bad, 2);
  });

  it("stops at its budget, and loses nothing by it", () => {
    const { path, reader } = newSink();
    writeFileSync(path, Array.from({ length: 5_000 }, (_, percent) => line({ percent: percent / 100 })).join(""));
    const seen: number[] = [];
    let calls = 0;
    for (let more = true; more; calls++) {
      const batch = reader.read(64 * 1024);
      seen.push(...percents(batch));
      ({ more } = batch);
    }
    assert.ok(calls > 5);
    assert.deepEqual(
      seen,
      Array.from({ length: 5_000 }, (_, percent) => percent / 100),
    );
  });

  it("reads no links, folders, strange names or days before the first", () => {
    const { folder, reader } = newSink();
    writeFileSync(join(folder, "events-2026-10-13.jsonl"), line());
    writeFileSync(join(folder, `${FILE}.bak`), line());
    writeFileSync(join(folder, "target"), line());
    symlinkSync(join(folder, "target"), join(folder, FILE));
    mkdirSync(join(folder, NEXT_FILE));
    assert.deepEqual(reader.read(), { records: [], bad: 0, more: false });
  });
});

describe("Following the sink", () => {
  it("waits for a folder that is not there yet, hears of each record, and ends when told to", async () => {
    const folder = newFolder();
    const reader = new SinkReader({ folder, from: "2026-10-14" });
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const batch of follow(reader, { signal: AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]) })) {
      seen.push(...percents(batch));
      if (seen.length === 0) {
        mkdirSync(folder);
        appendFileSync(join(folder, FILE), line({ percent: 1 }));
      } else if (seen.length === 1) appendFileSync(join(folder, FILE), line({ percent: 2 }));
      else if (seen.length === 2) {
        rmSync(folder, { recursive: true });
        mkdirSync(folder);
        appendFileSync(join(folder, NEXT_FILE), line({ percent: 3 }));
      } else stop.abort();
    }
    assert.deepEqual(seen, [1, 2, 3]);
  });
});
