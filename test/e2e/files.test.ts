/** Large files through a Runtime: neither it nor its caller holds them, and the caller knows that they are what they were (I12). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { createA2aClient } from "@nylorun/agents/a2a";

import { startNodes } from "../cluster/nodes.ts";
import type { Nodes } from "../cluster/nodes.ts";

const MIB = 1024 ** 2;
const SIZE = 100 * MIB;

/** Bytes that are never all there: piece by piece, each another one. */
function* pieces(): Generator<Buffer> {
  const piece = Buffer.alloc(256 * 1024);
  for (let n = 0; n * piece.length < SIZE; n++) {
    piece.fill(n % 251);
    piece.writeUInt32LE(n);
    yield piece;
  }
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

describe("100 MiB in and out", { timeout: 180_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-files-"));
  const resources = new AsyncDisposableStack();
  resources.defer(() => rmSync(folder, { recursive: true }));
  const hash = createHash("sha256");
  for (const piece of pieces()) hash.update(piece);
  const sha256 = hash.digest("hex");
  let nodes: Nodes;
  let url: string;
  let key: string;

  before(async () => {
    const origin = createServer((_, response) => {
      response.writeHead(200, { "content-length": SIZE, "content-type": "application/octet-stream" });
      const all = pieces();
      const more = () => {
        for (let next = all.next(); !next.done; next = all.next()) {
          // Written before the next one is made of the same memory.
          if (!response.write(Uint8Array.from(next.value))) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
    await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
    resources.defer(() => {
      origin.closeAllConnections();
      origin.close();
    });
    url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/large.bin`;
    const agents = fileURLToPath(new URL("agents/courier.ts", import.meta.url));
    nodes = resources.use(await startNodes({ folder, agents, env: { NYLORUN_FILE_HOSTS: "http://127.0.0.1:*" } }));
    key = await nodes.key("ada");
  });

  after(() => resources.disposeAsync());

  test("cost the Runtime less than 50 MB, and arrive as they were (I12)", async (t) => {
    if (!existsSync("/proc/self/status")) return t.skip("only Linux says what a process has in memory");
    const agent = await createA2aClient({ url: `${nodes.url}/v1/a2a/agents/courier/`, auth: key });
    // What it takes to do this at all: code that is loaded and made ready, connections that are kept.
    for (let n = 0; n < nodes.count ** 2; n++) {
      const small = await agent.send([{ raw: Buffer.from("small").toString("base64"), filename: "small.bin" }]);
      assert.equal(await (await small.done()).files[0]!.text(), "small");
    }

    const pids = Array.from({ length: nodes.count }, (_, n) => nodes.node(n).pid);
    const idle = pids.map(residentBytes);
    let grown = 0;
    const watch = setInterval(() => {
      for (const [n, pid] of pids.entries()) grown = Math.max(grown, residentBytes(pid) - idle[n]!);
    }, 10);
    const task = await agent.send([{ url }]);
    const [file] = (await task.done({ signal: AbortSignal.timeout(120_000) })).files;
    assert.deepEqual([file?.name, file?.size, file?.sha256, file?.version], ["large.bin", SIZE, sha256, 1]);
    // The client hashes it on the way, and fails when it is another.
    let length = 0;
    const reader = (await file!.stream()).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) length += next.value.length;
    assert.equal(length, SIZE);
    clearInterval(watch);
    t.diagnostic(`resident memory grew by ${(grown / 1e6).toFixed(1)} MB`);
    assert.ok(grown < 50e6, `it grew by ${Math.round(grown / 1e6)} MB`);
    return undefined;
  });

  test("that change on their way are found out by the caller", async () => {
    const blobs = join(nodes.blobs, sha256.slice(0, 2));
    const name = readdirSync(blobs).find((one) => one.startsWith(sha256));
    const file = openSync(join(blobs, name!), "r+");
    writeSync(file, Buffer.from("changed"), 0, 7, 50 * MIB);
    closeSync(file);
    const agent = await createA2aClient({ url: `${nodes.url}/v1/a2a/agents/courier/`, auth: key });
    for await (const task of agent.tasks({ artifacts: true })) {
      const large = task.files.find(({ size }) => size === SIZE);
      if (large === undefined) continue;
      await assert.rejects(
        (async () => {
          for await (const chunk of await large.stream()) void chunk;
        })(),
        { code: "file.changed" },
      );
      return;
    }
    assert.fail("there is no such task");
  });
});
