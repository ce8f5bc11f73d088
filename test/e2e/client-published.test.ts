/**
 * The client as it is published: packed, and installed from the tarballs into an empty project. Its types to a strict program and to
 * attw, its manifest to publint, and a program that uses all of it in Node, Bun and workerd, and in Deno where there is one.
 */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import type { Problem } from "@arethetypeswrong/core";
import { publint } from "publint";

import { bundleProgram, EXPECTED, programWith } from "./built-client.ts";
import type { Found } from "./built-client.ts";
import { serve } from "./callers.ts";
import { everyWord, signedDelivery, signingKey } from "./every-word.ts";
import { installPacked, MODULES } from "./packed.ts";
import type { Packed } from "./packed.ts";

/** The runtimes whose binaries npm installs along on Linux. */
const PINNED = {
  bun: join(MODULES, "@oven/bun-linux-x64-baseline/bin/bun"),
  workerd: join(MODULES, "@cloudflare/workerd-linux-64/bin/workerd"),
};
const has = (command: string) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;
const pinnedOr = (name: keyof typeof PINNED) => (existsSync(PINNED[name]) ? PINNED[name] : name);
const [bun, workerd] = [pinnedOr("bun"), pinnedOr("workerd")];

/** Where they are installed, their absence is a failure and no reason to skip. */
const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
const arePinnedHere =
  process.platform === "linux" && process.arch === "x64" && header.glibcVersionRuntime !== undefined;
const missing = (name: string, command: string) => !arePinnedHere && !has(command) && `There is no ${name} here.`;

/** What can be imported. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "@nylorun/protocol": ["."],
  "@nylorun/agents": [".", "./a2a"],
};

/** As a program of a command line. */
const SCRIPT = `
  const given = JSON.parse(globalThis.Deno === undefined ? process.argv[2] : Deno.args[0]);
  console.log(JSON.stringify(await check(given)));`;

/** As a worker that is asked over HTTP. */
const WORKER = `
  export default { async fetch(request) { return Response.json(await check(await request.json())); } };`;

describe("the published client", { timeout: 180_000 }, () => {
  const resources = new AsyncDisposableStack();
  let folder: string;
  let packed: Packed;
  let handed: { url: string; key: string };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "nylorun-elsewhere-"));
    resources.defer(() => rmSync(folder, { recursive: true }));
    packed = installPacked(folder, "agents");
    const served = resources.use(await serve({ agents: [everyWord] }));
    const key = await served.runtime.addKey({ role: "subject", subject: "ada" });
    handed = { url: `${served.runtime.url}/v1/a2a/agents/every-word/`, key };
  });

  after(() => resources.disposeAsync());

  const given = () => JSON.stringify({ ...handed, delivery: signedDelivery(), privateKey: signingKey() });

  function check(found: Found): void {
    const { states, hasBuffer } = found;
    assert.deepEqual(found, { ...EXPECTED, states, hasBuffer });
    assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
  }

  /** @param script Of the project; what it imports is found where npm has installed it, or is in it. */
  async function runScript(command: string, script: string, ...args: readonly string[]): Promise<Found> {
    const file = join(packed.project, `${process.hrtime.bigint()}.mjs`);
    writeFileSync(file, script);
    const { stdout } = await promisify(execFile)(command, [...args, file, given()], { timeout: 60_000 });
    return JSON.parse(stdout) as Found;
  }

  test("has types that a strict program may check, with a page's globals and with Node's", async () => {
    const consumer = packed.project;
    copyFileSync(join(import.meta.dirname, "strict-consumer.ts"), join(consumer, "program.ts"));
    const page = ["es2025", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"];
    for (const [types, lib] of [
      [[], page],
      [["node"], ["es2025", "esnext.disposable"]],
    ] as const) {
      const strict = {
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
      };
      const typeRoots = [join(MODULES, "@types")];
      const compilerOptions = { target: "es2024", module: "nodenext", lib, types, typeRoots, ...strict, noEmit: true };
      writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
      const tsc = join(MODULES, "typescript/bin/tsc");
      const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", consumer], { encoding: "utf8" });
      assert.equal(status, 0, `with ${types.join() || "no types"}:\n${stdout}`);
    }
  });

  test("has manifests that publint has nothing against", async () => {
    for (const [name, file] of packed.tarballs) {
      const { buffer } = new Uint8Array(readFileSync(file));
      const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
      assert.deepEqual(messages, [], name);
    }
  });

  test("has types that attw finds to be those of the code, for whatever can import modules", async () => {
    for (const [name, file] of packed.tarballs) {
      const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(file))));
      assert.ok(checked.types !== false, `${name} has no types`);
      // Both are modules alone, as the pages say: what cannot import those is not for them.
      const isForModules = (problem: Problem) =>
        !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind);
      assert.deepEqual(checked.problems.filter(isForModules), [], name);
      assert.deepEqual(Object.keys(checked.entrypoints), ENTRIES[name]);
    }
  });

  test("runs in Node", async () => check(await runScript(process.execPath, programWith(SCRIPT))));

  test("runs in Bun", { skip: missing("Bun", bun) }, async () => {
    check(await runScript(bun, programWith(SCRIPT), "run"));
  });

  test("runs in Deno", { skip: !has("deno") && "There is no Deno here." }, async () => {
    check(await runScript("deno", await bundleProgram(packed.project, SCRIPT), "run", "--allow-net"));
  });

  test("runs in workerd", { skip: missing("workerd", workerd) }, async () => {
    writeFileSync(join(folder, "worker.mjs"), await bundleProgram(packed.project, WORKER));
    const port = await freePort();
    writeFileSync(
      join(folder, "config.capnp"),
      `using Workerd = import "/workerd/workerd.capnp";
       const config :Workerd.Config = (
         services = [
           (name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.mjs")], compatibilityDate = "2026-01-01")),
           (name = "internet", network = (allow = ["public", "private"])),
         ],
         sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
       );`,
    );
    const child = spawn(workerd, ["serve", join(folder, "config.capnp")], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    try {
      for (let tries = 0; ; tries++) {
        const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: given() }).catch(
          () => undefined,
        );
        if (response === undefined && tries < 100) {
          await delay(50);
          continue;
        }
        assert.equal(response?.status, 200, said);
        check((await response.json()) as Found);
        return;
      }
    } finally {
      child.kill("SIGKILL");
    }
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  const { port } = server.address() as AddressInfo;
  await new Promise((go) => server.close(go));
  return port;
}
