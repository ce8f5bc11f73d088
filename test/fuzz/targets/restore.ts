/**
 * Backups and exports that were changed: in their bytes, as disks do it, or in what they hold. Each is refused in one sentence, and then there
 * is no home; or it is restored, and serves.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { startRuntime } from "@nylorun/runtime";
import * as fc from "fast-check";

import { restoreHome } from "../../../packages/runtime/src/node/restore.ts";
import { openSource } from "../../../packages/runtime/src/store/sqlite/source.ts";
import { TABLE_NAMES } from "../../../packages/runtime/src/store/transfer.ts";
import type { Source, Value } from "../../../packages/runtime/src/store/transfer.ts";
import { makeAgent } from "../../conformance/agents.ts";
import { Wire } from "../../conformance/wire.ts";
import { near } from "../edit.ts";
import { checkAnswer, Served } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

interface Changes {
  /** Statements that are run on it, if SQLite takes them. */
  readonly sql?: readonly string[];
  /** Bytes that take the place of others; places are fractions of the whole. */
  readonly bytes?: readonly { readonly place: number; readonly bytes: readonly number[] }[];
  /** How much of it is left, as a fraction. */
  readonly left?: number;
}

const ODD = [
  "NULL",
  "''",
  "'x'",
  "'{'",
  "'[]'",
  "'null'",
  "char(0)",
  "X'FF00'",
  "CAST(X'FFFE' AS TEXT)",
  "0",
  "-1",
  "1.5",
  "9007199254740993",
  "9223372036854775807",
  "1e308",
  "9e999",
];
const SCHEMES = [
  "PRAGMA user_version = 0",
  "PRAGMA user_version = 2",
  "PRAGMA user_version = -1",
  "PRAGMA journal_mode = WAL",
  "DROP TABLE journal",
  "DROP INDEX turns_listed",
  'CREATE TABLE [a"b] (c)',
  "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
  "CREATE TRIGGER t AFTER UPDATE ON turns BEGIN DELETE FROM api_keys; END",
  "ALTER TABLE turns RENAME TO other; CREATE VIEW turns AS SELECT * FROM other",
  "ALTER TABLE turns ADD COLUMN more",
  "DELETE FROM counters",
  "DELETE FROM secrets",
  "DELETE FROM contexts",
  "DELETE FROM scopes",
  "UPDATE sqlite_sequence SET seq = 9223372036854775807",
];
/** What it takes at most until a home is refused or serves, in milliseconds. */
const PATIENCE = 30_000;

const agent = makeAgent("target", async (turn) => turn.text);

export const startRestore: StartTarget = async () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-fuzz-restore-"));
  const [backup, changed] = [join(folder, "backup"), join(folder, "changed")];
  {
    await using served = await Served.start();
    using database = new DatabaseSync(join(served.runtime.home, "nylorun.db"), { readOnly: true });
    database.prepare("VACUUM INTO ?").run(backup);
  }
  const { columns, texts } = contentOf(backup);
  const inputs: fc.Arbitrary<Changes> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom(...columns), fc.constantFrom(...ODD))
        .map(([{ table, column }, odd]) => ({ sql: [`UPDATE OR IGNORE ${table} SET ${column} = ${odd}`] })),
    },
    {
      weight: 4,
      arbitrary: near(fc.constantFrom(...texts.map(({ text }) => JSON.parse(text) as unknown))).chain((value) =>
        fc.constantFrom(...texts).map(({ table, column }) => {
          const text = JSON.stringify(value ?? null).replaceAll("'", "''");
          return { sql: [`UPDATE ${table} SET ${column} = '${text}'`] };
        }),
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom(...SCHEMES).map((sql) => ({ sql: [sql] })) },
    {
      weight: 4,
      arbitrary: fc
        .array(
          fc.record({
            place: fc.double({ min: 0, max: 1, noNaN: true }),
            bytes: fc.oneof(
              fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 4 }),
              fc.constantFrom(
                [0xff, 0xff, 0xff, 0xff],
                Array.from({ length: 512 }, () => 0),
              ),
            ),
          }),
          { minLength: 1, maxLength: 20 },
        )
        .map((bytes) => ({ bytes })),
    },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((left) => ({ left })) },
  );
  let homes = 0;
  return {
    inputs,
    async check(input: Input) {
      change(backup, changed, input as Changes);
      const home = join(folder, `home-${++homes}`);
      const begun = performance.now();
      try {
        readAll(changed);
        if (await isRestored(changed, home)) await checkServes(home);
      } finally {
        rmSync(home, { recursive: true, force: true });
        for (const suffix of ["", "-wal", "-shm"]) rmSync(changed + suffix, { force: true });
      }
      const took = performance.now() - begun;
      if (took > PATIENCE) throw new Error(`it took ${Math.round(took)} ms`);
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true });
    },
  };
};

/** The columns that there are, and JSON that stands in them. */
function contentOf(file: string) {
  using database = new DatabaseSync(file, { readOnly: true });
  const columns = database
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1, 2`,
    )
    .all() as { table: string; column: string }[];
  const texts = columns.flatMap(({ table, column }) =>
    database
      .prepare(
        `SELECT DISTINCT ${column} AS text FROM ${table} WHERE typeof(${column}) = 'text' AND ${column} LIKE '{%'`,
      )
      .all()
      .map(({ text }) => ({ table, column, text: text as string })),
  );
  return { columns, texts };
}

function change(from: string, to: string, { sql = [], bytes = [], left = 1 }: Changes): void {
  copyFileSync(from, to);
  {
    using database = new DatabaseSync(to, { enableForeignKeyConstraints: false, defensive: false });
    for (const one of sql) {
      try {
        database.exec(one);
      } catch {
        // Not even SQLite holds that.
      }
    }
  }
  if (bytes.length === 0 && left === 1) return;
  const all = readFileSync(to);
  for (const { place, bytes: some } of bytes)
    all.set(some.slice(0, all.length), Math.floor(place * (all.length - some.length)));
  writeFileSync(to, all.subarray(0, Math.floor(left * all.length)));
}

/** Reads what an import would carry. @throws When that does not end, or says what is not for people. */
function readAll(file: string): void {
  let source: Source;
  try {
    source = openSource(file);
  } catch (error) {
    checkRefusal(error);
    return;
  }
  using _ = source;
  for (const table of TABLE_NAMES) {
    let after: readonly Value[] | undefined;
    let pages = 0;
    do {
      after = source.page(table, after).next;
      if (++pages > 100) throw new Error(`${table} has no end`);
    } while (after !== undefined);
  }
}

async function isRestored(file: string, home: string): Promise<boolean> {
  try {
    await restoreHome(file, home);
    return true;
  } catch (error) {
    checkRefusal(error);
    const size = statSync(join(home, "nylorun.db"), { throwIfNoEntry: false })?.size ?? 0;
    if (size > 0) throw new Error("is refused, and makes a home", { cause: error });
    return false;
  }
}

/** @throws When it is none that people are told. */
function checkRefusal(error: unknown): void {
  const { name, code, message } = error as Error & { code?: string };
  if (/^(Store|Runtime)Error$/.test(name) && /^(store|home|request)\./.test(code ?? "") && !message.includes("\n"))
    return;
  throw error;
}

async function checkServes(home: string): Promise<void> {
  await using runtime = await startRuntime({ agents: [agent], home, port: 0, logLevel: "silent", stopGraceMs: 0 });
  const wire = new Wire(runtime.url, await runtime.addKey({ role: "subject", subject: "ada" }));
  const listing = { includeArtifacts: true, historyLength: 10 };
  const { tasks } = await wire.result<{ tasks: { id: string }[] }>("target", "ListTasks", listing);
  for (const { id } of tasks) await wire.result("target", "GetTask", { id, historyLength: 10 });
  await wire.send("target", "Hello");
  const authorization = `Bearer ${await runtime.addKey({ role: "operator" })}`;
  for (const path of ["turns/held", "effects", "deliveries?state=waiting", "keys"]) {
    const response = await fetch(`${runtime.url}/v1/operator/${path}`, { headers: { authorization } });
    checkAnswer({ status: response.status, type: "application/json", text: await response.text() });
  }
}
