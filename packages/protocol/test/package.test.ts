import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import vm from "node:vm";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const root = join(import.meta.dirname, "..");

async function bundle(entry: string): Promise<{ code: string; outside: readonly string[] }> {
  const result = await build({
    stdin: { contents: entry, resolveDir: root, loader: "ts" },
    absWorkingDir: root,
    bundle: true,
    format: "iife",
    globalName: "protocol",
    platform: "neutral",
    target: "es2024",
    minify: true,
    metafile: true,
    write: false,
  });
  const inputs = Object.entries(result.metafile.inputs);
  const outside = [
    ...inputs.map(([path]) => path).filter((path) => path !== "<stdin>" && !path.startsWith("src/")),
    ...inputs.flatMap(([, { imports }]) => imports.filter(({ external }) => external).map(({ path }) => path)),
  ];
  return { code: result.outputFiles[0]?.text ?? "", outside };
}

test("the package imports nothing and has no dependencies", async () => {
  const { outside } = await bundle(`export * from "./src/index.ts";`);
  assert.deepEqual(outside, []);
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies"])
    assert.equal(manifest[kind], undefined);
  for await (const path of glob("src/**/*.ts", { cwd: root })) {
    const source = await readFile(join(root, path), "utf8");
    assert.doesNotMatch(source, /from "(?!\.)|\bnode:|\brequire\(|\bimport\(|\bprocess\.|\bBuffer\b|\bconsole\./, path);
  }
});

test("the package builds no code from strings, and asks nothing of what it runs in", async () => {
  for await (const path of glob("src/generated/*.ts", { cwd: root })) {
    assert.doesNotMatch(await readFile(join(root, path), "utf8"), /\beval\b|\bFunction\(/, path);
  }
  const { code } = await bundle(`export * from "./src/index.ts";`);
  // Nothing but the language itself, and code from strings forbidden, as in a page with a strict policy.
  const bare = vm.createContext(Object.create(null) as object, { codeGeneration: { strings: false, wasm: false } });
  vm.runInContext(code, bare);
  const answer = vm.runInContext(
    `(() => {
      const event = protocol.normalizeReport({ task_id: "t", percent: 7, stage: "Stage", status: "running" }, 0);
      const plan = { steps: [{ label: "Find", state: "active" }] };
      const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "Hi" }] } };
      return JSON.stringify([
        protocol.isProgressEvent(event), protocol.isProgressEvent({}), protocol.isProgressData(plan),
        protocol.isInteractionAnswer({ interactionId: "i", approved: true }), protocol.isOpenInteraction({}),
        protocol.isEffectsData({ uncertain: "e" }), protocol.isTelemetryData({}), protocol.isFilesData({}),
        protocol.parseParams("SendMessage", params).message.parts[0].text,
      ]);
    })()`,
    bare,
  ) as string;
  assert.deepEqual(JSON.parse(answer), [true, false, true, true, false, true, false, false, "Hi"]);
});

test("a page that draws events loads the code for that alone", async () => {
  const { code } = await bundle(
    `export { isProgressEvent, nextShown, plainText, shownPercent } from "./src/index.ts";`,
  );
  const size = gzipSync(code).byteLength;
  assert.ok(size < 3_000, `${size} bytes`);
  assert.doesNotMatch(code, /interactionId|sha256|ROLE_USER|TASK_NOT_FOUND/);
});
