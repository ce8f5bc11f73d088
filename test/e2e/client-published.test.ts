/**
 * The client as it is published: its types to a strict program, its manifest to publint, and a program that uses all of it in Node
 * and in those of Deno, Bun and workerd that are found in PATH.
 */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { publint } from "publint";

import { buildPackages, bundleProgram, EXPECTED } from "./built-client.ts";
import type { Found } from "./built-client.ts";
import { serve } from "./callers.ts";
import { everyWord, signedDelivery, signingKey } from "./every-word.ts";

const has = (command: string) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;

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
  let handed: { url: string; key: string };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "nylorun-elsewhere-"));
    resources.defer(() => rmSync(folder, { recursive: true }));
    buildPackages(join(folder, "built"));
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

  async function runScript(command: string, ...args: readonly string[]): Promise<Found> {
    const file = join(folder, `${command}.mjs`);
    writeFileSync(file, await bundleProgram(join(folder, "built"), SCRIPT));
    const { stdout } = await promisify(execFile)(command, [...args, file, given()], { timeout: 60_000 });
    return JSON.parse(stdout) as Found;
  }

  test("has types that a strict program may check, with a page's globals and with Node's", async () => {
    const consumer = join(folder, "consumer");
    installInto(consumer, join(folder, "built"));
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
      const compilerOptions = { target: "es2024", module: "nodenext", lib, types, ...strict, noEmit: true };
      writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
      const tsc = join(MODULES, "typescript/bin/tsc");
      const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", consumer], { encoding: "utf8" });
      assert.equal(status, 0, `with ${types.join() || "no types"}:\n${stdout}`);
    }
  });

  test("has manifests that publint has nothing against", async () => {
    for (const name of ["protocol", "agents"]) {
      const { messages } = await publint({ pkgDir: join(folder, "built", name), strict: true });
      assert.deepEqual(messages, [], name);
    }
  });

  test("runs in Node", async () => check(await runScript("node")));

  test("runs in Deno", { skip: !has("deno") && "There is no Deno here." }, async () => {
    check(await runScript("deno", "run", "--allow-net"));
  });

  test("runs in Bun", { skip: !has("bun") && "There is no Bun here." }, async () =>
    check(await runScript("bun", "run")),
  );

  test("runs in workerd", { skip: !has("workerd") && "There is no workerd here." }, async () => {
    writeFileSync(join(folder, "worker.mjs"), await bundleProgram(join(folder, "built"), WORKER));
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
    const child = spawn("workerd", ["serve", join(folder, "config.capnp")], { stdio: ["ignore", "ignore", "pipe"] });
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

const MODULES = join(import.meta.dirname, "../../node_modules");

/** As npm would have it: our packages as they are built, and what they depend on. */
function installInto(consumer: string, built: string): void {
  const modules = join(consumer, "node_modules");
  mkdirSync(join(modules, "@nylorun"), { recursive: true });
  for (const name of ["protocol", "agents"])
    cpSync(join(built, name), join(modules, "@nylorun", name), { recursive: true });
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
  for (const name of ["@a2a-js", "@noble", "@types", "jose", "standardwebhooks"]) {
    symlinkSync(join(MODULES, name), join(modules, name));
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  const { port } = server.address() as AddressInfo;
  await new Promise((go) => server.close(go));
  return port;
}
