/** `nylorun watch` as people see it: on a real terminal, and in lines where there is none. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Sink, sinkRecord } from "@nylorun/progress";
import { normalizeReport } from "@nylorun/protocol";
import stringWidth from "string-width";

import { terminalFeatures } from "../../src/node/terminal.ts";
import { BIN, Place } from "./nylorun.ts";
import { hasTmux, Terminal } from "./terminal.ts";

/** Reports to the sink of a place, as any writer would. */
function reporterTo(place: Place): (...reports: readonly object[]) => Promise<void> {
  const sink = new Sink({ folder: place.events, warn: (text) => assert.fail(text) });
  return async (...reports) => {
    const stored = reports.map((fields) => {
      const report = {
        task_id: "claude:summarize-report",
        percent: 42,
        stage: "Reasoning",
        status: "running",
        ...fields,
      };
      return sink.append(sinkRecord(normalizeReport(report, Date.now())));
    });
    assert.ok((await Promise.all(stored)).every(Boolean));
  };
}

const EXAMPLES = [
  { status: "paused", stage: "Reading section 3 of 7" },
  { task_id: "claude:docs", percent: 12, status: "paused", stage: "記憶を検索しています 🔍 検索中" },
  { task_id: "codex:refactor-auth", percent: 33, stage: "Extracting the token store" },
  { task_id: "codex:tests", percent: 80, status: "error", stage: "Testing", message: "3 tests failed 🔥" },
  { task_id: "shell:npm-test", percent: 71, status: "done", stage: "npm test" },
];

const AT_80 = `claude
  summarize-report  ██████░░░░░░░░░░   42%  paused       Paused — Reading secti…
  docs              █░░░░░░░░░░░░░░░   12%  paused       Paused — 記憶を検索し…
codex
  refactor-auth     █████░░░░░░░░░░░   33%  estimating…  Extracting the token s…
  tests             ████████████░░░░   80%               ✖ 3 tests failed 🔥 ·…
shell
  npm-test          ████████████████  100%               ✔ npm test

1 running, 2 paused, 1 done, 1 failed`;

const AT_40 = `claude
  summarize-r…  ███░░░░░   42%  Paused…
  docs          █░░░░░░░   12%  Paused…
codex
  refactor-au…  ██░░░░░░   33%  Extract…
  tests         ██████░░   80%  ✖ 3 tes…
shell
  npm-test      ████████  100%  ✔ npm t…

1 running, 2 paused, 1 done, 1 failed`;

describe("nylorun watch on a terminal", { skip: hasTmux ? false : "there is no tmux here" }, () => {
  const open = (place: Place, { width = 80, height = 24, args = [] as string[], environment = {} } = {}): Terminal =>
    new Terminal({
      folder: place.folder,
      command: [process.execPath, BIN, "watch", ...args],
      environment: place.environment(environment),
      width,
      height,
    });

  it("draws every agent, and draws it anew at any size, without a line too many (P24)", async () => {
    await using place = new Place();
    const report = reporterTo(place);
    await report(...EXAMPLES);
    using terminal = open(place);
    const shows = (text: string) => (lines: readonly string[]) => lines.join("\n") === text;
    await terminal.waitFor(shows(AT_80));
    assert.equal(terminal.value("alternate_on"), "1");
    assert.equal(terminal.value("cursor_flag"), "0");
    terminal.resize(40, 24);
    await terminal.waitFor(shows(AT_40));
    terminal.resize(80, 24);
    await terminal.waitFor(shows(AT_80));
    // Back and forth faster than it draws.
    for (let width = 20; width <= 120; width += 5) terminal.resize(width, 10 + (width % 14));
    terminal.resize(40, 24);
    await terminal.waitFor(shows(AT_40));
  });

  it("shows what is reported as it is reported, the last word of a burst included (P3)", async () => {
    await using place = new Place();
    const report = reporterTo(place);
    using terminal = open(place);
    const [first] = await terminal.waitFor(([line]) => line!.startsWith("Nothing is being reported"));
    assert.match(first!, /Nothing is being reported on this machine/);
    await report({ status: "started", percent: 0 });
    await terminal.waitFor((lines) => / 0% {2}estimating… {2}Reasoning$/.test(lines[1] ?? ""));
    for (let percent = 1; percent <= 97; percent += 3) await report({ percent });
    await terminal.waitFor((lines) => lines[1]?.includes(" 97% ") === true);
    await report({ percent: 98, eta_seconds: 600 });
    await terminal.waitFor((lines) => / 98% {2}(10:00|9:5\d) /.test(lines[1] ?? ""));
    await report({ status: "done" });
    await terminal.waitFor((lines) => lines[1]?.includes("100% ") === true && lines.at(-1) === "1 done");
  });

  it("shows as many of 200 tasks as there are lines for, the open ones first", async () => {
    await using place = new Place();
    await reporterTo(place)(
      ...Array.from({ length: 200 }, (_, index) => ({
        task_id: `agent${index % 4}:task-${index}`,
        percent: index / 2,
        status: index % 10 === 0 ? "running" : "done",
        stage: index % 3 === 0 ? "検索中 👩‍👩‍👧" : "Working",
      })),
    );
    using terminal = open(place);
    const lines = await terminal.waitFor((all) => all.at(-1) === "20 running, 180 done");
    assert.equal(lines.length, 24);
    assert.equal(lines.at(-2), "… 180 more");
    assert.equal(lines.filter((line) => line.includes("estimating…")).length, 20);
    for (const line of lines) assert.ok(stringWidth(line) <= 80);
    terminal.resize(80, 60);
    const more = await terminal.waitFor((all) => all.length === 60);
    assert.match(more.at(-2)!, /^… 14\d more$/);
  });

  it("stays in its lines where the terminal takes an emoji for wider than we do", async () => {
    await using place = new Place();
    const wide = "👩🏽‍🚀👨‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿👍🏽e̊🇩🇪".repeat(4);
    await reporterTo(place)({ stage: wide }, { task_id: "claude:docs", stage: "Plain" });
    for (const width of [80, 40]) {
      using terminal = open(place, { width });
      const lines = await terminal.waitFor((all) => all.at(-1) === "2 running");
      assert.equal(lines.length, 5);
      assert.match(lines[2]!, /^ {2}docs .*Plain$/);
    }
  });

  it("leaves the terminal as it was, however it ends", async () => {
    await using place = new Place();
    await reporterTo(place)({});
    for (const key of ["q", "C-c"]) {
      const run = `echo before; "${process.execPath}" "${BIN}" watch; echo "after: $?"; sleep 20`;
      using terminal = new Terminal({
        folder: place.folder,
        command: ["sh", "-c", run],
        environment: place.environment(),
        width: 80,
        height: 24,
      });
      await terminal.waitFor((lines) => lines[0] === "claude");
      assert.equal(terminal.value("wrap_flag"), "0");
      terminal.press(key);
      await terminal.waitFor((lines) => lines.join() === "before,after: 0");
      assert.equal(terminal.value("alternate_on"), "0");
      assert.equal(terminal.value("cursor_flag"), "1");
      assert.equal(terminal.value("wrap_flag"), "1");
    }
  });

  it("draws with ASCII where the locale has no more", async () => {
    await using place = new Place();
    await reporterTo(place)({});
    using terminal = open(place, { args: ["--all"] });
    await terminal.waitFor((lines) => lines[1]?.includes("█") === true);
    using other = new Terminal({
      folder: place.folder.concat("/.."),
      command: ["env", "LC_ALL=C", process.execPath, BIN, "watch"],
      environment: place.environment(),
      width: 80,
      height: 10,
    });
    await other.waitFor((lines) => /######-+ +42%/.test(lines[1] ?? ""));
  });
});

describe("Progress in the terminal's tab", () => {
  it("is for terminals that show it, and for no other", () => {
    const shows = (env: NodeJS.ProcessEnv) => terminalFeatures({ LANG: "en_US.UTF-8", ...env }).progress;
    assert.ok(shows({ WT_SESSION: "x" }));
    assert.ok(shows({ ConEmuANSI: "ON" }));
    assert.ok(shows({ TERM_PROGRAM: "ghostty", TERM_PROGRAM_VERSION: "1.2.0" }));
    assert.ok(shows({ TERM_PROGRAM: "iTerm.app", TERM_PROGRAM_VERSION: "3.6.6" }));
    assert.ok(shows({ TERM_PROGRAM: "WezTerm", TERM_PROGRAM_VERSION: "20250209-182623-44866cc1" }));
    assert.ok(shows({ VTE_VERSION: "7900" }));
    assert.ok(!shows({}));
    assert.ok(!shows({ TERM_PROGRAM: "iTerm.app", TERM_PROGRAM_VERSION: "3.5.0" })); // To it, this is a notification.
    assert.ok(!shows({ TERM_PROGRAM: "ghostty", TERM_PROGRAM_VERSION: "1.1.3" }));
    assert.ok(!shows({ TERM_PROGRAM: "vscode", TERM_PROGRAM_VERSION: "1.99.0" }));
    assert.ok(!shows({ WT_SESSION: "x", TMUX: "/tmp/x,1,0" }));
  });

  const hasScript = String(spawnSync("script", ["--version"]).stdout).includes("util-linux");
  it("says how far everything is together, and is taken away at the end", { skip: !hasScript }, async () => {
    await using place = new Place();
    const report = reporterTo(place);
    await report({ percent: 40 }, { task_id: "codex:tests", percent: 61 }, { task_id: "x:y", status: "done" });
    const environment = {
      TERM_PROGRAM: "ghostty",
      TERM_PROGRAM_VERSION: "1.2.0",
      TERM: "xterm-256color",
      TMUX: "",
      STY: "",
    };
    const command = `"${process.execPath}" "${BIN}" watch`;
    const child = spawn("script", ["-qfec", command, "/dev/null"], {
      env: place.environment(environment),
      stdio: ["pipe", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    try {
      const has = async (text: string) => {
        for (const deadline = Date.now() + 10_000; !output.includes(text); await delay(20)) {
          assert.ok(Date.now() < deadline, JSON.stringify(output));
        }
      };
      await has("\u001b]9;4;1;50\u0007");
      await report({ percent: 40, status: "paused" }, { task_id: "codex:tests", percent: 61, status: "paused" });
      await has("\u001b]9;4;4;50\u0007");
      await report({ status: "done" }, { task_id: "codex:tests", status: "error" });
      await has("\u001b]9;4;0;0\u0007");
      child.stdin.write("q");
      await new Promise((resolve) => child.once("exit", resolve));
      assert.ok(output.trimEnd().endsWith("\u001b[?1049l"), JSON.stringify(output.slice(-80)));
    } finally {
      child.kill("SIGKILL");
    }
  });
});

describe("nylorun watch where there is no terminal", () => {
  it("prints a line for what is going on, and for each change, without a single escape", async () => {
    await using place = new Place();
    const report = reporterTo(place);
    await report(...EXAMPLES);
    const child = spawn(process.execPath, [BIN, "watch"], {
      env: place.environment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      let output = "";
      child.stdout.on("data", (chunk) => (output += chunk));
      const has = async (text: RegExp) => {
        for (const deadline = Date.now() + 10_000; !text.test(output); await delay(20)) {
          assert.ok(Date.now() < deadline, output);
        }
      };
      await has(/npm-test/);
      assert.match(
        output,
        /^\d\d:\d\d:\d\d {2}claude {8}summarize-report {11}42% {2}Paused — Reading section 3 of 7$/m,
      );
      await report({ percent: 77, stage: "Still\u001b[2J at it" });
      await has(/77% {2}Still at it/);
      assert.ok(!output.includes("\u001b"));
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
      assert.equal(child.exitCode, 0);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("ends when nobody reads it any more", async () => {
    await using place = new Place();
    const report = reporterTo(place);
    await report({});
    const child = spawn(process.execPath, [BIN, "watch"], {
      env: place.environment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      child.stdout.destroy();
      for (let percent = 0; child.exitCode === null && percent < 100; percent++) {
        await report({ percent });
        await delay(50);
      }
      assert.equal(child.exitCode, 0);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("prints what is going on once, for people and for programs", async () => {
    await using place = new Place();
    const empty = await place.run(["watch", "--once"]);
    assert.match(empty.stdout, /^Nothing is being reported on this machine \(.*events\)\./);
    assert.match(empty.stdout, /claude mcp add progress -- npx -y @nylorun\/mcp-server/);
    assert.equal((await place.run(["watch", "--once", "--json"])).stdout, "");
    await reporterTo(place)(...EXAMPLES);
    const { stdout } = await place.run(["watch", "--once"]);
    assert.equal(stdout.trim().split("\n").length, 5);
    const json = await place.run(["watch", "--once", "--json"]);
    assert.deepEqual(
      json.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).task_id),
      ["claude:summarize-report", "claude:docs", "codex:refactor-auth", "codex:tests", "shell:npm-test"],
    );
  });
});
