import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Place } from "./nylorun.ts";

/** Has an agent kill its process until its turn is held. Returns the task's id; nobody serves then. */
async function holdTurn(place: Place, key: string, agent: string): Promise<string> {
  const message = { messageId: crypto.randomUUID() };
  const first = await place.serve([agent]);
  await first.send(key, "deadly", "Go", { message }).catch(() => undefined);
  await first.ended();
  const before = await heldTasks(place);
  for (let start = 0; start < 8; start++) {
    // It may be killed before it has said that it serves.
    const serving = await place.serve([agent]).catch(() => undefined);
    if (serving === undefined || (await Promise.race([serving.ended(), delay(1_000, "lives")])) !== "lives") continue;
    await serving.kill("SIGTERM");
    const task = (await heldTasks(place)).find((id) => !before.includes(id));
    if (task !== undefined) return task;
  }
  throw new Error("The turn was never held.");
}

async function heldTasks(place: Place): Promise<string[]> {
  const { stdout } = await place.run(["turns", "held", "--json"]);
  return (JSON.parse(stdout) as { taskId: string }[]).map(({ taskId }) => taskId);
}

describe("a held turn", () => {
  for (const [how, verdict] of [
    ["alone", "release"],
    ["through the process that serves", "fail"],
  ] as const) {
    it(`is listed with the reason, and settled once by "turns ${verdict}", ${how}`, async () => {
      await using place = new Place();
      const key = await place.addKey("--subject", "ada");
      const healed = JSON.stringify(join(place.folder, "healed"));
      const agent = place.agent(
        "deadly",
        `if (!existsSync(${healed})) process.kill(process.pid, "SIGKILL"); return "done";`,
      );
      assert.deepEqual(await place.run(["turns", "held"]), { code: 0, stdout: "No turn is held.\n", stderr: "" });
      const task = await holdTurn(place, key, agent);
      place.write("healed", "");
      let serving = how === "alone" ? undefined : await place.serve([agent]);

      const held = await place.run(["turns", "held"]);
      const listed = `^${task}  deadly 1\\.0\\.0  since \\d{4}-[^\\n]+\\n  of ada\\n  [a-z]+\\.[a-zA-Z]+: [^\\n]+\\.\\n$`;
      assert.match(held.stdout, new RegExp(listed));
      const options = verdict === "fail" ? ["--reason", "It never worked."] : [];
      const settled = await place.run(["turns", verdict, task, ...options]);
      const said = verdict === "fail" ? "has failed" : "is released";
      assert.deepEqual(settled, { code: 0, stdout: "", stderr: `Task ${task} ${said}.\n` });
      assert.equal((await place.run(["turns", "held"])).stdout, "No turn is held.\n");
      for (const again of [task, "no-task"]) {
        assert.deepEqual(await place.run(["turns", verdict, again]), {
          code: 1,
          stdout: "",
          stderr: `nylorun: No held turn is task ${again}; "nylorun turns held" shows those that are.\n`,
        });
      }

      serving ??= await place.serve([agent]);
      const state = verdict === "fail" ? "TASK_STATE_FAILED" : "TASK_STATE_COMPLETED";
      for (let attempt = 0; (await serving.get(key, "deadly", task)).status.state !== state; attempt++) {
        assert.ok(attempt < 200, `the task becomes ${state}`);
        await delay(50);
      }
      const { status } = await serving.get(key, "deadly", task);
      assert.equal(JSON.stringify(status).includes("It never worked."), verdict === "fail");
    });
  }
});
