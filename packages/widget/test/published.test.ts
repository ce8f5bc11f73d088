/** What a page or a package manager gets of the widget. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { Ajv } from "ajv";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const PACKAGE = resolve(import.meta.dirname, "..");
const ROOT = resolve(PACKAGE, "../..");
const read = async (path: string) => await readFile(join(PACKAGE, path), "utf8");

/** For the build of the package and what it needs, in milliseconds. */
const BUILD_TIMEOUT = 120_000;

test("the element is at most 5 kB gzipped, all of it", async () => {
  const script = await read("src/generated/agent-progress.js");
  const size = gzipSync(script, { level: 9 }).length;
  assert.ok(size <= 5000, `${size} bytes`);
  assert.doesNotMatch(script, /\bimport\b|\brequire\b/, "it needs no other file");
});

test("no script of ours uses a timer, the network or a way to write markup", async () => {
  const forbidden =
    /set(?:Timeout|Interval)|requestAnimationFrame|requestIdleCallback|\bfetch\b|XMLHttpRequest|WebSocket|EventSource|sendBeacon|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|DOMParser/;
  for (const path of ["agent-progress.js", "frame-host.js", "frame.html", "mcp-app.ts"]) {
    assert.doesNotMatch(await read(`src/generated/${path}`), forbidden, path);
  }
});

test("custom-elements.json is one", async () => {
  const schema = JSON.parse(
    await readFile(createRequire(import.meta.url).resolve("custom-elements-manifest/schema.json"), "utf8"),
  ) as object;
  const validate = new Ajv({ allowUnionTypes: true, logger: false, strict: false }).compile(schema);
  assert.ok(validate(JSON.parse(await read("custom-elements.json"))), JSON.stringify(validate.errors));
});

test("publint has nothing to say about the package that is published", async () => {
  const out = await mkdtemp(join(tmpdir(), "nylorun-widget-"));
  try {
    const build = spawnSync(process.execPath, [join(ROOT, "scripts/build.ts"), "widget", "--out", out], {
      encoding: "utf8",
      timeout: BUILD_TIMEOUT,
    });
    assert.equal(build.status, 0, build.stderr);
    const pkgDir = join(out, "widget");
    const { messages, pkg } = await publint({ pkgDir, strict: true, pack: false });
    assert.deepEqual(
      messages.map((message) => formatMessage(message, pkg)),
      [],
    );
  } finally {
    await rm(out, { recursive: true, force: true });
  }
});
