/** What README.md tells a reader to type, typed. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { EXTENSIONS } from "@nylorun/protocol";
import type { OpenInteraction, Task } from "@nylorun/protocol";

import { readPage, ROOT } from "./page.ts";

/** For whatever is waited for, in milliseconds. */
const PATIENCE = 30_000;
const { fences } = readPage("README.md");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** A folder that stands for the reader's, where everything is found that is found in a clone. */
function openFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "nylorun-readme-"));
  symlinkSync(join(ROOT, "node_modules"), join(path, "node_modules"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** The fence of this language that holds this text. */
function fenceWith(language: string, holds: string): string {
  const found = fences.find((fence) => fence.language === language && fence.text.includes(holds));
  return found?.text ?? assert.fail(`README.md has no ${language} that holds ${holds}`);
}

function environment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, NYLORUN_HOME: join(folder, ".nylorun"), INIT_CWD: folder, EXAMPLES_WORLD: folder };
}

/** Runs a process that serves, for as long as `use` needs it. */
async function serve(folder: string, args: readonly string[], use: (port: string) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [...args, "--port", "0"], { cwd: folder, env: environment(folder) });
  const exit = once(child, "exit");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      // What follows it is said too.
      if (port !== undefined && said.endsWith("\n")) resolve(port);
    });
  }
  void exit.then(() => reject(new Error(`It ended: ${said}`)));
  const timer = setTimeout(() => reject(new Error(`It does not serve: ${said}`)), PATIENCE);
  try {
    await use(await promise);
  } finally {
    clearTimeout(timer);
    child.kill("SIGTERM");
    await exit;
  }
}

async function sh(command: string, folder: string): Promise<string> {
  const options = { cwd: folder, env: environment(folder), timeout: PATIENCE };
  return (await promisify(execFile)("sh", ["-c", command], options)).stdout;
}

describe("README.md", { timeout: 4 * PATIENCE }, () => {
  it("shows a first call that works as printed, and runs once when it is sent again", async () => {
    using folder = openFolder();
    const start = join(ROOT, "scripts/start.ts");
    await serve(folder.path, [start], async (port) => {
      const call = fenceWith("sh", "curl").replaceAll("127.0.0.1:6956", `127.0.0.1:${port}`);
      const answers = async () => (await sh(`${call}\necho; ${call}`, folder.path)).split("\n").map(taskOf);
      let [first, second] = await answers();
      // Its message id is the second in which it is sent; the next one may have begun in between.
      for (let tries = 0; tries < 5 && first?.history?.[0]?.messageId !== second?.history?.[0]?.messageId; tries++) {
        [first, second] = await answers();
      }
      assert.equal(first?.id, second?.id, "the same message is the same task");
      assert.equal(first?.status.state, "TASK_STATE_COMPLETED");
      const shown = fenceWith("json", "TASK_STATE_COMPLETED");
      assert.ok(
        shown.includes(`"artifacts":${JSON.stringify(first?.artifacts)}`),
        "the answer is the one that is shown",
      );
    });
  });

  it("shows an agent that is served as printed, asks for approval, and greets once it has that", async () => {
    using folder = openFolder();
    writeFileSync(join(folder.path, "greeter.ts"), fenceWith("ts", "// greeter.ts"));
    const [serving = "", adding = ""] = fenceWith("sh", "npx nylorun serve")
      .split("\n")
      .map((line) => line.replace(/ +#.*/, ""));
    assert.match(serving, /^npx nylorun serve /);
    const bin = join(ROOT, "packages/runtime/bin/nylorun.js");
    await serve(folder.path, [bin, ...serving.split(" ").slice(2)], async (port) => {
      const key = (await sh(adding.replace("npx nylorun", `"${process.execPath}" "${bin}"`), folder.path)).trim();
      const send = async (message: object) => {
        const response = await fetch(`http://127.0.0.1:${port}/v1/a2a/agents/greeter/`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            "a2a-version": "1.0",
            "a2a-extensions": `${EXTENSIONS.interactions}, ${EXTENSIONS.progress}`,
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
          signal: AbortSignal.timeout(PATIENCE),
        });
        return taskOf(await response.text()) ?? assert.fail("no task");
      };
      const asked = await send({ messageId: "1", role: "ROLE_USER", parts: [{ text: "Ada" }] });
      assert.equal(asked.status.state, "TASK_STATE_AUTH_REQUIRED");
      const open = asked.status.message?.metadata?.[EXTENSIONS.interactions] as OpenInteraction | undefined;
      assert.equal(open?.prompt, "Greet Ada?");
      const { interactionId } = open;
      // In the dashboard, it is the same subject's.
      const dashboard = `http://127.0.0.1:${port}/dashboard/`;
      assert.ok(README.includes("http://127.0.0.1:6956/dashboard/"));
      const page = await fetch(dashboard);
      assert.match(await page.text(), /<!doctype html>/i);
      const signedIn = await fetch(`${dashboard}session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: `http://127.0.0.1:${port}` },
        body: JSON.stringify({ key }),
      });
      assert.equal(((await signedIn.json()) as { subject?: string }).subject, "ada");
      const done = await send({
        messageId: "2",
        taskId: asked.id,
        role: "ROLE_USER",
        parts: [{ text: "Yes" }],
        extensions: [EXTENSIONS.interactions],
        metadata: { [EXTENSIONS.interactions]: { interactionId, approved: true } },
      });
      assert.equal(done.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(done.artifacts?.[0]?.parts, [{ text: "Hello, Ada!" }]);
      assert.deepEqual(done.metadata?.[EXTENSIONS.progress], {
        steps: [
          { label: "Ask", state: "done" },
          { label: "Greet", state: "done" },
        ],
      });
    });
  });
});

function taskOf(answer: string): Task | undefined {
  return (JSON.parse(answer) as { readonly result?: { readonly task?: Task } }).result?.task;
}
