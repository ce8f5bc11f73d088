/** What is to be known of a new suite: whether it holds on many nodes. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { elsewhere, only, suites } from "./suites.ts";

test("each suite of test/e2e and test/crash runs on many nodes too, once, or is said to mean nothing there", () => {
  const files = globSync("{e2e,crash}/*.test.ts", { cwd: join(import.meta.dirname, "..") });
  const there = files.map((file) => file.replaceAll("\\", "/").replace(".test.ts", ""));
  const here = Object.values(suites).flat();
  assert.deepEqual([...here, ...Object.keys(elsewhere)].toSorted(), there.toSorted());
  for (const suite of Object.keys(only)) assert.ok((here as readonly string[]).includes(suite), suite);
});
