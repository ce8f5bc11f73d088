import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const START = fileURLToPath(new URL("../../../../scripts/start.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nylorun-start-"));
const home = join(folder, "a home");
after(() => rmSync(folder, { recursive: true }));

/** Starts, and has `use` do something with what was printed; then stops, and returns all that was printed. */
async function start(use: (printed: string) => Promise<void>): Promise<string> {
  const child = spawn(process.execPath, [START, "--port", "0"], {
    env: { ...process.env, NYLORUN_HOME: home, INIT_CWD: folder },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 30_000,
  });
  let printed = "";
  const told = Promise.withResolvers<undefined>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes("Ctrl-C")) told.resolve(undefined);
    });
  }
  const exit = once(child, "exit");
  void exit.then(() => told.reject(new Error(`It ended: ${printed}`)));
  await told.promise;
  try {
    await use(printed);
  } finally {
    child.kill("SIGTERM");
    await exit;
  }
  return printed;
}

it("npm start serves the examples, and shows a first call that works as pasted", { timeout: 60_000 }, async () => {
  const key = join(home, "local.key");
  const printed = await start(async (text) => {
    const call = /^curl [^]*?}}}'$/m.exec(text)?.[0] ?? assert.fail(text);
    const { stdout } = await promisify(execFile)("sh", ["-c", call], { cwd: folder });
    const { result } = JSON.parse(stdout) as {
      result: { task: { status: { state: string }; artifacts: { parts: { text: string }[] }[] } };
    };
    assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
    assert.equal(result.task.artifacts[0]?.parts[0]?.text, "Hello");
    for (const file of [key, join(home, "operator.key")]) assert.equal(statSync(file).mode & 0o777, 0o600);

    const [, origin = "", link] = /^(http:\/\/\S+)\/dashboard\/#link=(\S+)$/m.exec(text) ?? assert.fail(text);
    const signIn = () =>
      fetch(`${origin}/dashboard/session`, {
        method: "POST",
        headers: { origin, "content-type": "application/json" },
        body: JSON.stringify({ link }),
      });
    const { subject, operator } = (await (await signIn()).json()) as { subject: string; operator: boolean };
    assert.deepEqual([subject, operator], ["local", true]);
    assert.equal((await signIn()).status, 401, "it opens once");
    const page = await fetch(`${origin}/dashboard/`);
    assert.match(await page.text(), /<script type="module"[^>]* src="\.\/assets\//);
  });
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0] ?? "";
  assert.equal(printed.split(url).length - 1, 3, "the address is said, and used in the link and the call; no more");
  const [welcome = ""] = printed.split("Ctrl-C");
  assert.ok(
    welcome.split("\n").every((line) => line.length <= 80),
    welcome,
  );

  const first = readFileSync(key, "utf8");
  await start(async () => assert.equal(readFileSync(key, "utf8"), first, "the next start keeps the key"));
});
