/**
 * Looks a sink over, and mends what can be mended without losing a record. What only its owner can know, whether a task that
 * went silent is over and whose a strange file is, is found and left alone.
 */
import {
  appendFileSync,
  chmodSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { dayOf, dayOfFile, daysBefore } from "./day.ts";
import type { Day } from "./day.ts";
import { isWide, mayTighten } from "./folder.ts";
import { LineSplitter } from "./lines.ts";
import { isBlank, parseRecord } from "./record.ts";
import type { SinkRecord } from "./record.ts";
import { removeOldFiles, RETENTION_DAYS } from "./retention.ts";
import { nextTrack } from "./track.ts";
import type { Track } from "./track.ts";

/** A task that has neither ended nor said a word for so long is worth a look, in milliseconds. */
export const STALE_MS = 60 * 60 * 1000;

export type Finding =
  /** The folder or a file that others than its owner may read or write. */
  | { readonly kind: "wide"; readonly path: string; readonly mode: number }
  /** Lines that are no records; `lines` are their numbers, from 1. */
  | { readonly kind: "bad lines"; readonly path: string; readonly lines: readonly number[]; readonly mendable: boolean }
  /** A file whose last line has no end: who wrote it was killed, or the disk was full. */
  | { readonly kind: "torn"; readonly path: string }
  /** A file past its retention. */
  | { readonly kind: "old"; readonly path: string }
  /** Something that the sink did not put there. */
  | { readonly kind: "foreign"; readonly path: string; readonly what: string }
  /** A file or folder that cannot be read. */
  | { readonly kind: "unreadable"; readonly path: string; readonly reason: string }
  /** A task that went silent before it ended. */
  | { readonly kind: "stale"; readonly record: SinkRecord; readonly silentMs: number };

export interface Checkup {
  readonly folder: string;
  /** Files of events. */
  readonly files: number;
  readonly records: number;
  readonly findings: readonly Finding[];
}

/** @param now Milliseconds since 1970. */
export function checkSink(folder: string, now: number): Checkup {
  const findings: Finding[] = [];
  const tracks = new Map<string, Track<SinkRecord>>();
  const today = dayOf(now);
  let files = 0;
  let records = 0;
  for (const name of entriesOf(folder, findings)) {
    const path = join(folder, name);
    const day = dayOfFile(name);
    const what = kindOf(path);
    if (day === undefined || what !== "file") {
      findings.push({ kind: "foreign", path, what });
      continue;
    }
    files++;
    if (isWide(lstatSync(path).mode)) findings.push({ kind: "wide", path, mode: lstatSync(path).mode & 0o777 });
    if (day < daysBefore(today, RETENTION_DAYS)) findings.push({ kind: "old", path });
    const found = inspect(path);
    if ("reason" in found) {
      findings.push({ kind: "unreadable", path, reason: found.reason });
      continue;
    }
    records += found.records.length;
    for (const record of found.records) tracks.set(record.task_id, nextTrack(tracks.get(record.task_id), record));
    // Mended in this order: what is torn may be a whole record that lacks its newline alone.
    if (found.torn) findings.push({ kind: "torn", path });
    if (found.bad.length > 0) {
      findings.push({ kind: "bad lines", path, lines: found.bad, mendable: isSettled(day, now) });
    }
  }
  for (const { shown, latest } of tracks.values()) {
    const silentMs = Math.max(0, now - Date.parse(latest.timestamp));
    const ended = shown.status === "done" || shown.status === "error";
    if (!ended && silentMs >= STALE_MS) findings.push({ kind: "stale", record: latest, silentMs });
  }
  return { folder, files, records, findings };
}

/**
 * Mends what was found.
 *
 * @param now Milliseconds since 1970.
 * @returns Whether this is something that can be mended, and was.
 */
export function mend(folder: string, finding: Finding, now: number): boolean {
  switch (finding.kind) {
    case "wide":
      if (!mayTighten(finding.path)) return false;
      chmodSync(finding.path, finding.path === folder ? 0o700 : 0o600);
      return true;
    case "torn":
      appendFileSync(finding.path, "\n");
      return true;
    case "old":
      return removeOldFiles(folder, dayOf(now)).length > 0;
    case "bad lines":
      if (!finding.mendable) return false;
      rewriteWithout(finding.path, new Set(finding.lines));
      return true;
    case "foreign":
    case "unreadable":
    case "stale":
      return false;
  }
}

function entriesOf(folder: string, findings: Finding[]): string[] {
  try {
    const { mode } = lstatSync(folder);
    if (isWide(mode)) findings.push({ kind: "wide", path: folder, mode: mode & 0o777 });
    return readdirSync(folder).toSorted();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") findings.push({ kind: "unreadable", path: folder, reason: code ?? message });
    return [];
  }
}

function kindOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return "file";
  if (stats.isSymbolicLink()) return "symbolic link";
  return stats.isDirectory() ? "folder" : "special file";
}

interface Inspected {
  readonly records: readonly SinkRecord[];
  readonly bad: readonly number[];
  readonly torn: boolean;
}

function inspect(path: string): Inspected | { readonly reason: string } {
  const records: SinkRecord[] = [];
  const bad: number[] = [];
  let number = 0;
  try {
    const torn = forEachLine(path, (line) => {
      number++;
      const record = line === undefined ? undefined : parseRecord(line);
      if (record !== undefined) records.push(record);
      else if (line === undefined || !isBlank(line)) bad.push(number);
    });
    return { records, bad, torn };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { reason: code ?? message };
  }
}

/** Calls back with each line. Returns whether the last one has no end; it is not counted as a line then. */
function forEachLine(path: string, take: (line: string | undefined) => void): boolean {
  const descriptor = openSync(path, "r");
  try {
    const lines = new LineSplitter();
    const chunk = Buffer.allocUnsafe(256 * 1024);
    for (let length = 1; length > 0;) {
      length = readSync(descriptor, chunk, 0, chunk.length, null);
      for (const line of lines.push(chunk.subarray(0, length))) take(line);
    }
    return lines.end() !== undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Nobody appends to a day that is over for an hour, so its file can be written anew. */
function isSettled(day: Day, now: number): boolean {
  return day < dayOf(now - 60 * 60 * 1000);
}

function rewriteWithout(path: string, bad: ReadonlySet<number>): void {
  const kept: string[] = [];
  let number = 0;
  forEachLine(path, (line) => {
    number++;
    if (line !== undefined && !bad.has(number)) kept.push(`${line}\n`);
  });
  const draft = `${path}.new`;
  writeFileSync(draft, kept.join(""), { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}
