import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { checkSink, mend } from "../src/checkup.ts";
import { FILE, line } from "./events.ts";
import { newFolder } from "./folder.ts";

const NOW = Date.parse("2026-10-15T12:00:00Z");
const TODAY = "events-2026-10-15.jsonl";

function newSink(): string {
  const folder = newFolder();
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

const write = (path: string, text: string): void => writeFileSync(path, text, { mode: 0o600 });

describe("Looking a sink over", () => {
  it("finds nothing in a folder that is not there, and nothing wrong in a good one", () => {
    const folder = newFolder();
    assert.deepEqual(checkSink(folder, NOW), { folder, files: 0, records: 0, findings: [] });
    mkdirSync(folder, { mode: 0o700 });
    write(join(folder, TODAY), line({ timestamp: "2026-10-15T11:59:00Z" }));
    assert.deepEqual(checkSink(folder, NOW), { folder, files: 1, records: 1, findings: [] });
  });

  it("finds wide modes, and tightens them", () => {
    const folder = newSink();
    const path = join(folder, TODAY);
    write(path, "");
    chmodSync(folder, 0o755);
    chmodSync(path, 0o644);
    const { findings } = checkSink(folder, NOW);
    assert.deepEqual(findings, [
      { kind: "wide", path: folder, mode: 0o755 },
      { kind: "wide", path, mode: 0o644 },
    ]);
    for (const finding of findings) assert.equal(mend(folder, finding, NOW), true);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(checkSink(folder, NOW).findings, []);
  });

  it("finds bad lines and torn tails; mends tails everywhere, and lines in files that nobody writes any more", () => {
    const folder = newSink();
    const [past, today] = [join(folder, FILE), join(folder, TODAY)];
    const ended = { status: "done" } as const;
    write(past, `${line(ended)}bad\n\n${line({ ...ended, percent: 2 })}{"torn": `);
    write(today, `worse\n${line({ ...ended, percent: 3 })}${line({ ...ended, percent: 4 }).trimEnd()}`);
    const { findings } = checkSink(folder, NOW);
    assert.deepEqual(findings, [
      { kind: "torn", path: past },
      { kind: "bad lines", path: past, lines: [2], mendable: true },
      { kind: "torn", path: today },
      { kind: "bad lines", path: today, lines: [1], mendable: false },
    ]);
    assert.deepEqual(
      findings.map((finding) => mend(folder, finding, NOW)),
      [true, true, true, false],
    );
    assert.equal(readFileSync(past, "utf8"), `${line(ended)}\n${line({ ...ended, percent: 2 })}{"torn": \n`);
    // It lacked its newline alone.
    assert.equal(checkSink(folder, NOW).records, 4);
    assert.equal(statSync(past).mode & 0o777, 0o600);
  });

  it("finds files past their time, and deletes them", () => {
    const folder = newSink();
    const path = join(folder, "events-2026-10-07.jsonl");
    write(path, "");
    write(join(folder, "events-2026-10-08.jsonl"), "");
    const { findings } = checkSink(folder, NOW);
    assert.deepEqual(findings, [{ kind: "old", path }]);
    assert.equal(mend(folder, findings[0]!, NOW), true);
    assert.deepEqual(readdirSync(folder), ["events-2026-10-08.jsonl"]);
  });

  it("finds what is not the sink's, and leaves it alone", () => {
    const folder = newSink();
    write(join(folder, "notes.txt"), "mine");
    symlinkSync(join(folder, "notes.txt"), join(folder, FILE));
    mkdirSync(join(folder, TODAY));
    const { findings, files } = checkSink(folder, NOW);
    assert.equal(files, 0);
    assert.deepEqual(findings, [
      { kind: "foreign", path: join(folder, FILE), what: "symbolic link" },
      { kind: "foreign", path: join(folder, TODAY), what: "folder" },
      { kind: "foreign", path: join(folder, "notes.txt"), what: "file" },
    ]);
    for (const finding of findings) assert.equal(mend(folder, finding, NOW), false);
    assert.equal(readdirSync(folder).length, 3);
  });

  it("finds tasks that went silent, and invents no end for them", () => {
    const folder = newSink();
    const path = join(folder, TODAY);
    const at = (time: string) => `2026-10-15T${time}Z`;
    write(path, line({ task_id: "a:silent", timestamp: at("10:00:00") }));
    appendFileSync(path, line({ task_id: "a:paused", status: "paused", timestamp: at("10:30:00") }));
    appendFileSync(path, line({ task_id: "a:fresh", timestamp: at("11:30:00") }));
    appendFileSync(path, line({ task_id: "a:done", status: "done", timestamp: at("10:00:00") }));
    // A late word does not reopen what has ended.
    appendFileSync(path, line({ task_id: "a:done", status: "running", timestamp: at("10:00:01") }));
    const { findings } = checkSink(folder, NOW);
    assert.deepEqual(
      findings.map((finding) => (finding.kind === "stale" ? [finding.record.task_id, finding.silentMs] : finding.kind)),
      [
        ["a:silent", 7_200_000],
        ["a:paused", 5_400_000],
      ],
    );
    const before = readFileSync(path, "utf8");
    for (const finding of findings) assert.equal(mend(folder, finding, NOW), false);
    assert.equal(readFileSync(path, "utf8"), before);
  });
});
