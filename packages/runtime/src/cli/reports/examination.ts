/** What `nylorun doctor` finds, in words, with what to do about it. */
import { basename } from "node:path";

import { checkSink, mend } from "@nylorun/progress";
import type { Finding } from "@nylorun/progress";

import { localSinkFolder } from "../../node/sink.ts";
import { clockText } from "../spans.ts";

/** Returns whether everything is well, or was mended. */
export function examine({ fix, json }: { readonly fix: boolean; readonly json: boolean }): boolean {
  const folder = localSinkFolder();
  const now = Date.now();
  const checkup = checkSink(folder, now);
  const results = checkup.findings.map((finding) => ({ finding, mended: fix && mend(folder, finding, now) }));
  if (json) {
    const findings = results.map(({ finding, mended }) => ({ ...finding, mended }));
    process.stdout.write(`${JSON.stringify({ ...checkup, findings }, null, 2)}\n`);
  } else {
    const { files, records } = checkup;
    process.stdout.write(`${folder}: ${count(files, "file")}, ${count(records, "record")}\n`);
    for (const { finding, mended } of results) {
      process.stdout.write(
        `${mended ? "✔ mended: " : "✖ "}${wordsFor(finding)}${mended || fix ? "" : hintFor(finding)}\n`,
      );
    }
    if (results.length === 0) process.stdout.write("✔ Nothing is wrong.\n");
  }
  return results.every(({ mended }) => mended);
}

function wordsFor(finding: Finding): string {
  switch (finding.kind) {
    case "wide":
      return `${finding.path} is open to others (mode ${finding.mode.toString(8)}).`;
    case "bad lines": {
      const { lines } = finding;
      const which = `${lines.slice(0, 5).join(", ")}${lines.length > 5 ? ", …" : ""}`;
      const today = finding.mendable ? "" : " It is still being written, so they stay; readers skip them.";
      return `${basename(finding.path)} has ${count(lines.length, "line")} that ${lines.length === 1 ? "is no record" : "are no records"} (${which}).${today}`;
    }
    case "torn":
      return `${basename(finding.path)} ends within a line: its writer was killed, or the disk was full.`;
    case "old":
      return `${basename(finding.path)} is past its 7 days.`;
    case "foreign":
      return `${finding.path} is not the sink's (a ${finding.what}). It stays; move it elsewhere if it is yours.`;
    case "unreadable":
      return `${finding.path} cannot be read (${finding.reason}).`;
    case "stale": {
      const { record, silentMs } = finding;
      return (
        `${record.task_id} said nothing for ${clockText(silentMs)}; it was at ${Math.floor(record.percent)}%, ${record.status}. ` +
        `If it is over: nylorun report ${record.task_id} --status error --percent ${Math.floor(record.percent)} --message "Abandoned"`
      );
    }
  }
}

function hintFor(finding: Finding): string {
  const mendable = finding.kind === "bad lines" ? finding.mendable : ["wide", "torn", "old"].includes(finding.kind);
  return mendable ? ' "nylorun doctor --fix" mends it.' : "";
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
