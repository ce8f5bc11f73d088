/** What waits and what was used, as the command shows it: through the process that serves, and without one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Place } from "./nylorun.ts";

describe("what operators see", () => {
  it("of queues and usage is the same from the process that serves and from the home alone", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const empty = { code: 0, stdout: "No message waits.\n", stderr: "" };
    assert.deepEqual(await place.run(["queues"]), empty);
    assert.equal((await place.run(["usage"])).stdout, "No task has ended in this time.\n");

    const files = [
      place.agent(
        "asker",
        'turn.usage({ tokens: 40, costUsd: 0.25 }); await turn.call("helper", "Go"); await turn.ask({ prompt: "?" });',
      ),
      place.agent("helper", 'turn.usage({ costUsd: 1 }); return "";'),
      place.agent("free"),
    ];
    const serving = await place.serve(files);
    const message = { contextId: "talk" };
    const { result } = await serving.send(key, "asker", "One", { message });
    const first = result!.task;
    assert.equal(first.status.state, "TASK_STATE_INPUT_REQUIRED");
    for (const text of ["Two", "Three"]) {
      await serving.send(key, "asker", text, { message, returnImmediately: true });
    }
    await serving.send(key, "free", "Hello");
    assert.equal((await place.run(["queues", "--json"])).stderr, "");

    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;
    const queue = `^talk  asker  2 messages wait, since ${time}\n  of ada\n  for ${first.id}, waiting since ${time}\n$`;
    const table =
      "AGENT   TASKS  TOKENS  COST (USD)\nfree    1      -       -\nhelper  1      -       1.0000\nall     2      -       1.0000\n";
    const look = async () => {
      assert.match((await place.run(["queues"])).stdout, new RegExp(queue));
      assert.match((await place.run(["queues", "--limit", "1"])).stdout, /since [^\n]+\nThese are the first 1\.\n$/);
      const [found] = JSON.parse((await place.run(["queues", "--json"])).stdout) as object[];
      assert.equal((found as { waiting: number }).waiting, 2);
      assert.equal((await place.run(["usage"])).stdout, table);
      assert.equal((await place.run(["usage", "--subject", "ada", "--days", "1"])).stdout, table);
      assert.equal((await place.run(["usage", "--subject", "bob"])).stdout, "No task has ended in this time.\n");
    };
    await look();
    await serving.kill("SIGTERM");
    await look();
  });

  it("is asked for with numbers and names that can be", async () => {
    await using place = new Place();
    await place.addKey("--operator");
    const refusals: readonly (readonly [args: readonly string[], why: RegExp])[] = [
      [["queues", "--limit", "0"], /^nylorun: --limit must be a whole number from 1 to 1000; it is "0"\.\n$/],
      [["queues", "--limit", "9999"], /--limit must be a whole number/],
      [["usage", "--days", "401"], /^nylorun: --days must be a whole number from 1 to 400; it is "401"\.\n$/],
      [["usage", "--days", "x\u001B[2J"], /it is "x\\u001b\[2J"\.\n$/],
    ];
    for (const [args, why] of refusals) {
      const { code, stderr } = await place.run(args);
      assert.equal(code, 1);
      assert.match(stderr, why);
    }
  });
});
