/** `nylorun call` as a process: what goes to stdout, how it ends, and, at a real terminal, what a person sees and does. */
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { BIN, Place } from "./nylorun.ts";
import type { Serving } from "./nylorun.ts";
import { hasTmux, Terminal } from "./terminal.ts";

const AGENT = `
  switch (turn.text) {
    case "approve": {
      const plan = turn.plan(["Find", "Ask", "Pay"]);
      plan.start("Find");
      plan.start("Ask", { note: "42.00 EUR" });
      const approved = await turn.approve({ prompt: "Pay 42 EUR to Ada?", detail: { amount: 42 } });
      if (!approved) return "Not paid.";
      plan.start("Pay");
      return "Paid.";
    }
    case "choose": return "It is " + (await turn.ask({ prompt: "Which day?", choices: ["Monday", "Friday"] })) + ".";
    case "data": return { rows: [1, 2] };
    case "colour": return "\\u001b[31mred\\u001b[0m";
    case "cost": turn.usage({ tokens: 12, costUsd: 0.5 }); return "Done.";
    case "fail": throw new Error("a secret");
    case "refuse": return (await import(${JSON.stringify(import.meta.resolve("@nylorun/agents"))})).refuse("Say which order.");
    case "slow": await turn.sleep(60000); return "Late.";
    default: return turn.text;
  }`;

describe("nylorun call", () => {
  const place = new Place();
  let serving: Serving;
  let key: string;
  before(async () => {
    serving = await place.serve([place.agent("words", AGENT)]);
    key = await place.addKey("--subject", "ada");
    place.write("ada.key", `${key}\n`);
  });
  after(() => place[Symbol.asyncDispose]());

  const call = (...args: readonly string[]) => place.run(["call", "words", ...args, "--key-file", "ada.key"]);
  const stateOf = async (id: string) => (await serving.get(key, "words", id)).status.state;

  it("puts the output on stdout, and all else on stderr", async () => {
    const { code, stdout, stderr } = await call("Hello");
    assert.equal(code, 0);
    assert.equal(stdout, "Hello\n");
    assert.match(stderr, /Completed/);
    assert.match(stderr, /trace [0-9a-f]{32}/);
    assert.match((await call("cost")).stderr, /12 tokens · \$0\.5 · trace/);
  });

  it("prints data as JSON, and what goes to a pipe as it is", async () => {
    assert.deepEqual(JSON.parse((await call("data")).stdout), { rows: [1, 2] });
    assert.equal((await call("colour")).stdout, "\u001B[31mred\u001B[0m\n");
  });

  it("tells by its exit code how the task ended", async () => {
    const [failed, refused, waits] = await Promise.all(["fail", "refuse", "approve"].map((word) => call(word)));
    assert.equal(failed!.code, 3);
    assert.doesNotMatch(failed!.stderr + failed!.stdout, /secret/);
    assert.equal(refused!.code, 4);
    assert.match(refused!.stderr, /Say which order\./);
    assert.equal(waits!.code, 2);
    const [, id] = /--task (\S+)/.exec(waits!.stderr) ?? [];
    assert.equal(await stateOf(id!), "TASK_STATE_AUTH_REQUIRED");
  });

  it("prints one JSON object for scripts, and asks nothing", async () => {
    const { code, stdout, stderr } = await call("approve", "--json");
    assert.equal(code, 2);
    assert.equal(stderr, "");
    const task = JSON.parse(stdout);
    assert.equal(task.state, "TASK_STATE_AUTH_REQUIRED");
    assert.equal(task.interaction.kind, "approval");
    assert.deepEqual(
      task.plan.steps.map(({ state }: { state: string }) => state),
      ["done", "active", "pending"],
    );
    const ended = JSON.parse((await call("Hello", "--json")).stdout);
    assert.deepEqual([ended.state, ended.output], ["TASK_STATE_COMPLETED", "Hello"]);
  });

  it("sends without waiting, and takes a task up again", async () => {
    const { stdout } = await call("approve", "--no-wait");
    const id = stdout.trim();
    assert.match(id, /^[\w-]{22}$/);
    const answered = await place.run(["answer", id, "--approve", "--key-file", "ada.key"]);
    assert.equal(answered.code, 0, answered.stderr);
    const { code, stdout: output } = await call(`--task=${id}`);
    assert.deepEqual([code, output], [0, "Paid.\n"]);
  });

  it("does not do a message again that is sent again under its id, and goes on with a context", async () => {
    const first = await call("Hello", "--json", "--message-id", "m1", "--context", "c1");
    const again = await call("Hello", "--json", "--message-id", "m1", "--context", "c1");
    assert.equal(JSON.parse(first.stdout).id, JSON.parse(again.stdout).id);
    assert.equal(JSON.parse(first.stdout).contextId, "c1");
  });

  it("calls an address, and says in a sentence why one cannot be called", async () => {
    const url = `${await serving.ready}/v1/a2a/agents/words/`;
    const { code, stdout } = await place.run(["call", url, "Hi", "--key-file", "ada.key"]);
    assert.deepEqual([code, stdout], [0, "Hi\n"]);
    for (const [args, says] of [
      [["call", "words", "--key-file", "ada.key"], /Say what to send/],
      [["call", "ftp://x/", "Hi"], /named by its address/],
      [["call", `${await serving.ready}/nothing/`, "Hi", "--key-file", "ada.key"], /There is no Agent Card/],
      [["call", "http://127.0.0.1:9/", "Hi", "--key-file", "ada.key"], /did not answer/],
      [["call", url, "Hi", "--key-file", "missing.key"], /missing\.key/],
    ] as const) {
      const ended = await place.run(args);
      assert.equal(ended.code, 1, ended.stderr);
      assert.match(ended.stderr, says);
      assert.equal(ended.stderr.trim().split("\n").length, 1);
    }
  });

  it("shows the home's own key to the process that serves the home, and to no other address", async () => {
    await using other = new Place();
    const elsewhere = await other.serve([other.agent("words")]);
    place.write(".nylorun/local.key", `${key}\n`);
    const own = await place.run(["call", `${await serving.ready}/v1/a2a/agents/words/`, "Hi"]);
    assert.equal(own.stdout, "Hi\n", own.stderr);
    const foreign = await place.run(["call", `${await elsewhere.ready}/v1/a2a/agents/words/`, "Hi"]);
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /does not accept the credentials/);
  });

  describe("at a terminal", { skip: !hasTmux && "there is no tmux" }, () => {
    /** Says its exit code when it has ended. */
    const open = (args: string, width = 90) =>
      new Terminal({
        // A socket of its own: the last terminal's may be on its way out.
        folder: mkdtempSync(join(place.folder, "terminal-")),
        command: [
          "sh",
          "-c",
          `trap : INT; cd "${place.folder}"; "${process.execPath}" "${BIN}" call words ${args} --key-file ada.key; echo "code $?"; cat`,
        ],
        environment: place.environment(),
        width,
        height: 30,
      });
    const has = (text: string) => (lines: readonly string[]) => lines.some((line) => line.includes(text));

    it("draws the bar and the plan, and approves on the word for it alone", async () => {
      using terminal = open("approve");
      const asked = await terminal.waitFor(has("[a]pprove"));
      assert.ok(has("33 %   Paused — Ask")(asked), asked.join("\n"));
      assert.ok(has("✔ Find   ● Ask (42.00 EUR)   ○ Pay")(asked), asked.join("\n"));
      assert.ok(has("Pay 42 EUR to Ada?")(asked));
      for (const word of ["", "y", "yes"]) {
        terminal.press(word, "Enter");
        await new Promise((go) => setTimeout(go, 150));
      }
      const still = terminal.screen();
      assert.ok(has("Type a to approve")(still), still.join("\n"));
      terminal.press("a", "Enter");
      const ended = await terminal.waitFor(has("code 0"));
      assert.ok(has("100 %   Completed")(ended), ended.join("\n"));
      assert.ok(ended.includes("Paid."), ended.join("\n"));
    });

    it("asks a question with its choices", async () => {
      using terminal = open("choose");
      await terminal.waitFor(has("Which one?"));
      terminal.press("2", "Enter");
      assert.ok(has("It is Friday.")(await terminal.waitFor(has("code 0"))));
    });

    it("leaves for later what is not answered now", async () => {
      using terminal = open("approve");
      await terminal.waitFor(has("[a]pprove"));
      terminal.press("l", "Enter");
      const ended = await terminal.waitFor(has("code 2"));
      assert.ok(has("The task waits.")(ended), ended.join("\n"));
    });

    it("takes the question back when it is answered elsewhere", async () => {
      using terminal = open("approve --context elsewhere");
      await terminal.waitFor(has("[a]pprove"));
      const { result } = await serving.call(key, "words", "ListTasks", { contextId: "elsewhere" });
      const [task] = (result as unknown as { tasks: { id: string }[] }).tasks;
      const answered = await place.run(["answer", task!.id, "--approve", "--key-file", "ada.key"]);
      assert.equal(answered.code, 0, answered.stderr);
      const ended = await terminal.waitFor(has("code 0"));
      assert.ok(has("Paid.")(ended), ended.join("\n"));
    });

    it("ends the wait on Ctrl-C, and cancels the task on the second", async () => {
      {
        using terminal = open("slow --context once");
        await terminal.waitFor(has("0 %"));
        terminal.press("C-c");
        await terminal.waitFor(has("code 130"));
      }
      using terminal = open("approve --context twice");
      await terminal.waitFor(has("[a]pprove"));
      terminal.press("C-c");
      await terminal.waitFor(has("Ctrl-C now cancels it"));
      terminal.press("C-c");
      await terminal.waitFor(has("code 5"));
      for (const [contextId, state] of [
        ["once", "TASK_STATE_WORKING"],
        ["twice", "TASK_STATE_CANCELED"],
      ] as const) {
        const { result } = await serving.call(key, "words", "ListTasks", { contextId });
        assert.equal((result as unknown as { tasks: { status: { state: string } }[] }).tasks[0]?.status.state, state);
      }
    });

    it("prints nothing of an agent's that steers the terminal", async () => {
      using terminal = open("colour");
      const ended = await terminal.waitFor(has("code 0"));
      assert.ok(ended.includes("red"), ended.join("\n"));
    });

    it("draws one picture, not many, in a terminal that has become narrow", async () => {
      using terminal = open("slow --context narrow", 100);
      await terminal.waitFor(has("0 %"));
      terminal.resize(34, 30);
      await new Promise((go) => setTimeout(go, 400));
      const lines = terminal.screen();
      assert.equal(lines.filter((line) => line.includes("0 %")).length, 1, lines.join("\n"));
    });
  });
});
