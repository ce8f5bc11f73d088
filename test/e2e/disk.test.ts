/**
 * A disk that fills up under a Runtime: it says so, takes nothing that it could not keep, lets what has begun end, loses nothing, and goes
 * on by itself once there is room.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Task } from "@nylorun/protocol";

import { atOnce, messageOf } from "./callers.ts";
import type { Caller } from "./callers.ts";
import { Process } from "./process.ts";

const MIB = 1024 * 1024;

/** A disk of its own, small enough to fill. */
class SmallDisk implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "nylorun-disk-"));

  static mount(): SmallDisk | undefined {
    const disk = new SmallDisk();
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "nylorun-test", disk.folder], { stdio: "ignore" });
      return disk;
    } catch {
      rmSync(disk.folder, { recursive: true });
      return undefined;
    }
  }

  get free(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Leaves so much free, by one file. */
  leave(bytes: number): void {
    this.clear();
    try {
      writeFileSync(join(this.folder, "ballast"), Buffer.alloc(Math.max(0, this.free - bytes)));
    } catch (error) {
      // Somebody else took the last of it.
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }

  clear(): void {
    rmSync(join(this.folder, "ballast"), { force: true });
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["-l", this.folder]);
    rmSync(this.folder, { recursive: true });
  }
}

describe("a disk that fills up", () => {
  it("is told to callers and to whoever asks whether it is ready; nothing is lost, and it goes on by itself", async (t) => {
    using small = process.platform === "linux" ? SmallDisk.mount() : undefined;
    if (small === undefined) return t.skip("a small disk can be made by root on Linux alone");
    const settings = { minFreeBytes: 16 * MIB, leaseMs: 2_000 };
    const known: string[] = [];
    {
      await using runtime = await Process.start({ folder: small.folder, settings });
      const ada = await runtime.as("ada");
      const first = messageOf("Hello");
      known.push((await sendAs(ada, first)).id);
      const asking = [await ada.send("moods", "ask"), await ada.send("moods", "ask")];
      known.push(...asking.map(({ id }) => id));
      assert.equal(await ready(runtime), 200);

      small.leave(8 * MIB);
      await until(async () => (await ready(runtime)) === 503);
      const refused = await post(runtime, ada, messageOf("Hello"));
      assert.equal(refused.status, 503);
      assert.ok(Number(refused.headers.get("retry-after")) > 0);
      assert.match(await refused.text(), /"store\.full".*disk is full/);
      assert.equal((await sendAs(ada, first)).id, known[0], "what was taken before is answered when it is sent again");
      assert.equal((await ada.get("moods", known[0]!)).status.state, "TASK_STATE_COMPLETED");
      const answered = await sendAs(ada, messageOf("42", { taskId: asking[0]!.id }));
      assert.equal(answered.status.state, "TASK_STATE_COMPLETED", "what has begun may end");
      assert.equal((await ada.list("moods")).totalSize, known.length);

      // Wholly: even what may be written cannot be.
      small.clear();
      await until(async () => (await ready(runtime)) === 200);
      // It ends while nothing can be written of what it made.
      const running = await ada.send("moods", "grow 1500", atOnce);
      known.push(running.id);
      small.leave(0);
      const reply = messageOf("42", { taskId: asking[1]!.id });
      await until(async () => {
        // The database's log may have room in the pages that it has.
        const { status } = await post(runtime, ada, messageOf("x".repeat(100_000)));
        return status === 503;
      });
      const { status } = await post(runtime, ada, { ...reply, parts: [{ text: "4".repeat(4_000_000) }] });
      assert.equal(status, 503, "an answer that cannot be kept is not taken");
      assert.equal((await ada.get("moods", asking[1]!.id)).status.state, "TASK_STATE_INPUT_REQUIRED");
      await delay(4_000);
      assert.equal((await ada.get("moods", running.id)).status.state, "TASK_STATE_WORKING");

      small.clear();
      await until(async () => (await ready(runtime)) === 200);
      assert.equal((await sendAs(ada, reply)).status.state, "TASK_STATE_COMPLETED");
      assert.equal((await ada.until("moods", running.id, "TASK_STATE_COMPLETED")).id, running.id);
      const { id } = await ada.send("moods", "Hello");
      known.push(id);
      await runtime.end("SIGKILL");
    }
    await using runtime = await Process.start({ folder: small.folder, settings });
    const ada = await runtime.as("ada");
    for (const id of known) assert.equal((await ada.get("moods", id)).status.state, "TASK_STATE_COMPLETED", id);
  });
});

async function ready(runtime: Process): Promise<number> {
  const response = await fetch(`${runtime.url}/ready`);
  const { status } = response;
  if (status === 503) assert.match(await response.text(), /"store\.full"/);
  else await response.text();
  return status;
}

function post(runtime: Process, { key }: Caller, message: object): Promise<Response> {
  return fetch(`${runtime.url}/v1/a2a/agents/moods/`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${key}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
    signal: AbortSignal.timeout(20_000),
  });
}

async function sendAs(caller: Caller, message: object): Promise<Task> {
  return (await caller.result<{ task: Task }>("moods", "SendMessage", { message })).task;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, "it did not come to that in 20 s");
    await delay(100);
  }
}
