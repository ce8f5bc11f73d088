/** The reader of the sink: files of anything, written in pieces, read in pieces. What comes out is events, the same ones however it was cut. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SinkReader } from "@nylorun/progress";
import { isProgressEvent } from "@nylorun/protocol";
import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import { fitting } from "../schema.ts";
import type { Input, StartTarget } from "../target.ts";

interface Writing {
  /** What is appended, one after another; one character a byte. */
  readonly pieces: readonly string[];
  /** How many bytes are read at a time. */
  readonly budget: number;
}

const DAY = "2026-10-14";
const events = fitting("schema.json");
const lines = fc.oneof(
  { weight: 4, arbitrary: near(events).map((value) => latin1(`${JSON.stringify(value)}\n`)) },
  { weight: 2, arbitrary: nearBytes(events.map((value) => latin1(`${JSON.stringify(value)}\n`))) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "\n",
      "\r\n",
      "\0\0\0\n",
      latin1("\uFEFF"),
      "null\n",
      "[]\n",
      "{}\n",
      `${"x".repeat(100_000)}\n`,
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }).map(latin1) },
);
const inputs: fc.Arbitrary<Writing> = fc
  .tuple(
    fc.array(lines, { maxLength: 8 }),
    fc.array(fc.nat(5_000), { maxLength: 4 }),
    fc.constantFrom(1, 7, 64, 4096, 1e9),
  )
  .map(([some, cuts, budget]) => {
    const text = some.join("");
    const places = [
      0,
      ...cuts.map((cut) => cut % (text.length + 1)).toSorted((one, other) => one - other),
      text.length,
    ];
    return { budget, pieces: places.slice(1).map((end, index) => text.slice(places[index], end)) };
  });

export const startSink: StartTarget = async () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-fuzz-sink-"));
  const file = join(folder, `events-${DAY}.jsonl`);
  const read = (reader: SinkReader, budget: number): { records: object[]; bad: number } => {
    const records: object[] = [];
    let bad = 0;
    for (let more = true, rounds = 0; more; rounds++) {
      if (rounds > 1_000_000) throw new Error("reads for ever");
      const batch = reader.read(budget);
      records.push(...batch.records);
      bad += batch.bad;
      ({ more } = batch);
    }
    return { records, bad };
  };
  return {
    inputs,
    async check(input: Input) {
      const { pieces, budget } = input as Writing;
      writeFileSync(file, "");
      using slowly = new SinkReader({ folder, from: DAY });
      const all = { records: [] as object[], bad: 0 };
      for (const piece of pieces) {
        appendFileSync(file, Buffer.from(piece, "latin1"));
        const { records, bad } = read(slowly, budget);
        all.records.push(...records);
        all.bad += bad;
      }
      using atOnce = new SinkReader({ folder, from: DAY });
      const whole = read(atOnce, Infinity);
      if (JSON.stringify(whole) !== JSON.stringify(all)) {
        throw new Error(
          `${whole.records.length}+${whole.bad} read at once, ${all.records.length}+${all.bad} in pieces`,
        );
      }
      const text = Buffer.from(pieces.join(""), "latin1").toString();
      const told = text
        .split("\n")
        .slice(0, -1)
        .filter((line) => !/^[\uFEFF\s]*$/.test(line));
      if (whole.records.length + whole.bad !== told.length) {
        throw new Error(`${whole.records.length}+${whole.bad} read of ${told.length} lines`);
      }
      for (const record of whole.records) {
        if (!isProgressEvent(record)) throw new Error(`reads what is no event: ${JSON.stringify(record)}`);
      }
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true });
    },
  };
};
