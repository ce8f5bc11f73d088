import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";

const NODE = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
const PINNED = "99.9.9";

/** A clone small enough to set up without a registry: its `nylorun` and its pinned Node are workspaces. */
class Clone {
  readonly root = mkdtempSync(join(tmpdir(), "setup-"));
  readonly #manifest: Record<string, unknown> = {
    name: "clone",
    workspaces: ["packages/*"],
    optionalDependencies: { [NODE]: PINNED },
  };

  constructor(context: TestContext, saysVersion = PINNED) {
    context.after(() => rmSync(this.root, { recursive: true, force: true }));
    mkdirSync(join(this.root, "scripts"));
    cpSync(join(import.meta.dirname, "setup.mjs"), join(this.root, "scripts/setup.mjs"));
    this.#workspace("runtime", { name: "runtime", version: "1.0.0", bin: { nylorun: "run" } }, "#!/bin/sh\n");
    this.#workspace("node", { name: NODE, version: PINNED, bin: { node: "run" } }, `#!/bin/sh\necho v${saysVersion}\n`);
    this.#write("package.json", this.#manifest);
    this.lock({});
  }

  /** Writes a lock file; `more` is what its root entry says beside the manifest. */
  lock(more: Record<string, unknown>): void {
    const packages = {
      "": { ...this.#manifest, ...more },
      [`node_modules/${NODE}`]: { resolved: "packages/node", link: true },
      "node_modules/runtime": { resolved: "packages/runtime", link: true },
      "packages/node": { name: NODE, version: PINNED, bin: { node: "run" } },
      "packages/runtime": { version: "1.0.0", bin: { nylorun: "run" } },
    };
    this.#write("package-lock.json", { name: "clone", lockfileVersion: 3, requires: true, packages });
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true });
  }

  write(path: string, content: string): void {
    writeFileSync(join(this.root, path), content);
  }

  async setUp(): Promise<{ readonly code: number | null; readonly said: string }> {
    const setup = spawn(process.execPath, [join(this.root, "scripts/setup.mjs")], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = new Promise<number | null>((resolve) => setup.on("close", resolve));
    const [code, said] = await Promise.all([ended, text(setup.stderr)]);
    return { code, said };
  }

  #workspace(name: string, manifest: unknown, command: string): void {
    mkdirSync(join(this.root, "packages", name), { recursive: true });
    this.#write(`packages/${name}/package.json`, manifest);
    writeFileSync(join(this.root, "packages", name, "run"), command, { mode: 0o755 });
  }

  #write(path: string, content: unknown): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), JSON.stringify(content));
  }
}

test("a fresh clone gets its packages, its Node and its command, and the second setup has nothing to do", async (context) => {
  const clone = new Clone(context);
  const first = await clone.setUp();
  assert.equal(first.code, 0, first.said);
  assert.match(first.said, /installing/);
  assert.ok(clone.has("node_modules/.bin/node"));
  assert.ok(clone.has("node_modules/.bin/nylorun"));
  assert.deepEqual(await clone.setUp(), { code: 0, said: "" });
});

test("of setups that run at once one installs, and all wait for it", async (context) => {
  const clone = new Clone(context);
  const all = await Promise.all([clone.setUp(), clone.setUp(), clone.setUp(), clone.setUp()]);
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0, 0],
    all.map(({ said }) => said).join(""),
  );
  assert.equal(all.filter(({ said }) => said.includes("installing")).length, 1);
  assert.deepEqual(
    readdirSync(clone.root).filter((name) => name.startsWith(".setup")),
    [],
  );
});

test("a lock that a killed setup left behind does not stop the next ones", async (context) => {
  const clone = new Clone(context);
  const gone = spawn(process.execPath, ["-e", ""]);
  await new Promise((resolve) => gone.on("close", resolve));
  clone.write(".setup.lock", JSON.stringify({ token: "t", host: (await import("node:os")).hostname(), pid: gone.pid }));
  const all = await Promise.all([clone.setUp(), clone.setUp()]);
  for (const { code, said } of all) assert.equal(code, 0, said);
  assert.ok(!clone.has(".setup.lock"));
});

test("a changed lock file is installed, and what is there already is not installed again", async (context) => {
  const clone = new Clone(context);
  await clone.setUp();
  clone.lock({ license: "Apache-2.0" });
  assert.deepEqual(await clone.setUp(), { code: 0, said: "" });
  clone.remove("node_modules/runtime");
  clone.lock({});
  const again = await clone.setUp();
  assert.match(again.said, /installing/);
  assert.ok(clone.has("node_modules/runtime"));
});

test("a failed install is one sentence and exit code 1, and the next setup tries again", async (context) => {
  const clone = new Clone(context);
  clone.write("package-lock.json", "{}");
  for (const _ of [1, 2]) {
    const { code, said } = await clone.setUp();
    assert.equal(code, 1);
    assert.match(said, /setup: `npm ci` ended with code 1; make sure .* then run the same command again\.\n$/);
    assert.doesNotMatch(said, /\.mjs:\d/);
  }
  clone.lock({});
  assert.equal((await clone.setUp()).code, 0);
});

test("the pinned Node is linked again where npm took the link away", async (context) => {
  const clone = new Clone(context);
  await clone.setUp();
  clone.remove("node_modules/.bin/node");
  assert.deepEqual(await clone.setUp(), { code: 0, said: "" });
  assert.ok(clone.has("node_modules/.bin/node"));
});

test("where the pinned Node does not run, the scripts get the host's own, if it is new enough", async (context) => {
  const clone = new Clone(context, "nothing");
  const { code, said } = await clone.setUp();
  assert.equal(code, 0);
  assert.match(said, new RegExp(`does not run here; going on with this machine's own Node ${process.version}`));
  assert.ok(!clone.has("node_modules/.bin/node"));
  assert.deepEqual(await clone.setUp(), { code: 0, said: "" });
});
