/** Tasks that have ended cost no memory, and are listed as fast as ever (A33, I12). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { databaseUrl } from "../cluster/nodes.ts";
import { makeAgent, serve } from "./callers.ts";

/** Before it is looked at, and then. Nodes that share a database do the same work beside each other, on the processors of one. */
const sizes = databaseUrl === undefined ? { first: 1500, then: 4500 } : { first: 500, then: 1500 };

test("thousands of tasks that have ended leave the heap as it was, and a list as fast (A33, I12)", async () => {
  await using served = await serve({ agents: [makeAgent("echo", (turn) => turn.text)] });
  const ada = await served.as("ada");
  let sent = 0;
  const send = async (count: number) => {
    const last = sent + count;
    const one = async () => {
      while (sent < last) {
        sent++;
        await ada.send("echo", "Hello");
      }
    };
    await Promise.all(Array.from({ length: 16 }, one));
  };
  await send(sizes.first);
  const before = heapBytes();
  await send(sizes.then);
  const grown = heapBytes() - before;
  // 96,000 ended tasks of 7.8 kB each grew a process by 750 MB; 4,500 of them would have grown this one by 35, and 1,500 by 12.
  assert.ok(grown < 6_000_000, `${Math.round(grown / 1000)} kB for ${sizes.then} ended tasks`);

  const began = performance.now();
  const { tasks, totalSize } = await ada.list("echo", { pageSize: 50 });
  assert.equal(totalSize, sent);
  assert.equal(tasks.length, 50);
  assert.ok(performance.now() - began < 500, "a list of 50 is not a matter of how many there are");
});

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
