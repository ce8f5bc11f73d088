import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { StoreError } from "../../src/store/errors.ts";
import { createLocalSignal } from "../../src/store/local-signal.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { survey } from "../../src/store/sqlite/survey.ts";
import { storeContract } from "./contract.ts";
import { Place } from "./place.ts";
import type { Open } from "./place.ts";
import type { Kept } from "./writer.ts";

const open: Open = async (options) => {
  const place = new Folder();
  const opened = await openAt(place.file)(options);
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
};

function openAt(file: string): Open {
  return async (options) => {
    let store = await openSqliteStore({ file, ...options });
    return {
      store,
      async reopen() {
        await store[Symbol.asyncDispose]();
        return (store = await openSqliteStore({ file, ...options }));
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
}

class Folder implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "nylorun-store-"));
  readonly file = join(this.#folder, "nylorun.db");

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

storeContract("in SQLite", open, { runs: 10, turns: 12_000 });

describe("a group of writes in SQLite", () => {
  it("that one of them fails in is stored without that one, and nothing of it is left", async () => {
    await using place = await Place.open(open);
    // Fails on its way, when its context and turn are written already.
    const broken = { messageId: "m-x", contextId: "new", contentHash: {} as string };
    const [before, failed, after] = await Promise.allSettled([
      place.accept({ contextId: "a" }),
      place.accept(broken),
      place.accept({ contextId: "b" }),
    ]);
    assert.ok(failed.status === "rejected" && failed.reason instanceof StoreError);
    assert.equal(failed.reason.code, "store.failed");
    assert.ok(before.status === "fulfilled" && before.value.kind === "accepted");
    assert.ok(after.status === "fulfilled" && after.value.kind === "accepted");
    const { total } = await place.store.listTurns({ subject: "ada", agent: "echo", limit: 10 });
    assert.equal(total, 2);
    assert.equal((await place.begin({ contextId: "new", whenBusy: "reject", messageId: "m-x" })).state, "running");
    assert.equal((await place.claim()).length, 3);
  });

  it("is stored when its promises resolve: kill -9 at any moment loses nothing that was told (I1)", async () => {
    using folder = new Folder();
    const { file } = folder;
    const writer = fileURLToPath(new URL("writer.ts", import.meta.url));
    let highest = 0;
    for (const after of [1, 40, 300]) {
      const kept = await writeUntilKilled(writer, file, after);
      await using store = await openSqliteStore({ file, signal: createLocalSignal() });
      for (const { context, turn, length, messageId } of kept) {
        assert.ok(turn > highest, "a key was given twice");
        const record = await store.loadTurn({ context, turn });
        assert.ok(record && record.length >= length, `turn ${turn} has lost entries`);
        assert.equal((await store.loadJournal(record, 0)).length, record.length);
        const key = { subject: "ada", agent: "echo", contextId: "talk", messageId };
        assert.equal((await store.findMessage(key))?.turn, turn);
      }
      const turns = (await store.listTurns({ subject: "ada", agent: "echo", limit: 1 })).turns;
      highest = Math.max(highest, ...kept.map(({ turn }) => turn), ...turns.map(({ turn }) => turn));
    }
  });
});

describe("a look whether a SQLite database is whole", () => {
  const all = { do: "check", most: Number.POSITIVE_INFINITY } as const;

  it("tells damage, and takes nothing else for it: neither a lock, nor what cannot be reached", async () => {
    using folder = new Folder();
    const { file } = folder;
    {
      await using place = await Place.open(openAt(file));
      for (let n = 0; n < 50; n++) await place.accept({ contextId: `c-${n}`, messageId: `m-${n}` });
    }
    assert.deepEqual(await survey(file, all), { problems: [] });
    {
      using other = lockAll(file);
      setTimeout(() => other.close(), 300);
      assert.deepEqual(await survey(file, all), { problems: [] }, "a short lock is waited for");
    }
    {
      using _other = lockAll(file);
      await assert.rejects(survey(file, all), { code: "store.failed", message: "database is locked" });
    }
    await assert.rejects(survey(join(file, "..", "none.db"), all), { code: "store.failed" });
    const bytes = readFileSync(file);
    for (const at of [0, 4096 * 3]) {
      writeFileSync(file, Buffer.from(bytes).fill(0xff, at, 4096 * 9));
      const { problems } = await survey(file, all);
      assert.ok(problems.length > 0, `damage from byte ${at} on`);
    }
  });

  it("ends when the store is closed, which leaves nothing but the database", async () => {
    using folder = new Folder();
    const { file } = folder;
    for (const after of [0, 1, 5, 20, 80]) {
      const store = await openSqliteStore({ file, signal: createLocalSignal() });
      const looks = Promise.allSettled([store.check()]);
      await delay(after);
      await store[Symbol.asyncDispose]();
      const [look] = await looks;
      if (look.status === "fulfilled") assert.deepEqual(look.value, []);
      else assert.equal((look.reason as Error).name, "AbortError");
      assert.ok(!existsSync(`${file}-wal`), `the log is put away, ${after} ms after it began`);
      await assert.rejects(store.check(), { name: "AbortError" });
    }
  });
});

/** As the last connection does while it closes. */
function lockAll(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  return database;
}

/** What a process that writes without pause has told to be stored, when it is killed after so many messages. */
async function writeUntilKilled(script: string, file: string, messages: number): Promise<Kept[]> {
  const child = spawn(process.execPath, [script, file], { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const exit = once(child, "exit");
  const kept = new Map<number, Kept>();
  for await (const line of createInterface(child.stdout)) {
    // The kill may cut the last line.
    if (!line.endsWith("}")) continue;
    const one = JSON.parse(line) as Kept;
    kept.set(one.turn, one);
    if (kept.size >= messages) child.kill("SIGKILL");
  }
  await exit;
  clearTimeout(timer);
  assert.ok(kept.size >= messages, "it did not get that far");
  return [...kept.values()];
}

describe("a file that is no store", () => {
  it("is refused with a sentence that says which and why, and is left as it is", async () => {
    using folder = new Folder();
    const { file } = folder;
    writeFileSync(file, "These are words, and not a database. ".repeat(100));
    const opening = openSqliteStore({ file, signal: createLocalSignal() });
    await assert.rejects(opening, (error) => isStoreError(error, "store.broken") && error.message.includes(file));
  });

  it("is refused when a newer version wrote it", async () => {
    using folder = new Folder();
    const { file } = folder;
    const newer = new DatabaseSync(file);
    newer.exec("PRAGMA user_version = 999");
    newer.close();
    const opening = openSqliteStore({ file, signal: createLocalSignal() });
    await assert.rejects(opening, (error) => isStoreError(error, "store.newer") && error.message.includes("999"));
  });
});

function isStoreError(error: unknown, code: StoreError["code"]): error is StoreError {
  return error instanceof StoreError && error.code === code;
}
