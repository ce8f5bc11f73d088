/**
 * Reads a CSV into columns. Takes what is met in the wild: any of four delimiters, quotes, a byte order mark, either line end,
 * blank lines, rows that are too short or too long.
 */
import { Readable } from "node:stream";

import { CsvError, parse } from "csv-parse";
import { parse as parseAtOnce } from "csv-parse/sync";

import type { DecimalMark } from "./cell.ts";
import type { Pace } from "./pace.ts";

export interface Table {
  /** Rows of data; the header is none. */
  readonly rows: number;
  readonly delimiter: string;
  readonly columns: readonly Column[];
  /** Rows with more or fewer cells than the header: what lacks is missing, what is too much is left out. */
  readonly raggedRows: { readonly count: number; readonly examples: readonly number[] };
}

export interface Column {
  /** From 1. */
  readonly position: number;
  /** As the header has it; `column 3` when it has none. */
  readonly name: string;
  /** One for each row; empty where the row is too short. */
  readonly cells: readonly string[];
  readonly decimalMark: DecimalMark;
}

export interface ReadOptions {
  readonly pace: Pace;
  /** Called as the reading goes on, with the share that is read: 0-1. */
  readonly onRead?: (share: number) => void;
}

/** The text is no CSV. The message is for whoever sent it. */
export class NotCsv extends Error {
  override readonly name = "NotCsv";
}

const columnLimit = 500;
const exampleLimit = 20;
const options = { bom: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true } as const;

/** @throws NotCsv: what was expected, what came. */
export async function readTable(text: string, { pace, onRead }: ReadOptions): Promise<Table> {
  const { delimiter, header } = readHeader(text);
  const cells = header.map((): string[] => []);
  const ragged: number[] = [];
  const bytes = Buffer.from(text);
  const parser = Readable.from(slices(bytes)).pipe(parse({ ...options, delimiter, from: 2 }));

  let rows = 0;
  let raggedCount = 0;
  try {
    for await (const row of parser as AsyncIterable<string[]>) {
      rows += 1;
      cells.forEach((column, index) => column.push(row[index] ?? ""));
      if (row.length !== header.length) {
        raggedCount += 1;
        if (ragged.length < exampleLimit) ragged.push(rows);
      }
      if (rows % 1000 === 0) {
        onRead?.(parser.info.bytes / bytes.length);
        await pace.pause();
      }
    }
  } catch (error) {
    throw error instanceof CsvError ? new NotCsv(explain(error)) : error;
  }
  if (rows === 0 && header.length === 1) {
    throw new NotCsv(
      `This agent profiles a CSV, sent as the message's text: a line of column names, then a line for each row. It got one line, ${quote(text.trim())}.`,
    );
  }

  onRead?.(1);
  return {
    rows,
    delimiter,
    columns: header.map((name, index) => ({
      position: index + 1,
      name: name.trim() === "" ? `column ${index + 1}` : name.trim(),
      cells: cells[index] ?? [],
      // Who parts fields with semicolons does so because the comma is taken.
      decimalMark: delimiter === ";" ? "," : ".",
    })),
    raggedRows: { count: raggedCount, examples: ragged },
  };
}

/**
 * Finds the delimiter: the one that cuts the first records into the most columns, as many in each as in the header. Between
 * equals the rarer character wins, so that `1,5;2,5` is two decimal commas.
 */
function readHeader(text: string): { readonly delimiter: string; readonly header: readonly string[] } {
  refuseOtherFormats(text);
  let best = { delimiter: ",", header: [] as readonly string[], score: -1 };
  for (const delimiter of ["\t", ";", "|", ","]) {
    const [header = [], ...rows] = firstRecords(text, delimiter);
    const even = rows.filter((row) => row.length === header.length).length;
    const score = header.length < 2 ? 0 : header.length * ((1 + even) / (1 + rows.length));
    if (score > best.score) best = { delimiter, header, score };
  }
  const { header } = best;
  if (header.length > columnLimit) {
    throw new NotCsv(`The header has ${header.length} columns; this agent takes ${columnLimit} at most.`);
  }
  if (/[.!?:]\s*$/.test(header.at(-1) ?? "") || header.some((name) => name.length > 200)) {
    throw new NotCsv(
      `The first line should name the columns, such as "city,population"; it is ${quote(text.trim())}. Send the CSV alone, without words around it.`,
    );
  }
  // One column needs no delimiter: what was "best" then is only the first that was tried.
  return header.length < 2 ? { delimiter: ",", header } : best;
}

function firstRecords(text: string, delimiter: string): string[][] {
  const sample = text.slice(0, 65_536);
  const records: string[][] = [];
  const keep = (record: string[]): null => {
    records.push(record);
    return null;
  };
  try {
    parseAtOnce(sample, { ...options, delimiter, to: 10, on_record: keep });
  } catch {
    // The sample may end within quotes. The records before that are enough, and the reading itself reports what is broken.
  }
  return records;
}

function refuseOtherFormats(text: string): void {
  const start = text
    .slice(0, 1000)
    .replace(/^\uFEFF/, "")
    .trimStart();
  if (start === "") {
    throw new NotCsv(
      "This agent profiles a CSV, sent as the message's text: a line of column names, then a line for each row. It got no text.",
    );
  }
  // oxlint-disable-next-line no-control-regex -- a text has none of these; a spreadsheet or an archive does
  if (/[\x00-\x08\x0E-\x1F]/.test(start)) {
    throw new NotCsv("This is a binary file. Save it as CSV, and send its text.");
  }
  if (/^<[!?a-z]/i.test(start)) throw new NotCsv("This looks like HTML or XML. Send a CSV instead.");
  if (/^(?:\{|\[[[{"\d\s])/.test(start)) throw new NotCsv("This looks like JSON. Send a CSV instead.");
}

function explain(error: CsvError): string {
  const line = typeof error["lines"] === "number" ? `Line ${error["lines"]}` : "A line";
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return `${line} opens a quote that is never closed. Close it, or write a quote inside a field twice ("").`;
    case "CSV_MAX_RECORD_SIZE":
      return `${line} is too long for a row of a CSV.`;
    default:
      return `${line} is no row of a CSV: ${error.message}.`;
  }
}

function quote(text: string): string {
  const line = text.split(/\r\n|\r|\n/, 1)[0] ?? "";
  return JSON.stringify(line.length > 80 ? `${line.slice(0, 79)}…` : line);
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
