import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Place } from "./nylorun.ts";
import type { Serving } from "./nylorun.ts";

const WAITS = `if (turn.text === "wait") return (await turn.approve({ prompt: "May I?" })) ? "Yes" : "No";
  if (turn.text === "run") return new Promise((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
  return turn.text;`;

describe("nylorun delete", () => {
  // keeps: a2a-13.4-deletion
  it("erases a task, a context, and everything of a subject with its keys, while the home is served", async () => {
    await using place = new Place();
    const [ada, bob] = [await place.addKey("--subject", "ada"), await place.addKey("--subject", "bob")];
    const serving = await place.serve([place.agent("echo", WAITS)]);
    const contextId = "talk";
    const one = (await serving.send(ada, "echo", "one")).result!.task;
    await serving.send(ada, "echo", "two", { message: { contextId } });
    const waits = (await serving.send(ada, "echo", "wait", { message: { contextId } })).result!.task;
    const kept = (await serving.send(bob, "echo", "kept", { message: { contextId } })).result!.task;

    assert.deepEqual(await place.run(["delete", "task", one.id]), {
      code: 0,
      stdout: "",
      stderr: "1 task was deleted.\n",
    });
    assert.equal(await errorOf(serving, ada, "echo", one.id), -32001);
    const again = await place.run(["delete", "task", one.id]);
    assert.deepEqual(
      [again.code, again.stderr],
      [1, `nylorun: There is nothing to erase: no task ${one.id} is here.\n`],
    );

    const context = ["delete", "context", contextId, "--subject", "ada", "--agent", "echo"];
    assert.match((await place.run(context)).stderr, /^2 tasks were deleted\.$/m);
    assert.equal(await errorOf(serving, ada, "echo", waits.id), -32001);
    assert.equal((await serving.get(bob, "echo", kept.id)).status.state, "TASK_STATE_COMPLETED");

    await serving.send(ada, "echo", "three");
    const unsure = await place.run(["delete", "subject", "ada"]);
    assert.deepEqual([unsure.code, unsure.stderr.includes("say --yes")], [1, true]);
    assert.match((await place.run(["delete", "subject", "ada", "--yes"])).stderr, /^1 task was deleted\.$/m);
    assert.equal((await serving.call(ada, "echo", "ListTasks", {})).status, 401, "its keys are gone");
    assert.equal((await serving.get(bob, "echo", kept.id)).status.state, "TASK_STATE_COMPLETED");
  });

  it("refuses while a turn runs, and leaves nothing of what it erased in the database", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("echo", WAITS)]);
    const secret = `SECRET${crypto.randomUUID()}`;
    await serving.send(key, "echo", secret);
    const { id } = (await serving.send(key, "echo", "run", { returnImmediately: true })).result!.task;
    for (const args of [
      ["task", id],
      ["subject", "ada", "--yes"],
    ]) {
      const { code, stderr } = await place.run(["delete", ...args]);
      assert.equal(code, 1);
      assert.match(stderr, /^nylorun: Nothing was erased: a turn of .* runs, or is about to\. Cancel what runs/);
    }
    await serving.call(key, "echo", "CancelTask", { id });
    await serving.send(key, "echo", "after", { message: { contextId: "other" } });
    assert.equal((await place.run(["delete", "subject", "ada", "--yes"])).code, 0);
    await serving.kill("SIGTERM");
    assert.ok(!readFileSync(join(place.home, "nylorun.db"), "latin1").includes(secret));
  });

  // keeps: a2a-13.4-deletion
  it("leaves no file, no webhook's token, and no session of whom it erased, anywhere in the home", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const secretOf = (what: string): string => `SECRET-${what}-${crypto.randomUUID()}`;
    const [content, token, words] = [secretOf("content"), secretOf("token"), secretOf("words")];
    const code = `await turn.file("notes.txt", ${JSON.stringify(content)}); return turn.text;`;
    const settings = {
      NYLORUN_PUSH_SECRET: `whsec_${"A".repeat(43)}=`,
      NYLORUN_PUSH_HOSTS: "hooks.example.invalid",
    };
    const serving = await place.serve([place.agent("echo", code)], settings);
    const { id: taskId } = (await serving.send(key, "echo", words)).result!.task;
    const url = "https://hooks.example.invalid/x";
    const made = await serving.call(key, "echo", "CreateTaskPushNotificationConfig", { taskId, url, token });
    assert.equal(made.error, undefined);
    const base = await serving.ready;
    const session = await fetch(`${base}/dashboard/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: base },
      body: JSON.stringify({ key }),
    });
    const cookie = session.headers.get("set-cookie")!.split(";")[0]!;
    const signedIn = () => fetch(`${base}/dashboard/session`, { headers: { cookie, "sec-fetch-site": "same-origin" } });
    assert.equal((await signedIn()).status, 200);
    assert.equal((await place.run(["delete", "subject", "ada", "--yes"])).code, 0);
    assert.equal((await signedIn()).status, 401);
    const holds = (): string[] =>
      readdirSync(place.home, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map((one) => join(one.parentPath, one.name))
        .filter((file) => {
          const bytes = readFileSync(file, "latin1");
          return [content, token, words].some((secret) => bytes.includes(secret));
        });
    const blobs = (): string[] => holds().filter((file) => !file.includes("nylorun.db"));
    const deadline = performance.now() + 30_000;
    while (blobs().length > 0 && performance.now() < deadline) await delay(100);
    await serving.kill("SIGTERM");
    assert.deepEqual(holds(), []);
  });

  it("works on a home that nobody serves, and says so when there is none", async () => {
    await using place = new Place();
    assert.match((await place.run(["delete", "subject", "ada", "--yes"])).stderr, /There is no home at/);
    await place.addKey("--subject", "ada");
    assert.match((await place.run(["delete", "subject", "ada", "--yes"])).stderr, /^0 tasks were deleted\.$/m);
    assert.match((await place.run(["keys", "list"])).stdout, /There is no key|^(?!.*ada)/);
  });
});

/** The code that asking for a task is refused with. */
async function errorOf(serving: Serving, key: string, agent: string, id: string): Promise<number | undefined> {
  const { error } = await serving.call(key, agent, "GetTask", { id });
  return (error as { readonly code: number } | undefined)?.code;
}
