import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Place } from "./nylorun.ts";
import type { Serving } from "./nylorun.ts";

/** Pays once: notes each attempt, and stays in it for as long as the file `stuck` is there. */
function payer(place: Place): { readonly file: string; readonly attempts: () => number; readonly unstick: () => void } {
  const notes = join(place.folder, "attempts");
  const stuck = join(place.folder, "unstuck");
  const file = place.agent(
    "payer",
    `try {
       const receipt = await turn.effect("pay the bill", async () => {
         appendFileSync(${JSON.stringify(notes)}, "attempt\\n");
         while (!existsSync(${JSON.stringify(stuck)})) await delay(10);
         return { id: 2 };
       });
       return "Paid: " + JSON.stringify(receipt);
     } catch (error) { return "Not paid: " + error.message; }`,
  );
  return {
    file,
    attempts: () => (existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n").length : 0),
    unstick: () => void place.write("unstuck", ""),
  };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (await condition()) return;
    await delay(25);
  }
  throw new Error(`This never held: ${condition.toString()}`);
}

/** Has the process die in the middle of the effect. Returns the task's id. */
async function dieWhilePaying(
  place: Place,
  key: string,
  { file, attempts }: ReturnType<typeof payer>,
): Promise<string> {
  const serving = await place.serve([file]);
  const { result } = await serving.send(key, "payer", "Pay", { returnImmediately: true });
  await until(() => attempts() === 1);
  await serving.kill("SIGKILL");
  return result!.task.id;
}

async function output(serving: Serving, key: string, task: string): Promise<string | undefined> {
  await until(async () => (await serving.get(key, "payer", task)).status.state === "TASK_STATE_COMPLETED");
  return (await serving.get(key, "payer", task)).artifacts?.[0]?.parts[0]?.text;
}

async function lostIds(place: Place): Promise<string[]> {
  const { stdout } = await place.run(["effects", "list", "--json"]);
  return (JSON.parse(stdout) as { effectId: string }[]).map(({ effectId }) => effectId);
}

describe("an effect in the middle of which the process was killed", () => {
  for (const [verdict, ended, becomes, attempts] of [
    [["--completed", '{"id": 1}'], "is completed", 'Paid: {"id":1}', 1],
    [["--completed"], "is completed", "Paid: undefined", 1],
    [["--failed", "Card refused"], "has failed", "Not paid: Card refused", 1],
    [["--retry", "--yes"], "is tried once more", 'Paid: {"id":2}', 2],
  ] as const) {
    it(`is listed, and settled once by ${verdict.join(" ")}; its turn goes on with that`, async () => {
      await using place = new Place();
      const key = await place.addKey("--subject", "ada");
      assert.deepEqual(await place.run(["effects", "list"]), { code: 0, stdout: "No effect is lost.\n", stderr: "" });
      const agent = payer(place);
      const task = await dieWhilePaying(place, key, agent);
      const serving = await place.serve([agent.file]);
      await until(async () => (await lostIds(place)).length === 1);

      const { stdout } = await place.run(["effects", "list"]);
      const [, id = ""] =
        /^([\w-]{22}) {2}pay the bill\n {2}since \d{4}-\d\d-\d\d [\d:]+Z: its process died while it ran\n/.exec(
          stdout,
        ) ?? assert.fail(stdout);
      assert.ok(stdout.endsWith(`\n  of ada, payer 1.0.0, uncertain\n  task ${task}\n`), stdout);
      assert.ok(stdout.split("\n").every((line) => line.length <= 80));
      assert.equal((await serving.get(key, "payer", task)).status.state, "TASK_STATE_WORKING");
      assert.equal(agent.attempts(), 1, "it was not tried again by itself");

      agent.unstick();
      const settled = await place.run(["effects", "resolve", id, ...verdict]);
      assert.deepEqual(settled, { code: 0, stdout: "", stderr: `Effect ${id} ${ended}.\n` });
      assert.equal(await output(serving, key, task), becomes);
      assert.equal(agent.attempts(), attempts);
      assert.deepEqual(await place.run(["effects", "resolve", id, ...verdict]), {
        code: 1,
        stdout: "",
        stderr: `nylorun: No effect whose outcome is lost is ${id}; "nylorun effects list" shows those that are.\n`,
      });
    });
  }

  it("can be settled while nobody serves: the next process goes on with that", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const agent = payer(place);
    const task = await dieWhilePaying(place, key, agent);
    // That it is lost is found out by the process that resumes it.
    const resuming = await place.serve([agent.file]);
    await until(async () => (await lostIds(place)).length === 1);
    await resuming.kill("SIGTERM");
    const [id = ""] = await lostIds(place);
    assert.equal((await place.run(["effects", "resolve", id, "--completed", "[1]"])).code, 0);
    const serving = await place.serve([agent.file]);
    assert.equal(await output(serving, key, task), "Paid: [1]");
    assert.equal(agent.attempts(), 1);
  });
});

describe("nylorun effects resolve, told too little or too much, says so in a sentence:", () => {
  for (const [title, args, sentence] of [
    [
      "nothing of what became of it",
      [],
      /^nylorun: Say what became of it: --completed \[JSON\], --failed TEXT, or --retry\.\n$/,
    ],
    [
      "what is no JSON",
      ["--completed", "{id: 7}"],
      /^nylorun: --completed takes JSON, such as .+; it got \{id: 7\}\n$/,
    ],
    [
      "two things at once",
      ["--failed", "No", "--retry"],
      /^nylorun: option '--\w+[^\n]*' cannot be used with option '--\w+[^\n]*'\n$/,
    ],
    [
      "to try it again, with nobody to ask whether that is all right",
      ["--retry"],
      /^nylorun: The old attempt may still be running, [^\n]+ say --yes\.\n$/,
    ],
    [
      "an id that is none, though it begins as a flag does",
      ["-AAAAAAAAAAAAAAAAAAAAA", "--retry", "--yes"],
      /^nylorun: No effect whose outcome is lost is -A+; /,
    ],
  ] as const) {
    it(title, async () => {
      await using place = new Place();
      await place.addKey("--subject", "ada");
      const id = args[0]?.startsWith("-A") ? [] : ["some-effect"];
      const { code, stdout, stderr } = await place.run(["effects", "resolve", ...id, ...args]);
      assert.match(stderr, sentence);
      assert.deepEqual([code, stdout], [1, ""]);
    });
  }
});
