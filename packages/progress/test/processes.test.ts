import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

import { isProgressEvent } from "@nylorun/protocol";

import { parseRecord } from "../src/record.ts";
import { FILE } from "./events.ts";
import { newFolder } from "./folder.ts";

const WRITER = fileURLToPath(new URL("writer.ts", import.meta.url));
const PROCESSES = 8;
const RECORDS = 10_000;

interface Writer {
  readonly name: string;
  /** How many records were acknowledged, once it has ended; and whether it was killed. */
  readonly ended: Promise<{ readonly acknowledged: number; readonly killed: boolean }>;
}

/** @param killAfter Kills it once it has told of so many records. */
function startWriter(folder: string, name: string, killAfter: number): Writer {
  const child = spawn(process.execPath, [WRITER, folder, name, String(RECORDS)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let acknowledged = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (said + text).split("\n");
    said = lines.pop()!;
    acknowledged += lines.length;
    if (acknowledged >= killAfter) child.kill("SIGKILL");
  });
  return {
    name,
    ended: once(child, "close").then(([code, signal]) => {
      assert.ok(code === 0 || signal === "SIGKILL", `${name} ended with ${code ?? signal}`);
      return { acknowledged, killed: signal === "SIGKILL" };
    }),
  };
}

// keeps: progress-sink-append
it("keeps every acknowledged record of eight processes that append at once, two of them killed", async (t) => {
  const folder = newFolder();
  const writers = Array.from({ length: PROCESSES }, (_, index) =>
    startWriter(folder, `writer${index}`, index < 2 ? Math.ceil(Math.random() * RECORDS * 0.8) : Infinity),
  );
  const outcomes = await Promise.all(writers.map((writer) => writer.ended));

  const found = new Map<string, number>();
  let torn = 0;
  const text = readFileSync(join(folder, FILE), "utf8");
  for (const line of text.split("\n").slice(0, -1)) {
    const record = parseRecord(line);
    if (record === undefined) torn++;
    else {
      assert.ok(isProgressEvent(record));
      assert.equal(record.message ?? "", "·".repeat((Number(record.task_id.split(":")[1]) * 37) % 280));
      found.set(record.task_id, (found.get(record.task_id) ?? 0) + 1);
    }
  }
  const tail = text.endsWith("\n") ? 0 : 1;
  const kills = outcomes.filter(({ killed }) => killed).length;
  const acknowledged = outcomes.reduce((sum, outcome) => sum + outcome.acknowledged, 0);
  t.diagnostic(`${acknowledged} acknowledged, ${found.size} found, ${kills} killed, ${torn + tail} torn`);

  assert.equal(kills, 2, "a writer was done before it could be killed");
  assert.ok(torn + tail <= kills);
  for (const [index, { name }] of writers.entries()) {
    const { acknowledged: count, killed } = outcomes[index]!;
    assert.ok(killed || count === RECORDS);
    for (let number = 0; number < count; number++) assert.equal(found.get(`${name}:${number}`), 1);
  }
  // A record that nobody was told of may be there, once.
  assert.ok(found.size <= acknowledged + kills);
  assert.ok(found.values().every((times) => times === 1));
});
