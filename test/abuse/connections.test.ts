/** Ten thousand connections on which nothing is asked keep nobody out, cost little, and leave nothing behind. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { Process } from "../e2e/process.ts";
import { Wire } from "./wire.ts";

/** Files that a process may have open; the server's limit is ours. */
const files = process.platform === "linux" ? Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" })) : 0;
/** As many as the machine allows. */
const count = Math.min(10_000, files - 1_000);

describe("idle connections", { skip: count < 500 ? `only ${files} files may be open` : false }, () => {
  it(`of ${count} that are opened, the oldest go when there are more than may be, and others are served`, async () => {
    await using runtime = await Process.start({ inspected: true, settings: { maxConnections: count - 200 } });
    const bob = await runtime.as("bob");
    for (let sent = 0; sent < 100; sent++) await bob.send("moods", "Hello");
    const before = { heap: await runtime.heap(), files: runtime.openFiles, bytes: runtime.residentBytes };
    const wires: Wire[] = [];
    while (wires.length < count) {
      wires.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(100, count - wires.length) }, () => Wire.open(runtime.port)),
        )),
      );
    }
    const open = await runtime.measured((figures) => figures.get("nylorun_connections") === count - 200);
    assert.ok(open.get("nylorun_connections"));
    assert.ok(runtime.residentBytes - before.bytes < count * 20_000, "a connection costs no more than 20 kB");

    const began = performance.now();
    assert.equal((await bob.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED");
    assert.ok(performance.now() - began < 5_000);
    const closed = wires.filter((wire) => !wire.isOpen);
    assert.ok(closed.length >= 200 && closed.length < 300, `${closed.length} were closed`);
    assert.ok(
      closed.every((wire) => wires.indexOf(wire) < 300),
      "those that were there first",
    );

    for (const wire of wires) wire[Symbol.dispose]();
    await runtime.measured((figures) => figures.get("nylorun_connections")! < 10);
    assert.ok(runtime.openFiles <= before.files + 10, `${before.files} files were open, ${runtime.openFiles} are`);
    const { used } = await runtime.heap();
    assert.ok(used < before.heap.used + 8e6, `${before.heap.used} bytes before, ${used} after`);
  });
});
