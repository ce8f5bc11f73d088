/** Tasks that have ended cost no memory, and are listed as fast as ever (A33, I12). */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { defineAgent } from "@nylorun/agents";
import { startRuntime } from "@nylorun/runtime";

const echo = defineAgent({
  id: "echo",
  name: "Echo",
  description: "Says it again.",
  version: "1.0.0",
  skills: [{ id: "echo", name: "Echo", description: "Says it again.", tags: ["text"] }],
  run: (turn) => turn.text,
});

test("thousands of tasks that have ended leave the heap as it was, and a list as fast (A33, I12)", async () => {
  const home = mkdtempSync(join(tmpdir(), "nylorun-memory-"));
  const runtime = await startRuntime({ agents: [echo], home, port: 0, logLevel: "silent" });
  try {
    const authorization = `Bearer ${await runtime.addKey({ role: "subject", subject: "ada" })}`;
    const call = async (method: string, params: object) => {
      const response = await fetch(`${runtime.url}/v1/a2a/agents/echo/`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      return ((await response.json()) as { result: Record<string, unknown> }).result;
    };
    let sent = 0;
    const send = async (count: number) => {
      const last = sent + count;
      const one = async () => {
        while (sent < last) {
          const message = { messageId: `m-${sent++}`, role: "ROLE_USER", parts: [{ text: "Hello" }] };
          assert.ok((await call("SendMessage", { message }))["task"]);
        }
      };
      await Promise.all(Array.from({ length: 16 }, one));
    };
    await send(1500);
    const before = heapBytes();
    await send(4500);
    const grown = heapBytes() - before;
    // 96,000 ended tasks of 7.8 kB each grew a process by 750 MB; 4,500 of them would have grown this one by 35.
    assert.ok(grown < 6_000_000, `${Math.round(grown / 1000)} kB for 4,500 ended tasks`);

    const began = performance.now();
    const page = await call("ListTasks", { pageSize: 50 });
    assert.equal(page["totalSize"], sent);
    assert.equal((page["tasks"] as unknown[]).length, 50);
    assert.ok(performance.now() - began < 500, "a list of 50 is not a matter of how many there are");
  } finally {
    await runtime.stop();
    rmSync(home, { recursive: true });
  }
});

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
