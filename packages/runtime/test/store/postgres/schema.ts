/** What the tables must be so that they can be spread over many servers, and who may use them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { taskStateOf } from "@nylorun/protocol";
import type { TurnState, WaitKind } from "@nylorun/protocol";

import { StoreError } from "../../../src/store/errors.ts";
import { createLocalSignal } from "../../../src/store/local-signal.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { statusNumber } from "../../../src/store/status.ts";
import type { Database } from "./answers.ts";

/** The same on every server, small or seldom written: Citus calls such a table a reference table. */
const everywhere = new Set([
  ...["subjects", "scopes", "api_keys", "sessions", "secrets", "totals", "tallies", "sums", "usage", "versions"],
  ...["blobs", "imports", "imported"],
]);
/** Unique beyond any one context, so each is distributed by what it is unique by. */
const byOwnKey = new Map([
  ["names", ["scope", "name"]],
  ["messages", ["digest"]],
]);

type Query = (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

const open = ({ url }: Database, schema: string) => openPostgresStore({ url, schema, signal: createLocalSignal() });

export function schemaRules(database: () => Database & { readonly query: Query }): void {
  describe("the tables of PostgreSQL", () => {
    it("carry the context's key, first in their own, but for those that are everybody's", async () => {
      const schema = database().schema();
      await using _ = await open(database(), schema);
      const rows = await database().query(
        `SELECT c.relname AS name, ARRAY(
           SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, at)
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum ORDER BY k.at
         ) AS key
         FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE c.relkind = 'r' AND c.relnamespace = $1::regnamespace`,
        [schema],
      );
      const tables = rows as unknown as { name: string; key: string[] }[];
      assert.ok(tables.length > 15);
      for (const { name, key } of tables) {
        if (everywhere.has(name)) continue;
        if (byOwnKey.has(name)) assert.deepEqual(key, byOwnKey.get(name), name);
        else assert.equal(key[0], "context", `${name} is not by context`);
      }
      // Another unique index would have to hold the column that its table is distributed by.
      const unique = await database().query(
        `SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class c ON c.oid = indrelid
         WHERE c.relnamespace = $1::regnamespace AND indisunique AND NOT indisprimary`,
        [schema],
      );
      assert.deepEqual(
        unique.map(({ name }) => String(name).split(".").at(-1)!).toSorted((a, b) => (a < b ? -1 : 1)),
        ["api_keys_hash_key", "blobs_live", "scopes_subject_agent_key", "subjects_name_key"],
        "all of them of tables that are everywhere",
      );
    });

    it("need nothing that PostgreSQL's relatives lack: no foreign keys, triggers, extensions or rare types", async () => {
      const schema = database().schema();
      await using _ = await open(database(), schema);
      const count = async (text: string) => Number((await database().query(text, [schema]))[0]!["n"]);
      const ours = "relnamespace = $1::regnamespace";
      assert.equal(
        await count(`SELECT count(*) AS n FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE ${ours}`),
        0,
      );
      assert.equal(
        await count(
          `SELECT count(*) AS n FROM pg_constraint JOIN pg_class c ON c.oid = conrelid WHERE ${ours} AND contype = 'f'`,
        ),
        0,
      );
      const types = await database().query(
        `SELECT DISTINCT format_type(atttypid, NULL) AS type FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE ${ours} AND c.relkind = 'r' AND attnum > 0`,
        [schema],
      );
      const known = new Set(["bigint", "boolean", "bytea", "double precision", "integer", "smallint", "text", "uuid"]);
      const rare = types.map(({ type }) => String(type)).filter((type) => !known.has(type));
      assert.deepEqual(rare, ["timestamp with time zone"], "when each migration was applied");
      const languages = await database().query(
        `SELECT DISTINCT lanname AS name FROM pg_proc JOIN pg_language l ON l.oid = prolang
         WHERE pronamespace = $1::regnamespace ORDER BY 1`,
        [schema],
      );
      assert.deepEqual(
        languages.map(({ name }) => name),
        ["plpgsql", "sql"],
      );
    });

    it("say of a turn what the protocol says (status_of is taskStateOf)", async () => {
      const schema = database().schema();
      await using _ = await open(database(), schema);
      const states: TurnState[] = ["queued", "running", "waiting", "uncertain", "held"];
      const ended: TurnState[] = ["completed", "failed", "rejected", "canceled"];
      const waits: (WaitKind | undefined)[] = ["question", "approval", "connection", "sleep", undefined];
      for (const state of [...states, ...ended]) {
        for (const waitsFor of waits) {
          const [row] = await database().query(`SELECT ${schema}.status_of($1, $2) AS status`, [
            state,
            waitsFor ?? null,
          ]);
          assert.equal(row!["status"], statusNumber(taskStateOf(state, waitsFor)), `${state} ${waitsFor}`);
        }
      }
    });

    it("are made once, however many nodes begin at once", async () => {
      const schema = database().schema();
      const stores = await Promise.all(Array.from({ length: 4 }, () => open(database(), schema)));
      const secrets = await Promise.all(
        stores.map((store, n) => store.secret("a", () => new Uint8Array(8).fill(n + 1))),
      );
      assert.equal(new Set(secrets.map(String)).size, 1);
      for (const store of stores) await store[Symbol.asyncDispose]();
    });

    it("of a newer version are refused, and left as they are", async () => {
      const schema = database().schema();
      await (await open(database(), schema))[Symbol.asyncDispose]();
      await database().query(`INSERT INTO ${schema}.versions VALUES (999, now())`);
      await assert.rejects(
        open(database(), schema),
        (error) => error instanceof StoreError && error.code === "store.newer" && error.message.includes("999"),
      );
    });
  });

  describe("a PostgreSQL that is not there", () => {
    it("is named by its host, and by nothing that is secret", async () => {
      const url = "postgres://somebody:hunter2@127.0.0.1:1/nothing";
      const opening = openPostgresStore({ url, signal: createLocalSignal() });
      await assert.rejects(
        opening,
        (error) =>
          error instanceof StoreError && error.message.includes("127.0.0.1:1") && !error.message.includes("hunter2"),
      );
    });
  });
}
