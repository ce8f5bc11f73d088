/** kill -9 again and again while files are kept: each version is there once, whole, and downloads as what it is (E7, I1). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { createA2aClient } from "@nylorun/agents/a2a";

import { nylorun, Serving } from "./nylorun.ts";

const agentFile = fileURLToPath(new URL("agents/scribe.ts", import.meta.url));
const rounds = Array.from({ length: 12 }, (_, n) => n);

test("a process that is killed while it keeps files loses none and doubles none", { timeout: 170_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-scribe-"));
  const home = join(folder, "home");
  const auth = (await nylorun(home, "keys", "add", "--subject", "ada")).stdout.trim();
  const urlOf = async (serving: Serving) => `${await serving.url}/v1/a2a/agents/scribe/`;
  let serving = new Serving(home, agentFile);
  try {
    const task = await (await createA2aClient({ url: await urlOf(serving), auth })).send("go");
    let kills = 0;
    for (let pause = 5; kills < 6; pause += 37) {
      await setTimeout(pause);
      await serving.kill();
      kills++;
      serving = new Serving(home, agentFile);
      await serving.url;
      // After three deaths it is held (E17): here it is known who kills it.
      await nylorun(home, "turns", "release", task.id!);
    }
    const agent = await createA2aClient({ url: await urlOf(serving), auth, pollMs: 50 });
    const done = await (await agent.task(task.id!)).done({ signal: AbortSignal.timeout(60_000) });
    t.diagnostic(`${kills} processes were killed`);
    assert.deepEqual(
      done.output,
      rounds.flatMap((n) => [n + 1, n + 1]),
    );
    const [log, pages] = done.files;
    assert.deepEqual([log?.path, log?.version, pages?.path, pages?.version], ["log.txt", 12, "pages", 12]);
    // The client checks size and hash.
    assert.equal(await log!.text(), "11".padEnd(300_000, "."));
    const { entries } = JSON.parse(await pages!.text()) as { entries: { path: string; url: string }[] };
    const one = entries.find(({ path }) => path === "7.txt");
    assert.equal(await (await fetch(one!.url)).text(), "page 7 of 11");

    // On the disk is each content once, and no half of one.
    const blobs = join(home, "blobs");
    const names = readdirSync(blobs).flatMap((name) => (name === "incoming" ? [] : readdirSync(join(blobs, name))));
    const hashes = names.map((name) => name.split(".")[0]!);
    assert.equal(new Set(hashes).size, hashes.length, "one is there twice");
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    for (const n of rounds) {
      assert.ok(hashes.includes(sha256(`${n}`.padEnd(300_000, "."))), `version ${n + 1} is missing`);
      for (let page = 0; page < 20; page++) assert.ok(hashes.includes(sha256(`page ${page} of ${n}`)));
    }
    assert.equal(hashes.length, 12 * 22, "and nothing else is");
  } finally {
    await serving.kill();
    rmSync(folder, { recursive: true });
  }
});
