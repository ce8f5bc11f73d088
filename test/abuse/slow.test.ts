/** Requests that come in slowly, and answers that nobody reads: neither holds a connection, or memory, for longer than it may. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Caller } from "../e2e/callers.ts";
import { Process } from "../e2e/process.ts";
import { Wire } from "./wire.ts";

const MB = 1e6;
const LARGE = 8 * MB;

describe("where requests may take 3 s", () => {
  let runtime: Process;
  let ada: Caller;

  before(async () => {
    runtime = await Process.start({ settings: { requestTimeoutMs: 3_000 } });
    ada = await runtime.as("ada");
  });
  after(() => runtime[Symbol.asyncDispose]());

  it("a body that comes a byte at a time is given up when its time is over: 408", async () => {
    using wire = await Wire.open(runtime.port);
    wire.ask(runtime.port, ada.key, { "content-length": "1000" });
    const began = performance.now();
    while (wire.received === "" && performance.now() - began < 20_000) {
      wire.write(" ");
      await delay(100);
    }
    assert.equal(await wire.status(), 408);
    await wire.closed;
  });

  it("one whose headers come a byte at a time is given up, too: 408", async () => {
    using wire = await Wire.open(runtime.port);
    wire.write("POST /v1/a2a/agents/moods/ HTTP/1.1\r\nX-Slow: ");
    const began = performance.now();
    while (wire.received === "" && performance.now() - began < 20_000) {
      wire.write("x");
      await delay(100);
    }
    assert.equal(await wire.status(), 408);
    await wire.closed;
  });

  const asked = async (count: number): Promise<readonly Wire[]> => {
    const { id } = await ada.send("moods", "x".repeat(LARGE));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } });
    const wires = await Promise.all(Array.from({ length: count }, () => Wire.open(runtime.port)));
    for (const wire of wires) {
      wire.stopReading();
      wire.ask(runtime.port, ada.key, { "content-length": String(body.length) });
      wire.write(body);
    }
    return wires;
  };
  const isWhole = ({ received }: Wire) => received.length > 2 * LARGE;

  it("a large answer that nobody reads is not kept for ever: the connection is closed", async () => {
    const open = (await runtime.metrics()).get("nylorun_connections")!;
    const wires = await asked(10);
    await runtime.measured((figures) => figures.get('nylorun_calls_total{method="GetTask",answer="ok"}') === 10);
    // A client keeps some of its own open.
    await runtime.measured((figures) => figures.get("nylorun_connections")! < open + wires.length / 2);
    // Those that were answered last have their time, too.
    await delay(5_000);
    for (const wire of wires) {
      wire.readOn();
      await wire.closed;
      assert.ok(!isWhole(wire));
    }
  });

  it("one is not cut off while somebody reads it, however slowly", async () => {
    const [wire] = await asked(1);
    using _ = wire;
    // Longer than what may be silent.
    for (let tries = 0; tries < 7; tries++) {
      await delay(1_000);
      await wire!.read(1.5 * MB);
    }
    wire!.readOn();
    await wire!.until(() => isWhole(wire!) || undefined);
  });
});
