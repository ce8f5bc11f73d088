/** A SQLite database that is carried over, whatever interrupts that: the same is asked of both, and answered alike. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { openLossyLine } from "../../../../../test/postgres/lossy-line.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { createLocalSignal } from "../../../src/store/local-signal.ts";
import { importInto } from "../../../src/store/postgres/import.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openSource } from "../../../src/store/sqlite/source.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { TABLE_NAMES, TABLES } from "../../../src/store/transfer.ts";
import type { Source } from "../../../src/store/transfer.ts";
import type { TurnKey } from "../../../src/turn/record.ts";
import { entry, Place } from "../place.ts";
import type { Database } from "./answers.ts";

const target = { id: "one", url: "https://a.example/1", origin: "https://a.example", extensions: [] };

/** A store with something of everything in it. */
async function fill(place: Place): Promise<readonly TurnKey[]> {
  const keys: TurnKey[] = [];
  for (let n = 0; n < 60; n++) {
    const message = {
      messageId: `m-${n}`,
      parts: [{ text: `\u0000 Grüße 🎈 ${n}` }],
      extensionData: { "https://e": { n } },
    };
    const subject = `s-${n % 4}`;
    const claim = await place.run({ subject, contextId: `c-${n}`, message, ...(n % 3 === 0 && { push: target }) });
    const { turn, epoch } = claim;
    keys.push(turn);
    await place.store.files.hold({
      key: turn,
      of: 0,
      anew: true,
      bytes: [{ sha256: String(n % 7).repeat(64), size: 100 + (n % 7) }],
      limits: { total: 1e9, subject: 1e9 },
    });
    await place.commit(turn, { epoch, entries: [entry(n), entry(n + 1)], outputs: [{ of: 0, path: "a", version: 1 }] });
    const view = { totals: { steps: 1, costUsd: n / 7 }, waitsFor: "question" } as const;
    if (n % 5 === 0)
      await place.commit(turn, {
        epoch,
        state: "waiting",
        view,
        then: { do: "park", dueAt: n % 2 ? place.now : undefined },
      });
    else await place.commit(turn, { epoch, state: "completed", view: { totals: view.totals }, then: { do: "end" } });
    if (n % 6 === 0) keys.push(await place.begin({ subject, contextId: `c-${n}` }));
    place.now += 7;
  }
  keys.push(await place.begin({ subject: "s-0", contextId: "ready" }));
  await place.store.keys.add({ hash: "h", holder: { role: "subject", subject: "s-1" } });
  await place.store.secret("task-id", () => new Uint8Array(16).with(1, 255));
  await place.store.sessions.add({ hash: "s", sealed: new Uint8Array([1, 2]), expiresAt: place.now + 1e6 });
  return keys;
}

/** What a store says when it is asked everything. */
async function ask(store: Store, keys: readonly TurnKey[]) {
  const lists = ["s-0", "s-1", "s-2", "s-3"].map(async (subject) => [
    await store.listTurns({ subject, agent: "echo", limit: 100 }),
    await store.listTurns({ subject, agent: "echo", limit: 5, status: "TASK_STATE_COMPLETED", statusFrom: 0 }),
    await store.usage({ subjects: [subject], from: 0 }),
  ]);
  const { bytes: _, freeBytes: __, ...figures } = await store.measure();
  return {
    turns: await Promise.all(
      keys.map(async (key) => [await store.loadTurn(key), await store.loadJournal(key, 0), await store.push.list(key)]),
    ),
    lists: await Promise.all(lists),
    versions: await Promise.all(keys.map(({ context }) => store.files.lastVersion(context, "a"))),
    blobs: await Promise.all(keys.map((key, n) => store.files.find(key, String(n % 7).repeat(64)))),
    deliveries: await store.push.deliveries({ givenUp: false, limit: 1000 }),
    usage: await store.usage({ subjects: undefined, from: 0 }),
    keys: await store.keys.list(),
    secret: [...(await store.secret("task-id", () => assert.fail("it is there")))],
    session: [...(await store.sessions.find("s"))!.sealed],
    due: await store.nextDue(),
    figures,
  };
}

export function importing(database: () => Database & { readonly query: (text: string) => Promise<unknown> }): void {
  describe("a SQLite database that is imported", () => {
    const home = async (work: (file: string) => Promise<void>) => {
      const folder = mkdtempSync(join(tmpdir(), "nylorun-import-"));
      try {
        await work(join(folder, "nylorun.db"));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    };
    const makeAt = async (file: string, work: (place: Place) => Promise<void>) => {
      let store: Store | undefined;
      await using place = await Place.open(async (options) => ({
        store: (store = await openSqliteStore({ file, ...options })),
        reopen: () => assert.fail(),
        [Symbol.asyncDispose]: async () => store?.[Symbol.asyncDispose](),
      }));
      await work(place);
    };

    it("equals what it was, though it was interrupted three times, and goes on", () =>
      home(async (file) => {
        const { url, schema: name } = database();
        const schema = name();
        let keys: readonly TurnKey[] = [];
        let before: unknown;
        let now = 0;
        await makeAt(file, async (place) => {
          keys = await fill(place);
          before = await ask(place.store, keys);
          ({ now } = place);
        });
        await using line = await openLossyLine(url);
        for (const table of ["scopes", "turns", "messages"]) {
          line.up();
          using source = openSource(file);
          const cut = importInto({
            url: line.url,
            schema,
            source,
            onProgress: (progress) => {
              if (progress.table === table) line.down();
            },
          });
          await assert.rejects(cut, (error) => error instanceof StoreError && error.code === "store.failed");
          const serving = openPostgresStore({ url, schema, signal: createLocalSignal() });
          await assert.rejects(serving, (error) => error instanceof StoreError && error.code === "store.importing");
        }
        {
          using source = openSource(file);
          const { rows, resumed } = await importInto({ url, schema, source });
          assert.equal(resumed, true);
          assert.deepEqual([rows.turns, rows.contexts, rows.blobs, rows.push_configs], [keys.length, 61, 7, 20]);
          await assert.rejects(importInto({ url, schema, source }), /holds something already/);
        }
        await using store = await openPostgresStore({ url, schema, signal: createLocalSignal(), now: () => now });
        assert.deepEqual(await ask(store, keys), before);
        // What comes next gets keys that nobody ever had, and what waits goes on.
        const accepted = await store.accept({
          key: { subject: "s-9", agent: "echo", contextId: "new", messageId: "m" },
          contentHash: "h",
          message: { messageId: "m", parts: [] },
          agentVersion: "1",
          traceparent: "00",
          whenBusy: "queue",
          queueDepth: 1,
          dedupeMs: 1000,
          claim: undefined,
        });
        assert.ok(accepted.kind === "accepted");
        for (const { context, turn } of keys) assert.ok(turn < accepted.turn.turn && context < accepted.turn.context);
        const claims = await store.claimDue({ limit: 100, leaseMs: 1000 });
        assert.ok(claims.some(({ turn }) => turn.contextId === "ready"));
        assert.equal((await store.keys.add({ hash: "i", holder: { role: "operator" } })).id, "2");
      }));

    it("is found out when it does not equal what it was", () =>
      home(async (file) => {
        const { url, schema: name } = database();
        const schema = name();
        await makeAt(file, async (place) => void (await fill(place)));
        using source = openSource(file);
        let reads = 0;
        const wrapped: Source = {
          ...source,
          // What was copied at first is not what is there when it is compared.
          page(table, after) {
            const page = source.page(table, after);
            if (table !== "turns" || after !== undefined || ++reads !== 2) return page;
            return { ...page, rows: page.rows.with(7, page.rows[7]!.with(6, 1)) };
          },
        };
        await assert.rejects(
          importInto({ url, schema, source: wrapped }),
          (error) => error instanceof StoreError && /turns \[\d+\] is not what was sent/.test(error.message),
        );
      }));

    it("has every column that the database has, but for what is worked out anew", async () => {
      const { url, schema: name, query } = database();
      const schema = name();
      await (await openPostgresStore({ url, schema, signal: createLocalSignal() }))[Symbol.asyncDispose]();
      const rows = (await query(
        `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns WHERE table_schema = '${schema}'`,
      )) as { table: string; column: string }[];
      const anew = new Set(["contexts.place", "contexts.token", "turns.token", "journal.token"]);
      const worked = new Set(["names", "changes", "tallies", "sums", "totals", "versions", "imports", "imported"]);
      const carried = new Set(
        TABLE_NAMES.flatMap((table) => Object.keys(TABLES[table].columns).map((c) => `${table}.${c}`)),
      );
      const missing = rows
        .filter(({ table }) => !worked.has(table))
        .map(({ table, column }) => `${table}.${column}`)
        .filter((column) => !carried.has(column) && !anew.has(column));
      assert.deepEqual(missing, []);
    });
  });
}
