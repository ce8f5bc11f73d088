/** Ten thousand calls that wait, and thousands of contexts of one subject: others are served as if they were not there. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, it } from "node:test";

import type { Caller } from "../e2e/callers.ts";
import { atOnce, messageOf } from "../e2e/callers.ts";
import { Process } from "../e2e/process.ts";
import { Wire } from "./wire.ts";

/** Files that a process may have open; the server's limit is ours. */
const files = process.platform === "linux" ? Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" })) : 0;
/** As many as the machine allows. */
const count = Math.min(10_000, files - 1_000);
const skip = count < 500 ? `only ${files} files may be open` : false;

/** p99 of GetTask, in milliseconds. */
async function latency(caller: Caller): Promise<number> {
  const { id } = await caller.send("moods", "Hello");
  const taken: number[] = [];
  for (let asked = 0; asked < 100; asked++) {
    const began = performance.now();
    await caller.get("moods", id);
    taken.push(performance.now() - began);
  }
  return taken.toSorted((one, other) => one - other)[98]!;
}

describe("calls that wait", { skip }, () => {
  it(`${count} of them cost little memory and nobody else's time; when their callers hang up, the tasks stay`, async () => {
    await using runtime = await Process.start({
      inspected: true,
      settings: { maxConnections: count + 500, subjectOpenWaits: count, subjectQueuedTurns: count },
    });
    const [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    for (let sent = 0; sent < 100; sent++) await bob.send("moods", "Hello");
    const was = { heap: (await runtime.heap()).used, files: runtime.openFiles };

    const wires: Wire[] = [];
    while (wires.length < count) {
      const more = await Promise.all(
        Array.from({ length: Math.min(100, count - wires.length) }, () => Wire.open(runtime.port)),
      );
      for (const wire of more) {
        const body = JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "SendMessage",
          params: { message: messageOf("sleep") },
        });
        wire.ask(runtime.port, ada.key, { "content-length": String(body.length) });
        wire.write(body);
      }
      wires.push(...more);
    }
    await runtime.measured((figures) => figures.get("nylorun_waits") === count);
    await runtime.measured((figures) => figures.get('nylorun_turns{state="working"}') === count);
    await runtime.measured((figures) => figures.get("nylorun_turns_running") === 0);
    const { used } = await runtime.heap();
    assert.ok((used - was.heap) / count < 20_000, `a wait takes ${Math.round((used - was.heap) / count)} bytes`);
    const p99 = await latency(bob);
    assert.ok(p99 < 500, `GetTask takes ${p99} ms`);

    for (const wire of wires) wire[Symbol.dispose]();
    await runtime.measured((figures) => figures.get("nylorun_waits") === 0);
    assert.equal((await ada.list("moods", { status: "TASK_STATE_WORKING", pageSize: 1 })).totalSize, count);
    assert.ok(runtime.openFiles <= was.files + 10, `${was.files} files were open, ${runtime.openFiles} are`);
    const left = (await runtime.heap()).used;
    assert.ok(left < was.heap + 8e6, `${was.heap} bytes before, ${left} after`);
  });
});

describe("many contexts of one subject", { skip }, () => {
  const queued = 2_000;
  let runtime: Process;
  let ada: Caller;
  let bob: Caller;

  before(async () => {
    runtime = await Process.start({ settings: { maxRunningTurns: 8, subjectQueuedTurns: queued } });
    [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
  });
  after(() => runtime[Symbol.asyncDispose]());

  it("wait for one another, and nobody else for them; more than may wait are refused (SUBJECT_QUEUE_FULL)", async () => {
    let sent = 0;
    const send = async () => {
      while (sent++ < queued - 50) await ada.send("moods", "work 100", atOnce);
    };
    await Promise.all(Array.from({ length: 32 }, send));
    const figures = await runtime.metrics();
    assert.ok(
      figures.get("nylorun_queue_contexts")! > queued / 4,
      `only ${figures.get("nylorun_queue_contexts")} wait`,
    );
    const began = performance.now();
    assert.equal((await bob.send("moods", "work 100")).status.state, "TASK_STATE_COMPLETED");
    const took = performance.now() - began;
    const left = (await runtime.metrics()).get("nylorun_queue_contexts")!;
    assert.ok(left > 100, "many of the first subject wait still");
    assert.ok(took < 5_000, `it took ${took} ms, of which 100 are its own work`);

    let refused: unknown;
    for (let more = 0; more < queued && refused === undefined; more++) {
      const { error } = await ada.call("moods", "SendMessage", { message: messageOf("work 100"), ...atOnce });
      refused = error;
    }
    const { code, data } = refused as { code: number; data: [{ reason: string }] };
    assert.deepEqual([code, data[0].reason], [-32004, "SUBJECT_QUEUE_FULL"]);
    assert.equal((await bob.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED");
  });
});
