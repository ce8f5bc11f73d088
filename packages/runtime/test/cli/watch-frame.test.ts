/** What `watch` draws, without a terminal. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";

import { sinkRecord } from "@nylorun/progress";
import type { SinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import stringWidth from "string-width";

import { cutToCells, fitToCells } from "../../src/cli/cells.ts";
import { clockText, rangeText } from "../../src/cli/spans.ts";
import { drawFrame } from "../../src/cli/watch/frame.ts";
import type { FrameOptions } from "../../src/cli/watch/frame.ts";
import { WatchedTasks } from "../../src/cli/watch/tasks.ts";

const NOW = Date.parse("2026-10-14T02:00:00Z");

/** @param ago Seconds. */
function record(fields: object, ago = 0): SinkRecord {
  const report = { task_id: "claude:summarize-report", percent: 42, stage: "Reasoning", status: "running", ...fields };
  return sinkRecord(normalizeReport(report, NOW - ago * 1000));
}

function frame(records: readonly SinkRecord[], options: Partial<FrameOptions> = {}): string[] {
  const tasks = new WatchedTasks();
  for (const each of records) tasks.add(each);
  return drawFrame(tasks.shown(NOW, false), { width: 80, height: 24, unicode: true, color: false, ...options });
}

const EXAMPLES = [
  record({ eta_seconds: 30, message: "reading section 3 of 7" }),
  record({ task_id: "claude:docs", percent: 12, stage: "記憶を検索しています 🔍" }),
  record({ task_id: "codex:refactor-auth", percent: 33, status: "paused", stage: "Ask for approval" }),
  record({ task_id: "codex:tests", percent: 80, status: "error", stage: "Testing", message: "3 tests failed" }),
  record({ task_id: "shell:npm-test", percent: 71, status: "done", stage: "npm test" }),
];

describe("A frame of watch", () => {
  it("has every agent with its tasks, each with its bar, percent, countdown and stage", () => {
    assert.deepEqual(frame(EXAMPLES), [
      "claude",
      "  summarize-report  ██████░░░░░░░░░░   42%  0:30         Reasoning · reading se…",
      "  docs              █░░░░░░░░░░░░░░░   12%  estimating…  記憶を検索しています 🔍",
      "codex",
      "  refactor-auth     █████░░░░░░░░░░░   33%  paused       Paused — Ask for appro…",
      "  tests             ████████████░░░░   80%               ✖ 3 tests failed · Tes…",
      "shell",
      "  npm-test          ████████████████  100%               ✔ npm test",
      "",
      "2 running, 1 paused, 1 done, 1 failed",
    ]);
  });

  it("lets columns go as it gets narrower, never the bar and its percent (P24)", () => {
    assert.deepEqual(frame(EXAMPLES, { width: 60 }).slice(0, 3), [
      "claude",
      "  summarize-report  █████░░░░░░░   42%  0:30     Reasoning…",
      "  docs              █░░░░░░░░░░░   12%  …        記憶を検索…",
    ]);
    assert.deepEqual(frame(EXAMPLES, { width: 40 }).slice(0, 3), [
      "claude",
      "  summarize-r…  ███░░░░░   42%  Reasoni…",
      "  docs          █░░░░░░░   12%  記憶を…",
    ]);
    assert.deepEqual(frame(EXAMPLES, { width: 30 }).slice(0, 3), [
      "claude",
      "  summarize-r…  ███░░░░░   42%",
      "  docs          █░░░░░░░   12%",
    ]);
    assert.deepEqual(frame(EXAMPLES, { width: 24 }).slice(0, 3), [
      "claude",
      "  ██████░░░░░░░░░░   42%",
      "  █░░░░░░░░░░░░░░░   12%",
    ]);
    for (let width = 1; width <= 200; width++) {
      for (const line of frame(EXAMPLES, { width })) {
        if (width >= 12) assert.ok(stringWidth(line) <= width, `${stringWidth(line)} cells at ${width}: ${line}`);
        if (line.startsWith("  ")) assert.match(line, /[█░]/);
      }
    }
  });

  it("shows open tasks first when there are more than lines, and says how many it hides", () => {
    const many = Array.from({ length: 200 }, (_, index) =>
      record({
        task_id: `agent${index % 4}:task-${index}`,
        percent: index / 2,
        status: index % 10 === 0 ? "running" : "done",
      }),
    );
    const lines = frame(many);
    assert.equal(lines.length, 24);
    assert.equal(lines.filter((line) => line.includes("estimating…")).length, 20);
    assert.equal(lines.at(-1), "20 running, 180 done");
    assert.equal(lines.at(-2), "… 180 more");
    for (const height of [1, 2, 3, 5, 12]) assert.ok(frame(many, { height }).length <= height);
  });

  it("says since when nothing was heard, and what is usual, and turns neither into a state or an ETA", () => {
    const [, silent] = frame([record({}, 250)], { width: 120 });
    assert.match(silent!, / 42% {2}estimating… {2}no update for 4:10 · Reasoning$/);
    const [, waiting] = frame([record({ status: "paused" }, 250)], { width: 120 });
    assert.doesNotMatch(waiting!, /no update/);
    const runs = [6, 7, 9].flatMap((minutes, index) => [
      record({ status: "started" }, 40_000 - index * 1000),
      record({ status: "done" }, 40_000 - index * 1000 - minutes * 60),
    ]);
    const [, history] = frame([...runs, record({ status: "started" }, 5)], { width: 120 });
    assert.match(history!, /estimating… {2}Reasoning · usually 7–9 min, 3 runs$/);
  });

  it("counts down between reports, and never below nothing (P1, P4)", () => {
    assert.match(frame([record({ eta_seconds: 30 }, 12)])[1]!, / 0:18 /);
    assert.match(frame([record({ eta_seconds: 30 }, 45)])[1]!, / 0:00 /);
    assert.match(frame([record({ eta_seconds: 30 }, -3600)])[1]!, / 0:30 /);
    assert.match(frame([record({ eta_seconds: 1e12 })])[1]!, /11574074 …|… /);
  });

  it("floors percent, and fills the bar only when it is all of it (P2)", () => {
    assert.match(frame([record({ percent: 99.6 })])[1]!, /█{15}░ {3}99%/);
    assert.match(frame([record({ percent: 0.4 })])[1]!, /  ░{16} {4}0%/);
    assert.match(frame([record({ percent: 1 })])[1]!, /█░{15} {4}1%/);
    assert.match(frame([record({ percent: 3, status: "done" })])[1]!, /█{16} {2}100%/);
  });

  it("keeps an error that a late finish follows, until the task begins again (P8)", () => {
    const error = record({ status: "error", message: "Failed" }, 3);
    assert.match(frame([error, record({ status: "done" }, 2)])[1]!, /✖ Failed/);
    assert.match(frame([error, record({ status: "started", percent: 0 }, 1)])[1]!, /estimating… {2}Reasoning/);
  });

  it("lets what ended go after a while, and a task that is silent for a day", () => {
    assert.deepEqual(frame([record({ status: "done" }, 601)]), ["", ""]);
    assert.equal(frame([record({}, 86_401)]).length, 2);
    assert.equal(frame([record({}, 86_399)]).length, 4);
  });

  it("draws with ASCII where there is no more, and with colours where there are", () => {
    const [, plain] = frame([record({ status: "error", message: "Failed" })], { unicode: false });
    assert.match(plain!, /######----------   42% +x Failed - Reasoning$/);
    const colored = frame(EXAMPLES, { color: true });
    assert.notDeepEqual(colored, frame(EXAMPLES));
    assert.deepEqual(colored.map(stripVTControlCharacters), frame(EXAMPLES));
  });

  it("tells tasks apart that are called constructor, 10 or the same with other agents (P25)", () => {
    const ids = ["constructor", "10", "9", "__proto__:x", "a:x", "b:x"];
    const lines = frame(ids.filter((id) => /^[a-z0-9]/.test(id)).map((task_id) => record({ task_id })));
    assert.deepEqual(
      lines.map((line) => line.trim().split(" ")[0]),
      ["a", "x", "b", "x", "unknown", "constructor", "10", "9", "", "5"],
    );
  });
});

describe("Text in cells", () => {
  it("is cut between characters as people see them", () => {
    assert.equal(cutToCells("Reasoning", 9), "Reasoning");
    assert.equal(cutToCells("Reasoning", 5), "Reas…");
    assert.equal(cutToCells("記憶を検索", 5), "記憶…");
    assert.equal(cutToCells("記憶を検索", 4), "記…");
    assert.equal(cutToCells("👩‍👩‍👧👩‍👩‍👧", 3), "👩‍👩‍👧…");
    assert.equal(cutToCells("x", 0), "");
    assert.equal(fitToCells("記憶を検索", 8), "記憶を… ");
    assert.equal(stringWidth(fitToCells("記憶を検索", 8)), 8);
  });
});

describe("Spans of time", () => {
  it("are written as people read them, and are never negative (P4)", () => {
    assert.deepEqual([0, 999, 5_000, 250_000, 3_723_000, 97_200_000, -5_000].map(clockText), [
      "0:00",
      "0:00",
      "0:05",
      "4:10",
      "1:02:03",
      "1 d 3 h",
      "0:00",
    ]);
    assert.equal(rangeText(6 * 60_000, 9 * 60_000), "6–9 min");
    assert.equal(rangeText(45_000, 45_400), "45 s");
    assert.equal(rangeText(3_600_000, 7_200_000), "1–2 h");
  });
});
