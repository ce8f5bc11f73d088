import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";

import { isHome, readOwner, takeHome } from "../../src/node/home.ts";
import type { Purpose } from "../../src/node/home.ts";

const folder = mkdtempSync(join(tmpdir(), "nylorun-home-"));
after(() => rmSync(folder, { recursive: true }));

const processes: ChildProcess[] = [];
afterEach(() => {
  for (const child of processes.splice(0)) child.kill("SIGKILL");
});

let homes = 0;
const newHome = () => join(folder, `home-${++homes}`);
const serve = { purpose: "serve", patienceMs: 0 } as const;
const mode = (path: string) => statSync(path).mode & 0o777;

/** A process that holds the home until it ends. */
async function holder(home: string, purpose: Purpose = "serve"): Promise<ChildProcess> {
  const program = `
    import { takeHome } from ${JSON.stringify(import.meta.resolve("../../src/node/home.ts"))};
    await takeHome(${JSON.stringify(home)}, { purpose: "${purpose}", patienceMs: 5_000 });
    process.send("held");
    setTimeout(() => process.exit(), 30_000);
    for (let i = 0; i < 10; i++) globalThis.gc();
  `;
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  processes.push(child);
  await once(child, "message");
  return child;
}

async function refusal(home: string): Promise<{ code: string; message: string }> {
  return takeHome(home, serve).then(
    () => assert.fail("the home was taken"),
    (error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    },
  );
}

describe("a home", () => {
  it("is made for its user alone", async () => {
    const path = join(newHome(), "deep");
    assert.equal(isHome(path), false);
    using home = await takeHome(path, serve);
    assert.equal(mode(home.folder), 0o700);
    for (const name of readdirSync(path)) assert.equal(mode(join(path, name)), 0o600, name);
    assert.ok(isHome(path));
  });

  it("is refused where no folder can be made, and does not try for ever", { skip: !existsSync("/proc/self") }, () => {
    for (const path of ["/proc/nylorun", "/proc/nylorun/deep"]) {
      const program = `
        import { takeHome } from ${JSON.stringify(import.meta.resolve("../../src/node/home.ts"))};
        await takeHome("${path}", { purpose: "serve", patienceMs: 0 }).catch(({ code, message }) => console.log(code, message));
      `;
      const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
        encoding: "utf8",
        timeout: 20_000,
        killSignal: "SIGKILL",
      });
      assert.match(
        stdout,
        /^home\.unusable The folder \/proc\S* cannot be used as a home: no folder can be made there\. Choose/,
      );
    }
  });

  it("is made private again when it was opened up", async () => {
    const path = newHome();
    (await takeHome(path, serve))[Symbol.dispose]();
    chmodSync(path, 0o755);
    using home = await takeHome(path, serve);
    assert.equal(mode(home.folder), 0o700);
  });

  it("is refused to a second process, naming the first", async () => {
    const path = newHome();
    const first = await holder(path);
    assert.deepEqual(await refusal(path), {
      code: "home.taken",
      message: `Process ${first.pid} serves the home ${path}. Stop it, or choose another home with --home.`,
    });
  });

  it("is refused while a command is at work in it, and to be had right after", async () => {
    const path = newHome();
    const command = await holder(path, "command");
    assert.match(
      (await refusal(path)).message,
      new RegExp(`^A command \\(process ${command.pid}\\) is at work in the home`),
    );
    setTimeout(() => command.kill("SIGTERM"), 100);
    using home = await takeHome(path, { purpose: "serve", patienceMs: 5_000 });
    assert.equal(readOwner(home.folder)?.pid, process.pid);
  });

  it("is free at once after kill -9, whoever it was said to belong to", async () => {
    const path = newHome();
    for (let round = 0; round < 3; round++) {
      const child = await holder(path);
      assert.equal(readOwner(path)?.pid, child.pid);
      child.kill("SIGKILL");
      await once(child, "exit");
      assert.equal(readOwner(path)?.pid, child.pid, "the dead process still says so");
    }
    using home = await takeHome(path, serve);
    assert.equal(readOwner(home.folder)?.pid, process.pid);
  });

  it("is refused to its own process too, and stays locked for others after that attempt", async () => {
    const path = newHome();
    using home = await takeHome(path, serve);
    assert.match((await refusal(path)).message, new RegExp(`^Process ${process.pid} serves the home`));
    const other = holder(home.folder).then(() => "held");
    assert.equal(await Promise.race([other, new Promise((done) => setTimeout(done, 500, "refused"))]), "refused");
  });

  it("is let go by dispose, once", async () => {
    const path = newHome();
    const home = await takeHome(path, serve);
    home.announce("/somewhere");
    assert.deepEqual(readOwner(path), { pid: process.pid, purpose: "serve", control: "/somewhere" });
    home[Symbol.dispose]();
    assert.equal(readOwner(path), undefined);
    using next = await takeHome(path, serve);
    home[Symbol.dispose]();
    assert.equal(readOwner(next.folder)?.pid, process.pid);
    assert.equal((await refusal(path)).code, "home.taken");
  });

  it("is not made of a folder that holds other things, nor is that folder touched", async () => {
    const path = newHome();
    mkdirSync(path, { mode: 0o755 });
    for (const name of ["a", "b", "c", "d"]) writeFileSync(join(path, name), "");
    assert.deepEqual(await refusal(path), {
      code: "home.unusable",
      message: `${path} is no home: it holds other things (a, b, c, …). Choose a new or an empty folder with --home.`,
    });
    assert.equal(mode(path), 0o755);
    assert.deepEqual(readdirSync(path), ["a", "b", "c", "d"]);
  });

  it("is refused where there can be none, saying why", async () => {
    const file = newHome();
    writeFileSync(file, "");
    const expected = (path: string) => ({
      code: "home.unusable",
      message: `The folder ${path} cannot be used as a home: a file is in its place. Choose another one with --home.`,
    });
    assert.deepEqual(await refusal(file), expected(file));
    assert.deepEqual(await refusal(join(file, "below")), expected(join(file, "below")));
    const path = newHome();
    mkdirSync(path);
    writeFileSync(join(path, "home.lock"), "no database, and longer than nothing".repeat(100));
    assert.match((await refusal(path)).message, /home\.lock cannot be locked \(file is not a database\)/);
  });
});
