/** Where a Runtime keeps its files, as its settings say. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import S3rver from "@20minutes/s3rver";
import { defineAgent } from "@nylorun/agents";
import { createA2aClient } from "@nylorun/agents/a2a";

import { startRuntime } from "../../src/index.ts";
import type { SomeSettings } from "../../src/node/settings.ts";

const maker = defineAgent({
  id: "maker",
  name: "Maker",
  description: "Makes a file.",
  version: "1.0.0",
  skills: [{ id: "make", name: "Make", description: "Makes.", tags: ["files"] }],
  async run(turn) {
    await turn.file("report.txt", turn.text);
  },
});

describe("a Runtime keeps files", () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-kept-"));
  after(() => rmSync(folder, { recursive: true }));

  /** Has a file made, downloads it, and has its task deleted. */
  async function made(home: string, settings: SomeSettings, look: () => number): Promise<void> {
    const runtime = await startRuntime({ agents: [maker], home, port: 0, logLevel: "silent", ...settings });
    try {
      const auth = await runtime.addKey({ role: "subject", subject: "ada" });
      const agent = await createA2aClient({ url: `${runtime.url}/v1/a2a/agents/maker/`, auth });
      const { files } = await (await agent.send("kept")).done();
      assert.equal(await files[0]!.text(), "kept");
      const part = await fetch(files[0]!.url!, { headers: { range: "bytes=1-2" } });
      assert.equal(await part.text(), "ep");
      assert.equal(look(), 1);
    } finally {
      await runtime.stop();
    }
  }

  it("in its home when nothing is said", async () => {
    const home = join(folder, "plain");
    await made(home, {}, () => readdirSync(join(home, "blobs")).filter((name) => name !== "incoming").length);
  });

  it("in a folder that is named, which others may share", async () => {
    const shared = join(folder, "shared");
    const home = join(folder, "named");
    await made(home, { fileFolder: shared }, () => readdirSync(shared).filter((name) => name !== "incoming").length);
    assert.equal(existsSync(join(home, "blobs")), false);
  });

  it("in S3-compatible storage", async () => {
    const server = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory: join(folder, "s3"),
      configureBuckets: [{ name: "bucket" }],
    });
    const { port } = await server.run();
    const settings = {
      s3Url: `http://127.0.0.1:${port}/bucket/files`,
      s3Region: "us-east-1",
      s3AccessKeyId: "S3RVER",
      s3SecretAccessKey: "S3RVER",
    };
    const home = join(folder, "stored");
    const objects = () =>
      readdirSync(join(folder, "s3"), { recursive: true }).filter((name) => String(name).endsWith("_object")).length;
    await made(home, settings, objects);
    assert.equal(existsSync(join(home, "blobs")), false);
    await server.close();
  });

  it("and says at its start what is missing to do so", async () => {
    const options = { agents: [maker], home: join(folder, "none"), port: 0, logLevel: "silent" } as const;
    await assert.rejects(startRuntime({ ...options, s3Url: "https://s3.example.com/bucket" }), {
      code: "setting.invalid",
      message: /NYLORUN_S3_ACCESS_KEY_ID/,
    });
  });
});
