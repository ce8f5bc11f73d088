/** kill -9 again and again while files are kept: each version is there once, whole, and downloads as what it is (E7, I1). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { createA2aClient } from "@nylorun/agents/a2a";

import { databaseUrl, startNodes } from "../cluster/nodes.ts";

const agentFile = fileURLToPath(new URL("agents/scribe.ts", import.meta.url));
const rounds = Array.from({ length: 12 }, (_, n) => n);
/** Where nodes share a database, each waits for a lease to end. */
const deaths = databaseUrl === undefined ? 6 : 4;

test("a process that is killed while it keeps files loses none and doubles none", { timeout: 170_000 }, async (t) => {
  await using resources = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "nylorun-scribe-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  const pid = join(folder, "pid");
  const nodes = resources.use(await startNodes({ folder, agents: agentFile, env: { SCRIBE_PID: pid } }));
  const auth = await nodes.key("ada");
  const client = () => createA2aClient({ url: `${nodes.url}/v1/a2a/agents/scribe/`, auth, pollMs: 50 });
  const task = await (await client()).send("go");

  /** The node that is at work, once one is; undefined: the work is done. */
  const worker = async (): Promise<number | undefined> => {
    for (const deadline = performance.now() + 30_000; ; await setTimeout(50)) {
      assert.ok(performance.now() < deadline, "after 30 s nobody is at work");
      const [turn] = await nodes.records.turns();
      if (turn?.state === "completed") return undefined;
      // After three deaths it is held (E17): here it is known who kills it.
      if (turn?.state === "held") await nodes.run("turns", "release", task.id!);
      const found = existsSync(pid) ? nodes.nodeOf(Number(readFileSync(pid, "utf8"))) : undefined;
      if (found !== undefined) return found;
    }
  };
  for (let kills = 0; kills < deaths; kills++) {
    const n = await worker();
    assert.ok(n !== undefined, `the work was done after ${kills} deaths`);
    await setTimeout(5 + 37 * kills);
    await nodes.node(n).kill();
    await nodes.revive();
  }
  const agent = await client();
  await worker();
  const done = await (await agent.task(task.id!)).done({ signal: AbortSignal.timeout(60_000) });
  t.diagnostic(`${deaths} processes were killed`);
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
  const names = readdirSync(nodes.blobs).flatMap((name) =>
    name === "incoming" ? [] : readdirSync(join(nodes.blobs, name)),
  );
  const hashes = names.map((name) => name.split(".")[0]!);
  assert.equal(new Set(hashes).size, hashes.length, "one is there twice");
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  for (const n of rounds) {
    assert.ok(hashes.includes(sha256(`${n}`.padEnd(300_000, "."))), `version ${n + 1} is missing`);
    for (let page = 0; page < 20; page++) assert.ok(hashes.includes(sha256(`page ${page} of ${n}`)));
  }
  assert.equal(hashes.length, 12 * 22, "and nothing else is");
});
