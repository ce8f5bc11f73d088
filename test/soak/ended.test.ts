import assert from "node:assert/strict";
import { test } from "node:test";

import { endTasks } from "./ended-tasks.ts";

const skip = process.platform === "linux" ? false : "memory is measured as Linux tells it";

// The same for 96,000: npm run soak -- ended
test("thousands of tasks that have ended leave a process that serves as it was (A33, I12)", { skip }, async () => {
  const { heapBytesEach, residentMb, filesMore, listP99 } = await endTasks(5_000);
  // 96,000 of them grew a process from 60 to 810 MB: by 7.8 kB each.
  assert.ok(heapBytesEach < 1_000, `${heapBytesEach} bytes of the heap for each`);
  assert.ok(residentMb < 400, `${residentMb} MiB`);
  assert.ok(filesMore <= 5, `${filesMore} files more are open`);
  assert.ok(listP99 < 1_000, `a list of 50 takes ${listP99} ms`);
});
