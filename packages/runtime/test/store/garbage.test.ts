import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { Worker } from "node:worker_threads";

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

test("what was needed while the heap was looked at is taken out later, though nothing more happens there", async () => {
  const used = () => getHeapStatistics().used_heap_size;
  using _ = takeOutGarbage();
  const before = used();
  let messages: readonly string[] | undefined = large(150);
  const full = used();
  assert.ok(full > before + 100 * MIB);
  // One collection finds them all alive.
  await delay(5_000);
  assert.equal(messages.length, 150);
  messages = undefined;
  const deadline = performance.now() + 25_000;
  while (used() > before + 32 * MIB) {
    assert.ok(performance.now() < deadline, `${Math.round((used() - before) / MIB)} MiB are still there`);
    await delay(200);
  }
});

test("threads that begin to look after their heaps at the same time do so, each of them", async () => {
  const program = `
    import { takeOutGarbage } from ${JSON.stringify(import.meta.resolve("../../src/store/garbage.ts"))};
    for (let n = 0; n < 200; n++) takeOutGarbage()[Symbol.dispose]();
  `;
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  const ends = Array.from({ length: 4 }, () => once(new Worker(url), "exit"));
  for (const [code] of await Promise.all(ends)) assert.equal(code, 0);
});

/** What is used when so many large messages are there, which nobody refers to afterwards. */
function peakOf(count: number, used: () => number): number {
  const messages = large(count);
  return messages.length === count ? used() : 0;
}

function large(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => JSON.stringify({ text: String(n).padStart(MIB) }));
}
