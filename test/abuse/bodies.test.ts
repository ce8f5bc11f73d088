/**
 * Bodies that are too large, of too many parts, or too deep: what each gets, that others are served
 * meanwhile, and that the memory is given back.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { ListTasksResponse } from "@nylorun/protocol";

import type { Caller } from "../e2e/callers.ts";
import { Process } from "../e2e/process.ts";
import { Wire } from "./wire.ts";

const MB = 1e6;
const MIB = 1024 * 1024;
const LIMIT = 8 * MIB;
const linux = process.platform === "linux";

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe("a body", { skip: linux ? false : "memory is measured as Linux tells it" }, () => {
  let runtime: Process;
  let ada: Caller;
  let bob: Caller;
  let heap: number;

  before(async () => {
    // An allocator that gives back what is large: what is measured is what the Runtime keeps.
    runtime = await Process.start({ inspected: true, env: { MALLOC_MMAP_THRESHOLD_: String(MIB) } });
    [ada, bob] = [await runtime.as("ada"), await runtime.as("bob")];
    for (let count = 0; count < 200; count++) await bob.send("moods", "Hello");
    heap = (await runtime.heap()).used;
  });
  after(() => runtime[Symbol.asyncDispose]());

  const post = async (body: string): Promise<Answered> => {
    const response = await fetch(`${runtime.url}/v1/a2a/agents/moods/`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${ada.key}` },
      body,
      signal: AbortSignal.timeout(60_000),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const message = (parts: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"${crypto.randomUUID()}","role":"ROLE_USER","parts":[${parts}]}}}`;
  const refusal = ({ text }: Answered) => {
    const { error } = JSON.parse(text) as {
      error?: { code: number; data: { fieldViolations?: { field: string }[] }[] };
    };
    return [error?.code, error?.data.at(-1)?.fieldViolations?.[0]?.field];
  };

  it("of 20 MB is refused with the limit before it is sent: 413", async () => {
    using wire = await Wire.open(runtime.port);
    wire.ask(runtime.port, ada.key, { "content-length": String(20 * MB) });
    assert.equal(await wire.status(), 413);
    assert.match(wire.received, /"code":"request\.tooLarge".*"limit":8388608/);
  });

  it("of 20 MB in chunks is read no further than the limit: 413", async () => {
    using wire = await Wire.open(runtime.port);
    wire.ask(runtime.port, ada.key, { "transfer-encoding": "chunked" });
    const chunk = Buffer.from(`10000\r\n${"x".repeat(0x10000)}\r\n`);
    let sent = 0;
    for (; sent < 20 * MB && wire.received === ""; sent += 0x10000) {
      wire.write(chunk);
      await delay(0);
    }
    assert.equal(await wire.status(), 413);
  });

  it("without a key is not read: 401", async () => {
    using wire = await Wire.open(runtime.port);
    wire.ask(runtime.port, "nobody's", { "content-length": String(LIMIT) });
    assert.equal(await wire.status(), 401);
  });

  it("with a million parts is refused for their number: -32602", async () => {
    const answer = await post(message(`${"{},".repeat(1e6)}{}`));
    assert.deepEqual(refusal(answer), [-32602, "message.parts"]);
  });

  it("10,000 levels deep is refused for its depth, and so is one of millions: -32602", async () => {
    for (const depth of [10_000, 4_000_000]) {
      const answer = await post(message(`{"data":${"[".repeat(depth)}${"]".repeat(depth)}}`));
      assert.deepEqual(refusal(answer), [-32602, "message.parts[0].data"], String(depth));
    }
  });

  describe("of the largest size, 16 times at once", () => {
    const large = `{"text":"${"x".repeat(LIMIT - 1000)}"}`;
    let taken = 0;

    /** Memory goes back to the system in steps, after a while. */
    const settled = async (bytes: number) => {
      let least = runtime.residentBytes;
      for (let tries = 0; tries < 60 && least > bytes; tries++) {
        await delay(500);
        least = Math.min(least, runtime.residentBytes);
      }
      return least;
    };

    const all = async () => {
      const answers = await Promise.all(Array.from({ length: 16 }, () => post(message(large))));
      for (const { status, headers, text } of answers) {
        if (status === 503) assert.ok(Number(headers.get("retry-after")) > 0);
        else assert.equal(status, 200, text.slice(0, 200));
      }
      const stored = answers.filter(({ status, text }) => status === 200 && text.includes('"TASK_STATE_COMPLETED"'));
      assert.ok(stored.length >= 6, `${stored.length} of 16 were taken`);
      taken += stored.length;
    };

    it("is taken as far as there is room, and refused for now beyond that (503); nothing that was taken is lost", async () => {
      await all();
      assert.equal((await ada.list("moods", { historyLength: 0, pageSize: 1 })).totalSize, taken);
    });

    it("comes in pages that hold as much as may be made at once, to the last one", async () => {
      const ids = new Set<string>();
      let pageToken = "";
      do {
        const page: ListTasksResponse = await ada.list("moods", { pageSize: 100, ...(pageToken && { pageToken }) });
        assert.equal(page.tasks.length, 1, "one of these is more than a page holds");
        for (const { id } of page.tasks) ids.add(id);
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      assert.equal(ids.size, taken);
    });

    it("is read by nobody, many times: of the answers no more are kept than memory is meant for", async () => {
      const [task] = (await ada.list("moods", { pageSize: 1, historyLength: 0 })).tasks;
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: task!.id } });
      const open = (await runtime.metrics()).get("nylorun_connections")!;
      const wires = await Promise.all(Array.from({ length: 30 }, () => Wire.open(runtime.port)));
      for (const wire of wires) {
        wire.stopReading();
        wire.ask(runtime.port, ada.key, { "content-length": String(body.length) });
        wire.write(body);
      }
      await runtime.measured((figures) => figures.get('nylorun_calls_total{method="GetTask",answer="ok"}') === 30);
      // 256 MiB of 16 MiB each.
      await runtime.measured((figures) => figures.get("nylorun_connections")! <= open + 16);
      const kept = await settled(900 * MIB);
      assert.ok(kept < 900 * MIB, `${(kept / MIB).toFixed()} MiB`);
      for (const wire of wires) wire[Symbol.dispose]();
      await runtime.measured((figures) => figures.get("nylorun_connections")! <= open);
    });

    it("leaves no more behind the second time", async () => {
      const first = await settled(400 * MIB);
      await all();
      const second = await settled(400 * MIB);
      // The database's caches, and what may be there before garbage is taken out.
      for (const bytes of [first, second]) assert.ok(bytes < 450 * MIB, `${(bytes / MIB).toFixed()} MiB`);
    });
  });

  it("of any of these kinds leaves the heap as it was, and others served", async () => {
    const began = performance.now();
    assert.equal((await bob.send("moods", "Hello")).status.state, "TASK_STATE_COMPLETED");
    assert.ok(performance.now() - began < 5_000);
    const { used } = await runtime.heap();
    assert.ok(used < heap + 8 * MIB, `${(heap / MIB).toFixed(1)} MiB before, ${(used / MIB).toFixed(1)} after`);
  });
});
