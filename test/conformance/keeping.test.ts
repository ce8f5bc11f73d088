/** How long things are kept, and where that is written: A2A 1.0, sections 3.4.1 and 13. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { actor } from "./agents.ts";
import { serve } from "./wire.ts";

const DOCS = resolve(import.meta.dirname, "../../docs");

describe("what has ended", () => {
  // keeps: a2a-13.4-retention
  it("is forgotten when its time is over, and what waits is not", { timeout: 60_000 }, async () => {
    await using served = await serve({ agents: [actor], turnRetentionMs: 1_000, journalRetentionMs: 1_000 });
    const ada = await served.as("ada");
    const waits = await ada.send("actor", "ask");
    const { id } = await ada.send("actor", "Hello");
    const deadline = performance.now() + 45_000;
    while ((await ada.code("actor", "GetTask", { id })) !== -32001) {
      assert.ok(performance.now() < deadline, "after 45 s it is still there");
      await delay(100);
    }
    const { tasks, totalSize } = await ada.list("actor");
    assert.deepEqual([tasks.map((task) => task.id), totalSize], [[waits.id], 1]);
  });

  // keeps: a2a-3.4.1-policy, a2a-13.1-documented
  it("is documented: how long it is kept, and who sees it", () => {
    const [settings, operate, profile] = ["reference/settings.md", "operate.md", "a2a/profile/v2.md"].map((page) =>
      readFileSync(join(DOCS, page), "utf8"),
    ) as [string, string, string];
    for (const name of ["turnRetentionMs", "journalRetentionMs", "messageDedupeMs"]) {
      assert.match(settings, new RegExp(`^## ${name}$`, "m"));
    }
    assert.match(operate, /^## Deleting$/m);
    assert.match(profile, /belongs to another subject or agent, is malformed, or never was, is the same -32001/);
  });
});
