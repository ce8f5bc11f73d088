import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Place } from "./nylorun.ts";

const refunds = `
  const order = await turn.effect("find", () => 42);
  if (!(await turn.approve({ prompt: "Refund?" }))) return "no";
  await turn.effect("refund", () => 1);
  return "refunded";`;

/** A home in which turns of two agents wait, one of them twice. */
async function waiting(place: Place): Promise<{ readonly key: string; readonly tasks: readonly string[] }> {
  const files = [place.agent("refunds", refunds), place.agent("other", 'await turn.ask({ prompt: "?" });')];
  const key = await place.addKey("--subject", "ada");
  const serving = await place.serve(files);
  const tasks: string[] = [];
  for (const agent of ["refunds", "refunds", "other"]) {
    const { result } = await serving.send(key, agent, "1001");
    tasks.push(result!.task.id);
  }
  await serving.kill("SIGTERM");
  return { key, tasks };
}

describe("nylorun replay-check", () => {
  it("says that all turns fit the code that they wait for, whether a process serves them or not", async () => {
    await using place = new Place();
    await waiting(place);
    const fits = { code: 0, stdout: "All 3 turns fit.\n", stderr: "" };
    assert.deepEqual(await place.run(["replay-check", "refunds.ts", "other.ts"]), fits);
    assert.deepEqual(await place.run(["replay-check", "refunds.ts"]), { ...fits, stdout: "All 2 turns fit.\n" });
    await place.serve(["refunds.ts", "other.ts"]);
    assert.deepEqual(await place.run(["replay-check", "refunds.ts", "other.ts"]), fits);
  });

  it("names the turns that do not fit, with the entry and what the code calls now, and exits with 1", async () => {
    await using place = new Place();
    const { key, tasks } = await waiting(place);
    const serving = await place.serve(["refunds.ts", "other.ts"]);
    const changed = place.agent("refunds", `await turn.effect("check the limit", () => 1);${refunds}`);
    const { code, stdout, stderr } = await place.run(["replay-check", changed, "other.ts"]);
    assert.deepEqual([code, stderr], [1, ""]);
    const [head, ...texts] = stdout.split("\n\n");
    assert.equal(head, "2 of 3 do not fit:");
    const text = texts.join("\n");
    for (const task of tasks.slice(0, 2)) {
      assert.match(
        text,
        new RegExp(`^${task}  refunds 1\\.0\\.0, now 1\\.0\\.0  waiting since \\d{4}-.*\\n  of ada\\n`, "m"),
      );
    }
    assert.match(text, /^ {2}entry 0 is effect\("find"\), the code now calls effect\("check the limit"\)$/m);
    assert.ok(!text.includes(tasks[2]!));

    const json = JSON.parse((await place.run(["replay-check", "--json", changed])).stdout) as {
      checked: number;
      misfits: { taskId: string; why: string }[];
    };
    assert.equal(json.checked, 2);
    assert.deepEqual(new Set(json.misfits.map(({ taskId }) => taskId)), new Set(tasks.slice(0, 2)));
    // The turns wait as before.
    for (const task of tasks.slice(0, 2)) {
      assert.equal((await serving.get(key, "refunds", task)).status.state, "TASK_STATE_AUTH_REQUIRED");
    }
  });

  it("shows nothing that would steer a terminal, nor does the list of what is held", async () => {
    await using place = new Place();
    // What callers write may end up in the names of effects.
    const named = (word: string) =>
      `await turn.effect(turn.text + "${word}", () => 1); await turn.ask({ prompt: "?" });`;
    const agent = place.agent("namer", named("one"));
    const key = await place.addKey("--subject", "ada");
    const first = await place.serve([agent]);
    const { result } = await first.send(key, "namer", "\u009b2J\u202eevil\u001b[31m");
    await first.kill("SIGTERM");
    place.agent("namer", named("two"));
    const steering = /[^\P{Cc}\n]|[\u202a-\u202e]/u;
    const { code, stdout } = await place.run(["replay-check", agent]);
    assert.deepEqual([code, steering.test(stdout), stdout.includes("evil")], [1, false, true], stdout);
    const second = await place.serve([agent]);
    await second.call(key, "namer", "SendMessage", {
      message: { messageId: "a", role: "ROLE_USER", taskId: result!.task.id, parts: [{ text: "42" }] },
      configuration: { returnImmediately: true },
    });
    let held = "";
    for (let tries = 0; tries < 100 && !held.includes("diverged"); tries++) {
      await delay(50);
      held = (await place.run(["turns", "held"])).stdout;
    }
    assert.match(held, /evil/);
    assert.ok(!steering.test(held), held);
  });

  it("runs no effect and changes nothing in the home", async () => {
    await using place = new Place();
    await waiting(place);
    const before = readFileSync(join(place.home, "nylorun.db"));
    const marks = `process.stdout.write("ran ");`;
    const agent = place.agent(
      "refunds",
      `const order = await turn.effect("find", () => { ${marks} });
       await Promise.all([turn.approve({ prompt: "Refund?" }), turn.effect("new", () => { ${marks} })]);
       ${marks}`,
    );
    assert.equal((await place.run(["replay-check", agent])).stdout, "All 2 turns fit.\n");
    assert.deepEqual(readFileSync(join(place.home, "nylorun.db")), before);
    assert.deepEqual(
      readdirSync(place.home).filter((name) => /owner|control/.test(name)),
      [],
    );
  });

  it("has nothing to say of a home without such turns, and a sentence for what is no home, or no agent", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    const missing = await place.run(["replay-check", agent]);
    assert.deepEqual([missing.code, missing.stdout], [1, ""]);
    assert.match(missing.stderr, /^nylorun: There is no home at .*--home\.\n$/);
    await place.addKey("--subject", "ada");
    const none = { code: 0, stdout: "No turn of echo has begun and not ended.\n", stderr: "" };
    assert.deepEqual(await place.run(["replay-check", agent]), none);
    const serving = await place.serve([agent]);
    await serving.kill("SIGTERM");
    assert.deepEqual(await place.run(["replay-check", agent]), none);
    const wrong = await place.run(["replay-check", "no-such.ts"]);
    assert.deepEqual([wrong.code, wrong.stderr], [1, "nylorun: no-such.ts: there is no such file.\n"]);
  });
});
