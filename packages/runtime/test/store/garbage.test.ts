import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";

import { takeOutGarbage } from "../../src/store/garbage.ts";

const MIB = 1024 * 1024;

test("what large messages leave in a heap is taken out, though nothing more happens there", async () => {
  const used = () => getHeapStatistics().used_heap_size;
  using _ = takeOutGarbage();
  const before = used();
  assert.ok(peakOf(200, used) > before + 200 * MIB);
  const deadline = performance.now() + 15_000;
  while (used() > before + 64 * MIB) {
    assert.ok(performance.now() < deadline, `${Math.round((used() - before) / MIB)} MiB are still there`);
    await delay(200);
  }
});

/** What is used when so many large messages are there, which nobody refers to afterwards. */
function peakOf(count: number, used: () => number): number {
  const messages = Array.from({ length: count }, (_, n) => JSON.stringify({ text: String(n).padStart(MIB) }));
  return messages.length === count ? used() : 0;
}
