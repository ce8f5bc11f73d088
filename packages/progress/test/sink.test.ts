import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { dayOf, daysBefore, eventsFileOf } from "../src/day.ts";
import { parseRecord } from "../src/record.ts";
import { Sink } from "../src/sink.ts";
import { FILE, line, record } from "./events.ts";
import { newFolder } from "./folder.ts";

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const lines = (path: string): string[] => readFileSync(path, "utf8").split("\n").slice(0, -1);

function open(folder: string): { readonly sink: Sink; readonly warnings: string[] } {
  const warnings: string[] = [];
  return { sink: new Sink({ folder, warn: (text) => warnings.push(text) }), warnings };
}

describe("Appending to the sink", () => {
  // keeps: progress-sink-place, progress-sink-modes
  it("makes the folder for its owner alone, and the file of the record's day", async () => {
    const folder = newFolder();
    using sink = open(folder).sink;
    assert.equal(await sink.append(record()), true);
    assert.equal(mode(folder), "700");
    assert.equal(mode(join(folder, FILE)), "600");
    assert.deepEqual(lines(join(folder, FILE)).map(parseRecord), [record()]);
  });

  // keeps: progress-sink-labels
  it("labels the agent, and the session by default", async () => {
    const folder = newFolder();
    using sink = open(folder).sink;
    await Promise.all([
      sink.append(record({ task_id: "claude:x" })),
      sink.append(record({ task_id: "x", agent: "named" })),
      sink.append(record({ task_id: "x", session_id: "one" })),
    ]);
    const labels = lines(join(folder, FILE)).map((text) => JSON.parse(text));
    assert.deepEqual(
      labels.map(({ agent, session_id }) => [agent, session_id]),
      [
        ["claude", "claude:x"],
        ["named", "x"],
        ["unknown", "one"],
      ],
    );
  });

  // keeps: progress-sink-modes
  it("tightens a folder and a file that others may read (P17)", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, FILE), line(), { mode: 0o644 });
    chmodSync(join(folder, FILE), 0o644);
    using sink = open(folder).sink;
    assert.equal(await sink.append(record()), true);
    assert.equal(mode(folder), "700");
    assert.equal(mode(join(folder, FILE)), "600");
    assert.equal(lines(join(folder, FILE)).length, 2);
  });

  it("leaves a folder alone that is everybody's, such as /tmp", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    chmodSync(folder, 0o1777);
    using sink = open(folder).sink;
    assert.equal(await sink.append(record()), true);
    assert.equal(mode(folder), "777");
  });

  it("keeps the order of the calls, and writes a record of each day to its own file", async () => {
    const folder = newFolder();
    using sink = open(folder).sink;
    const times = ["2026-10-14T23:59:59.998Z", "2026-10-14T23:59:59.999Z", "2026-10-15T00:00:00.000Z"];
    await Promise.all(times.map((timestamp, index) => sink.append(record({ timestamp, percent: index }))));
    const percents = (file: string) => lines(join(folder, file)).map((text) => JSON.parse(text).percent);
    assert.deepEqual(percents("events-2026-10-14.jsonl"), [0, 1]);
    assert.deepEqual(percents("events-2026-10-15.jsonl"), [2]);
  });

  // keeps: progress-sink-torn
  it("begins a new line after a torn tail, so that it costs one record and not two (P15)", async () => {
    const folder = newFolder();
    using sink = open(folder).sink;
    await sink.append(record({ percent: 1 }));
    appendFileSync(join(folder, FILE), line().slice(0, 30));
    await sink.append(record({ percent: 2 }));
    await sink.append(record({ percent: 3 }));
    const found = lines(join(folder, FILE));
    assert.equal(found.length, 4);
    assert.deepEqual(
      found.map((text) => parseRecord(text)?.percent),
      [1, undefined, 2, 3],
    );
  });

  it("goes on in a new file when the old one was deleted, renamed or replaced", async () => {
    const folder = newFolder();
    const path = join(folder, FILE);
    using sink = open(folder).sink;
    await sink.append(record({ percent: 1 }));
    rmSync(path);
    await sink.append(record({ percent: 2 }));
    assert.deepEqual(lines(path).map(parseRecord), [record({ percent: 2 })]);
    renameSync(path, `${path}.1`);
    await delay(120); // A new name is noticed within 100 ms.
    await sink.append(record({ percent: 3 }));
    assert.deepEqual(lines(path).map(parseRecord), [record({ percent: 3 })]);
    rmSync(folder, { recursive: true });
    assert.equal(await sink.append(record({ percent: 4 })), true);
    assert.deepEqual(lines(path).map(parseRecord), [record({ percent: 4 })]);
  });

  // keeps: progress-sink-links
  it("never follows a symbolic link in the place of a file", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const target = join(folder, "target.txt");
    writeFileSync(target, "precious\n");
    symlinkSync(target, join(folder, FILE));
    const { sink, warnings } = open(folder);
    assert.equal(await sink.append(record()), false);
    assert.equal(readFileSync(target, "utf8"), "precious\n");
    assert.match(warnings.join(), /symbolic link/);
  });
});

describe("A sink that cannot be written", () => {
  // keeps: progress-sink-unwritable
  it("says so with each record, warns once, and stores again as soon as it can (P19)", async () => {
    const folder = newFolder();
    writeFileSync(folder, "a file in the folder's place");
    const { sink, warnings } = open(folder);
    assert.deepEqual(await Promise.all([sink.append(record()), sink.append(record())]), [false, false]);
    assert.equal(await sink.append(record()), false);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /not being stored in .*: a file is in the folder's place\. Each report tries again\./);
    rmSync(folder);
    assert.equal(await sink.append(record()), true);
    assert.equal(warnings.length, 1);
  });

  it("does not try for ever where no folder can be made", { skip: !existsSync("/proc/self") }, () => {
    const program = `
      const { Sink } = await import(${JSON.stringify(import.meta.resolve("../src/sink.ts"))});
      const sink = new Sink({ folder: "/proc/nylorun/events", warn: (text) => console.log(text) });
      console.log(await sink.append(${JSON.stringify(record())}));`;
    const options = { encoding: "utf8", timeout: 20_000, killSignal: "SIGKILL" } as const;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], options);
    assert.match(
      stdout,
      /^Progress is not being stored in .*: no folder can be made there\. Each report tries again\.\nfalse$/m,
    );
  });

  it("stores what fits on a full disk, and says which records did not", { skip: process.platform === "win32" }, () => {
    const folder = newFolder();
    const program = `
      const { Sink } = await import(${JSON.stringify(import.meta.resolve("../src/sink.ts"))});
      const record = ${JSON.stringify(record({ stage: "x".repeat(80) }))};
      const sink = new Sink({ folder: ${JSON.stringify(folder)}, warn: (text) => console.error(text) });
      const answers = [];
      for (let batch = 0; batch < 4; batch++) {
        answers.push(...await Promise.all([0, 1, 2].map((i) => sink.append({ ...record, percent: 3 * batch + i }))));
      }
      console.log(JSON.stringify(answers));
    `;
    // A limit on the size of files: like a full disk, it cuts the write that reaches it and refuses those after.
    const output = execFileSync(
      "sh",
      ["-c", 'ulimit -f 1; exec "$0" --input-type=module --eval "$1" 2>&1', process.execPath, program],
      { encoding: "utf8" },
    );
    const [warning, answers, ...rest] = output.trim().split("\n");
    assert.match(warning!, /there is no room for more/);
    assert.deepEqual(rest, []);
    const stored = JSON.parse(answers!) as boolean[];
    const whole = readFileSync(join(folder, FILE), "utf8")
      .split("\n")
      .map((text) => parseRecord(text)?.percent)
      .filter((percent) => percent !== undefined);
    assert.ok(whole.length > 0);
    assert.deepEqual(
      whole,
      stored.flatMap((persisted, percent) => (persisted ? [percent] : [])),
    );
    assert.ok(stored.includes(false));
  });
});

describe("Retention", () => {
  const today = dayOf(Date.now());

  // keeps: progress-sink-retention
  it("deletes what is past keeping by the date in the name, and nothing else (P18)", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const precious = join(newFolder());
    writeFileSync(precious, "precious\n");
    const old = eventsFileOf(daysBefore(today, 8));
    const kept = [
      eventsFileOf(daysBefore(today, 7)),
      eventsFileOf(daysBefore(today, -1)),
      `${eventsFileOf(daysBefore(today, 20))}.bak`,
      `my-${eventsFileOf(daysBefore(today, 20))}`,
      "events-2020-02-31.jsonl",
      "events-2020-1-1.jsonl",
      "notes.txt",
    ];
    for (const name of [old, ...kept]) writeFileSync(join(folder, name), "");
    const link = eventsFileOf(daysBefore(today, 30));
    symlinkSync(precious, join(folder, link));
    const directory = eventsFileOf(daysBefore(today, 31));
    mkdirSync(join(folder, directory));
    using sink = open(folder).sink;
    await sink.append(record({ timestamp: new Date().toISOString() }));
    assert.ok(!existsSync(join(folder, old)));
    assert.deepEqual(readdirSync(folder).toSorted(), [...kept, link, directory, eventsFileOf(today)].toSorted());
    assert.ok(lstatSync(join(folder, link)).isSymbolicLink());
    assert.equal(readFileSync(precious, "utf8"), "precious\n");
  });
});
