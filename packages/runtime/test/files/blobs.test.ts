/** What every blob store promises (files/blob.ts), run against each kind that there is: a real folder, and a real S3-compatible server. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import S3rver from "@20minutes/s3rver";

import { BlobError } from "../../src/files/blob.ts";
import type { Blobs, ByteRange, Intake } from "../../src/files/blob.ts";
import { createBlobFolder } from "../../src/files/folder.ts";
import { createMemoryBlobs } from "../../src/files/memory.ts";
import { createS3Blobs } from "../../src/files/s3.ts";
import type { Blob } from "../../src/store/files.ts";

let made = 0;

function blobOf(bytes: Uint8Array): Blob {
  return { blob: ++made, sha256: createHash("sha256").update(bytes).digest("hex"), size: bytes.length };
}

async function receive(blobs: Blobs, bytes: Uint8Array, piece = 100_000): Promise<Intake> {
  const intake = await blobs.receive();
  for (let from = 0; from < bytes.length; from += piece) {
    // Whoever writes may use its buffer again.
    const chunk = Uint8Array.from(bytes.subarray(from, from + piece));
    await intake.write(chunk);
    chunk.fill(0);
  }
  return intake;
}

async function put(blobs: Blobs, bytes: Uint8Array): Promise<Blob> {
  const blob = blobOf(bytes);
  await using intake = await receive(blobs, bytes);
  await intake.place(blob);
  return blob;
}

async function read(blobs: Blobs, blob: Blob, range?: ByteRange): Promise<Buffer> {
  return Buffer.from(await new Response(await blobs.read(blob, range)).arrayBuffer());
}

const withCode = (code: BlobError["code"]) => (error: unknown) => error instanceof BlobError && error.code === code;

function contract(name: string, open: () => Blobs): void {
  describe(`blobs ${name}`, () => {
    let blobs: Blobs;
    before(() => {
      blobs = open();
    });
    after(() => blobs[Symbol.asyncDispose]());

    for (const size of [0, 1, 300_000]) {
      it(`of ${size} bytes come back as they were`, async () => {
        const bytes = randomBytes(size);
        const blob = await put(blobs, bytes);
        assert.ok((await read(blobs, blob)).equals(bytes));
      });
    }

    it("come back in part", async () => {
      const bytes = randomBytes(700_000);
      const blob = await put(blobs, bytes);
      for (const [first, last] of [
        [0, 0],
        [699_999, 699_999],
        [0, 699_999],
        [262_143, 262_144],
        [1, 500_000],
      ] as const)
        assert.ok(
          (await read(blobs, blob, { first, last })).equals(bytes.subarray(first, last + 1)),
          `${first}-${last}`,
        );
    });

    it("are not there before they are placed, and never when they are not", async () => {
      const bytes = randomBytes(1000);
      const blob = blobOf(bytes);
      {
        await using intake = await receive(blobs, bytes);
        await assert.rejects(read(blobs, blob), withCode("blob.missing"));
        void intake;
      }
      await assert.rejects(read(blobs, blob), withCode("blob.missing"));
    });

    it("may be placed again, by the same or by another, at the same time", async () => {
      const bytes = randomBytes(1000);
      const blob = blobOf(bytes);
      const intakes = await Promise.all([1, 2, 3].map(() => receive(blobs, bytes)));
      await Promise.all(intakes.map((intake) => intake.place(blob)));
      await intakes[0]!.place(blob);
      for (const intake of intakes) await intake[Symbol.asyncDispose]();
      assert.ok((await read(blobs, blob)).equals(bytes));
    });

    it("are gone when they are removed; those that are not there already were", async () => {
      const kept = await put(blobs, Buffer.from("kept"));
      const many = await Promise.all(Array.from({ length: 20 }, (_, n) => put(blobs, Buffer.from(`number ${n}`))));
      await blobs.remove([...many, blobOf(Buffer.from("never"))]);
      await blobs.remove(many);
      for (const blob of many) await assert.rejects(read(blobs, blob), withCode("blob.missing"));
      assert.equal(String(await read(blobs, kept)), "kept");
    });

    it("with the same bytes and another number are others", async () => {
      const bytes = Buffer.from("twice");
      const [one, other] = [await put(blobs, bytes), await put(blobs, bytes)];
      await blobs.remove([one]);
      assert.equal(String(await read(blobs, other)), "twice");
    });

    it("may be left unread, in the middle too", async () => {
      const blob = await put(blobs, randomBytes(3_000_000));
      const unread = await blobs.read(blob);
      await unread.cancel();
      const reader = (await blobs.read(blob)).getReader();
      assert.ok(((await reader.read()).value?.length ?? 0) > 0);
      await reader.cancel();
    });
  });
}

contract("in memory", createMemoryBlobs);

describe("in a folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-blobs-"));
  const root = join(folder, "blobs");
  after(() => rmSync(folder, { recursive: true }));

  contract("in a folder", () => createBlobFolder(root));

  it("nobody else may look, and nothing lies about that was not placed", async () => {
    const blobs = createBlobFolder(root);
    const blob = await put(blobs, Buffer.from("secret"));
    const path = join(root, blob.sha256.slice(0, 2), `${blob.sha256}.${blob.blob}`);
    assert.equal(statSync(path).mode & 0o077, 0);
    assert.equal(statSync(root).mode & 0o077, 0);
    assert.deepEqual(readdirSync(join(root, "incoming")), []);
  });

  it("what a dead process left is removed with the first file; what is young may be another's, and stays", async () => {
    const [old, young] = ["old", "young"].map((name) => join(root, "incoming", name)) as [string, string];
    for (const path of [old, young]) writeFileSync(path, "half");
    const yesterday = Date.now() / 1000 - 90_000;
    utimesSync(old, yesterday, yesterday);
    await put(createBlobFolder(root), Buffer.from("x"));
    assert.deepEqual(readdirSync(join(root, "incoming")), ["young"]);
    rmSync(young);
  });

  it("bytes that are not all there any more are no file", async () => {
    const blobs = createBlobFolder(root);
    const blob = await put(blobs, Buffer.from("a whole file"));
    writeFileSync(join(root, blob.sha256.slice(0, 2), `${blob.sha256}.${blob.blob}`), "a whole");
    await assert.rejects(read(blobs, blob), withCode("blob.failed"));
  });

  it("a folder that cannot be written is said to be so, and works when it can be again", async (t) => {
    if (process.getuid?.() === 0) return t.skip("root may write everywhere");
    const closed = join(folder, "closed");
    const blobs = createBlobFolder(closed);
    await put(blobs, Buffer.from("before"));
    chmodSync(join(closed, "incoming"), 0o500);
    await assert.rejects(put(blobs, Buffer.from("meanwhile")), withCode("blob.failed"));
    chmodSync(join(closed, "incoming"), 0o700);
    await put(blobs, Buffer.from("after"));
    return undefined;
  });
});

describe("in S3-compatible storage", () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-s3-"));
  let server: S3rver;
  let port = 0;
  const options = (url = `http://127.0.0.1:${port}/bucket/some/prefix`) => ({
    url,
    region: "us-east-1",
    accessKeyId: "S3RVER",
    secretAccessKey: "S3RVER",
    incoming: join(folder, "incoming"),
  });

  before(async () => {
    const directory = join(folder, "objects");
    server = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory,
      configureBuckets: [{ name: "bucket" }],
    });
    ({ port } = await server.run());
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  contract("in S3-compatible storage", () => createS3Blobs(options()));

  it("a file comes in to a local one, of which nothing is left", async () => {
    await put(createS3Blobs(options()), randomBytes(10));
    assert.deepEqual(readdirSync(join(folder, "incoming")), []);
  });

  it("a key that is not taken is said to be so, and not tried again", async () => {
    const blobs = createS3Blobs({ ...options(), secretAccessKey: "wrong" });
    await assert.rejects(put(blobs, Buffer.from("x")), (error: BlobError) => {
      assert.equal(error.code, "blob.failed");
      assert.match(error.message, /403/);
      assert.doesNotMatch(error.message, /wrong/);
      return true;
    });
  });

  it("a storage that is busy, or breaks off, is asked again; not for ever", async () => {
    let asked = 0;
    const busy = createServer((request, response) => {
      request.resume();
      if (++asked % 2 === 0) request.socket.destroy();
      else response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>");
    });
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
    const blobs = createS3Blobs(options(`http://127.0.0.1:${(busy.address() as AddressInfo).port}/bucket`));
    await assert.rejects(put(blobs, Buffer.from("x")), withCode("blob.failed"));
    assert.equal(asked, 4);
    busy.closeAllConnections();
    busy.close();
  });

  it("a file is sent with its length, and with the hash that the storage checks", async () => {
    const headers: (string | undefined)[][] = [];
    const taker = createServer((request, response) => {
      if (request.method === "PUT")
        headers.push(
          ["content-length", "x-amz-content-sha256", "transfer-encoding"].map(
            (name) => request.headers[name] as string,
          ),
        );
      request.resume();
      request.on("end", () => response.writeHead(request.method === "HEAD" ? 404 : 200).end());
    });
    await new Promise<void>((resolve) => taker.listen(0, "127.0.0.1", resolve));
    const bytes = randomBytes(300_000);
    const blob = await put(
      createS3Blobs(options(`http://127.0.0.1:${(taker.address() as AddressInfo).port}/bucket`)),
      bytes,
    );
    assert.deepEqual(headers, [["300000", blob.sha256, undefined]]);
    taker.closeAllConnections();
    taker.close();
  });
});
