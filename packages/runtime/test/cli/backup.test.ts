import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { Place } from "./nylorun.ts";
import type { Serving } from "./nylorun.ts";

/** Pays, once it is told to; its payments are lines of a file in the world. */
const PAYS = `if (turn.text === "echo") return "echo";
  if (!(await turn.approve({ prompt: "May I?" }))) return "Not paid";
  await turn.effect("pay", () => appendFileSync("payments", turn.text + "\\n"));
  return "Paid";`;
const URI = "https://docs.nylorun.com/a2a/interactions/v1";

describe("nylorun backup and restore", () => {
  it("bring a home back as it was; what had not ended is held, and does nothing by itself", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const file = place.agent("pays", PAYS);
    const serving = await place.serve([file]);
    const ended = (await serving.send(key, "pays", "echo")).result!.task;
    const waits = (await serving.send(key, "pays", "order 1", { message: { contextId: "talk" } })).result!.task;
    const queued = (
      await serving.send(key, "pays", "order 2", { message: { contextId: "talk" }, returnImmediately: true })
    ).result!.task;

    const { code, stderr } = await place.run(["backup", "copy.db"]);
    assert.deepEqual([code, stderr], [0, `The backup is ${join(place.folder, "copy.db")}.\n`]);
    assert.equal(statSync(join(place.folder, "copy.db")).mode & 0o777, 0o600);

    // What happens after the backup is nothing that it knows.
    const id = (waits.status.message as { metadata: Record<string, { interactionId: string }> } | undefined)?.metadata;
    assert.equal(id, undefined, "no extension was asked for");
    await answer(serving, key, waits.id);
    assert.equal(readFileSync(join(place.folder, "payments"), "utf8"), "order 1\n");
    const later = (await serving.send(key, "pays", "echo")).result!.task;
    await serving.kill("SIGTERM");

    const restored = await place.run(["restore", "copy.db", "--home", "other"]);
    assert.deepEqual(
      [restored.code, restored.stderr],
      [0, `The home ${join(place.folder, "other")} is restored. 2 unfinished turns are held.\n`],
    );
    const env = { NYLORUN_HOME: "other" };
    const again = await place.serve([file], env);
    assert.equal((await again.get(key, "pays", ended.id)).status.state, "TASK_STATE_COMPLETED");
    assert.equal((await again.get(key, "pays", waits.id)).status.state, "TASK_STATE_WORKING", "held");
    assert.equal((await again.get(key, "pays", queued.id)).status.state, "TASK_STATE_SUBMITTED");
    assert.equal(await errorOf(again, key, "pays", later.id), -32001);
    const fresh = (await again.send(key, "pays", "echo")).result!.task;
    assert.notEqual(fresh.id, later.id);
    assert.equal(await errorOf(again, key, "pays", later.id), -32001, "no key is used twice");
    const { result } = await again.call(key, "pays", "ListTasks", {});
    assert.equal((result as unknown as { totalSize: number }).totalSize, 4);

    const held = await place.run(["turns", "held"], env);
    assert.match(held.stdout, new RegExp(`^${waits.id} .*\\n.*\\n  home\\.restored: The home was restored`, "m"));
    // The operator knows that it was paid: the turn is ended, and the one behind it is held in its turn.
    assert.equal((await place.run(["turns", "fail", waits.id, "--reason", "It was paid already."], env)).code, 0);
    assert.match((await place.run(["turns", "held"], env)).stdout, new RegExp(`^${queued.id} `, "m"));
    assert.equal((await place.run(["turns", "release", queued.id], env)).code, 0);
    await until(async () => (await again.get(key, "pays", queued.id)).status.state === "TASK_STATE_AUTH_REQUIRED");
    assert.equal(readFileSync(join(place.folder, "payments"), "utf8"), "order 1\n", "nothing was done meanwhile");
    await answer(again, key, queued.id);
    assert.equal(readFileSync(join(place.folder, "payments"), "utf8"), "order 1\norder 2\n");
  });

  it("say where the files are, and count what there is of them, no more and no less", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const file = place.agent("files", `await turn.file("a.txt", "x".repeat(70_000)); return turn.text;`);
    const serving = await place.serve([file]);
    for (const text of ["one", "two"]) await serving.send(key, "files", text);
    const apart = (home: string) => `70 kB, are not in it: they are in ${join(place.folder, home, "blobs")}.`;
    const backup = await place.run(["backup", "copy.db"]);
    assert.equal(backup.code, 0, backup.stderr);
    assert.ok(backup.stderr.includes(apart(".nylorun")), backup.stderr);
    await serving.kill("SIGTERM");

    const restored = await place.run(["restore", "copy.db", "--home", "other"]);
    assert.match(restored.stderr, /No turn was unfinished\.\nThe files of its tasks, 70 kB, .* belong in .*blobs\.$/m);
    using database = new DatabaseSync(join(place.folder, "other", "nylorun.db"), { readOnly: true });
    const one = (sql: string) => Number(Object.values(database.prepare(sql).get()!)[0]);
    assert.equal(one("SELECT value FROM counters WHERE name = 'fileBytes'"), 70_000);
    using before = new DatabaseSync(join(place.folder, ".nylorun", "nylorun.db"), { readOnly: true });
    assert.deepEqual(
      { ...database.prepare("SELECT bytes FROM subjects").get() },
      { ...before.prepare("SELECT bytes FROM subjects").get() },
      "a subject has as much as it had, its files too",
    );

    const env = { NYLORUN_HOME: "other" };
    cpSync(join(place.folder, ".nylorun", "blobs"), join(place.folder, "other", "blobs"), { recursive: true });
    const again = await place.serve([file], env);
    const { result } = await again.call(key, "files", "ListTasks", { includeArtifacts: true });
    const tasks = (result as unknown as { tasks: { artifacts: { parts: { url?: string }[] }[] }[] }).tasks;
    const urls = tasks.flatMap(({ artifacts }) => artifacts.flatMap(({ parts }) => parts[0]?.url ?? []));
    assert.equal(urls.length, 2);
    for (const url of urls) assert.equal((await (await fetch(url)).text()).length, 70_000);
    await again.kill("SIGTERM");
    const exported = await place.run(["export", "all"], env);
    assert.ok(exported.stderr.includes(apart("other")), exported.stderr);
  });

  it("copies while messages come in: the copy is whole, and of one moment", async () => {
    await using place = new Place();
    const key = await place.addKey("--subject", "ada");
    const serving = await place.serve([place.agent("echo")]);
    const over = new AbortController();
    let sent = 0;
    const senders = Array.from({ length: 8 }, async () => {
      while (!over.signal.aborted) {
        assert.equal((await serving.send(key, "echo", "x".repeat(2000))).status, 200);
        sent++;
      }
    });
    await until(async () => sent > 200);
    for (const name of ["a.db", "b.db"]) assert.equal((await place.run(["backup", name])).code, 0);
    over.abort();
    await Promise.all(senders);
    for (const name of ["a.db", "b.db"]) {
      using copy = new DatabaseSync(join(place.folder, name), { readOnly: true });
      assert.deepEqual({ ...copy.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
      const one = (sql: string) => Number(Object.values(copy.prepare(sql).get()!)[0]);
      const turns = one("SELECT count(*) FROM turns");
      assert.ok(turns > 100 && turns <= sent + 8);
      assert.equal(one("SELECT sum(n) FROM tallies WHERE scope = 0"), turns);
      assert.equal(one("SELECT count(*) FROM messages"), turns);
    }
    assert.ok(!readdirSync(place.folder).some((name) => name.endsWith(".part")));
  });

  it("replaces nothing: neither a file, nor a home that holds something", async () => {
    await using place = new Place();
    await place.addKey("--subject", "ada");
    place.write("there", "mine");
    place.write("copy.db.part", "mine");
    const taken = await place.run(["backup", "there"]);
    assert.match(taken.stderr, /^nylorun: The backup was not written: There is a file at .*there already\.$/m);
    assert.equal(readFileSync(join(place.folder, "there"), "utf8"), "mine");
    assert.match((await place.run(["backup", "no/such/folder/x"])).stderr, /^nylorun: The backup was not written: /);
    await place.run(["backup", "copy.db"]);
    assert.equal(readFileSync(join(place.folder, "copy.db.part"), "utf8"), "mine");
    const full = await place.run(["restore", "copy.db"]);
    assert.deepEqual([full.code, full.stderr.includes("holds something already")], [1, true]);
  });

  it("refuses what is no backup, is damaged, or is not there, and leaves no home behind that looks like one", async () => {
    await using place = new Place();
    await place.addKey("--subject", "ada");
    await place.run(["backup", "copy.db"]);
    const bytes = readFileSync(join(place.folder, "copy.db"));
    writeFileSync(join(place.folder, "text"), "no database at all, but as long as one ".repeat(200));
    writeFileSync(join(place.folder, "empty"), "");
    new DatabaseSync(join(place.folder, "strange.db")).exec("CREATE TABLE t (a)");
    writeFileSync(join(place.folder, "torn"), bytes.subarray(0, bytes.length / 2));
    const broken = Buffer.from(bytes);
    broken.fill(0xff, 4096 * 3, 4096 * 9);
    writeFileSync(join(place.folder, "broken"), broken);
    const changed = (name: string, sql: string) => {
      writeFileSync(join(place.folder, name), bytes);
      using database = new DatabaseSync(join(place.folder, name), { enableForeignKeyConstraints: false });
      database.exec(sql);
    };
    changed("trigger", "CREATE TRIGGER t AFTER UPDATE ON turns BEGIN DELETE FROM api_keys; END");
    changed("kind", "UPDATE api_keys SET created_at = 'yesterday'");
    changed("far", "UPDATE api_keys SET created_at = 9223372036854775807");
    changed("counter", "UPDATE counters SET value = 9e15");
    changed("dangling", "INSERT INTO scopes VALUES (7, 7, 'echo')");
    changed("newer", "PRAGMA user_version = 99");
    mkdirSync(join(place.folder, "homes"));
    for (const [name, why] of [
      ["text", /is no backup/],
      ["empty", /is no backup/],
      ["strange.db", /is no backup/],
      ["torn", /is damaged|is no backup/],
      ["broken", /is damaged|is no backup/],
      ["trigger", /its trigger "t" is none of ours/],
      ["kind", /api_keys\.created_at holds what it cannot/],
      ["far", /api_keys\.created_at holds what it cannot/],
      ["counter", /a counter has come to its end/],
      ["dangling", /a row of scopes belongs to one that is not there/],
      ["newer", /newer was written by a newer version/],
      ["homes", /homes is no regular file/],
      ["missing", /There is no file/],
    ] as const) {
      const { code, stderr } = await place.run(["restore", name, "--home", join("homes", name)]);
      assert.equal(code, 1, name);
      assert.match(stderr, /^nylorun: [^\n]*\n$/, name);
      assert.match(stderr, why, name);
      const database = statSync(join(place.folder, "homes", name, "nylorun.db"), { throwIfNoEntry: false });
      assert.equal(database?.size ?? 0, 0, name);
    }
  });
});

async function answer(serving: Serving, key: string, taskId: string): Promise<void> {
  const call = async (method: string, params: object) => {
    const response = await fetch(`${await serving.ready}/v1/a2a/agents/pays/`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "a2a-version": "1.0",
        "a2a-extensions": URI,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return ((await response.json()) as { result: Record<string, never> }).result;
  };
  const task = (await call("GetTask", { id: taskId })) as unknown as {
    status: { message: { metadata: Record<string, { interactionId: string }> } };
  };
  const { interactionId } = task.status.message.metadata[URI]!;
  const metadata = { [URI]: { interactionId, approved: true } };
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "Yes" }], taskId, metadata };
  const sent = await call("SendMessage", { message: { ...message, extensions: [URI] } });
  assert.equal((sent as unknown as { task: { status: { state: string } } }).task.status.state, "TASK_STATE_COMPLETED");
}

async function until(is: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (await is()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail("It did not come about within ten seconds.");
}

/** The code that asking for a task is refused with. */
async function errorOf(serving: Serving, key: string, agent: string, id: string): Promise<number | undefined> {
  const { error } = await serving.call(key, agent, "GetTask", { id });
  return (error as { readonly code: number } | undefined)?.code;
}
