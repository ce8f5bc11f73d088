import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const ROOT = dirname(import.meta.dirname);
const OURS = join(ROOT, "packages");
const run = promisify(execFile);

/** A folder of somebody who installed what was built: no source and no workspace in sight. */
const folder = mkdtempSync(join(tmpdir(), "build-"));
const installed = join(folder, "node_modules/@nylorun");

before(async () => {
  await run(process.execPath, [join(import.meta.dirname, "build.ts"), "--out", installed]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  // What they depend on, as npm would have put it below them.
  for (const name of readdirSync(installed)) {
    for (const dependency of Object.keys(manifestOf(name).dependencies ?? {})) {
      if (dependency.startsWith("@nylorun/")) continue;
      const link = join(installed, name, "node_modules", dependency);
      const there = [join(OURS, name), ROOT]
        .map((at) => join(at, "node_modules", dependency))
        .find((at) => existsSync(at));
      assert.ok(there, `${dependency} of ${name} is not installed`);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(there, link);
    }
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The packages that have something to import. */
function libraries(): string[] {
  return readdirSync(installed).filter((name) => manifestOf(name).exports !== undefined);
}

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(join(installed, name, "package.json"), "utf8")) as Manifest;
}

/** The values that a package's main entry is pinned to export. */
function pinnedValues(name: string): string[] {
  const [main = ""] = readFileSync(join(OURS, name, "exports.txt"), "utf8").split("\n\n");
  return [...main.matchAll(/^ {2}(\w+)$/gm)].map(([, value = ""]) => value);
}

test("what is published can be imported where sources cannot run, and exports what is pinned", async () => {
  for (const name of libraries()) {
    const code = `console.log(JSON.stringify(Object.keys(await import("@nylorun/${name}"))))`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], { cwd: folder });
    assert.deepEqual((JSON.parse(stdout) as string[]).toSorted(), pinnedValues(name).toSorted(), name);
  }
});

test("its types satisfy a strict program that checks its libraries", async () => {
  const uses = libraries().map((name) => name.replaceAll("-", "_"));
  const lines = libraries().map((name, index) => `import * as ${uses[index]} from "@nylorun/${name}";`);
  writeFileSync(join(folder, "program.ts"), `${lines.join("\n")}\nconsole.log(${uses.join(", ")});\n`);
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
  const tsc = [
    join(ROOT, "node_modules/typescript/bin/tsc"),
    ...options,
    "--typeRoots",
    join(ROOT, "node_modules/@types"),
  ];
  await assert.doesNotReject(run(process.execPath, [...tsc, "program.ts"], { cwd: folder }));
});

test("its manifests are public, name no source, and ask for each other in the very same version", () => {
  for (const name of readdirSync(installed)) {
    const manifest = manifestOf(name);
    assert.equal(manifest.private, undefined);
    assert.doesNotMatch(JSON.stringify(manifest.exports ?? {}).replaceAll(".d.ts", ""), /\.ts/);
    for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
      if (dependency.startsWith("@nylorun/"))
        assert.equal(range, manifestOf(dependency.slice("@nylorun/".length)).version);
    }
    assert.ok(existsSync(join(installed, name, "LICENSE")), `${name} has no LICENSE`);
  }
});

test("the commands run from what is published", async () => {
  const commands = readdirSync(installed).flatMap((name) =>
    Object.values(manifestOf(name).bin ?? {}).map((path) => [name, join(installed, name, path)] as const),
  );
  assert.deepEqual(commands.map(([name]) => name).toSorted(), ["mcp-server", "runtime"]);
  for (const [name, command] of commands) {
    const { stdout } = await run(process.execPath, [command, "--help"], { cwd: folder });
    assert.match(stdout, /^(Usage: )?nylorun/, name);
  }
  const [, command = ""] = commands.find(([name]) => name === "runtime") ?? [];
  const { stdout } = await run(process.execPath, [command, "--version"], { cwd: folder });
  assert.equal(stdout.trim(), manifestOf("runtime").version);
});

test("the MCP server speaks from what is published", async () => {
  const command = join(installed, "mcp-server", Object.values(manifestOf("mcp-server").bin ?? {})[0] ?? "");
  const messages = [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    },
    { id: 2, method: "tools/list" },
  ];
  const server = run(process.execPath, [command], { cwd: folder });
  server.child.stdin?.end(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  const answers = (await server).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(answers[0].result.serverInfo.version, manifestOf("mcp-server").version);
  assert.deepEqual(
    answers[1].result.tools.map(({ name }: { name: string }) => name),
    ["report_progress", "get_status"],
  );
});

test("the dashboard is served from what is published, with the notices of what is in it", async () => {
  const program = join(folder, "dashboard.js");
  writeFileSync(
    program,
    `import { defineAgent } from "@nylorun/agents";
     import { startRuntime } from "@nylorun/runtime";
     const skills = [{ id: "a", name: "a", description: "a", tags: ["a"] }];
     const agent = defineAgent({ id: "a", name: "a", description: "a", version: "1.0.0", skills, run: () => "a" });
     await using runtime = await startRuntime({ agents: [agent], home: ${JSON.stringify(join(folder, "home"))}, port: 0, logLevel: "warn" });
     const page = await (await fetch(runtime.url + "/dashboard/")).text();
     const [, script] = /src="(\\.\\/assets\\/[^"]+\\.js)"/.exec(page);
     const answers = [new URL(script, runtime.url + "/dashboard/"), runtime.url + "/dashboard/assets/licences.md"];
     for (const url of answers) console.log((await fetch(url)).status, (await (await fetch(url)).text()).includes("lit"));`,
  );
  const { stdout, stderr } = await run(process.execPath, [program], { timeout: 60_000 });
  assert.equal(stdout, "200 true\n200 true\n", stderr);
});
