/**
 * Carries another store's turns into this database: page by page, each in one transaction with the place that it came to, so that one that
 * was interrupted goes on there. At the end every row is compared with the source's. Until then no node serves from it.
 */
import { Client, TypeOverrides } from "pg";

import { StoreError } from "../errors.ts";
import { keyOfRow, TABLE_NAMES, TABLES } from "../transfer.ts";
import type { ColumnKind, Source, Table, TableName, TransferRow, Value } from "../transfer.ts";
import { migrate } from "./schema.ts";

export interface ImportOptions {
  readonly url: string;
  /** Default: `nylorun`. */
  readonly schema?: string;
  readonly source: Source;
  /** Told what is done, now and then. */
  readonly onProgress?: (progress: { readonly table: TableName; readonly rows: number; readonly of: number }) => void;
}

export interface Imported {
  /** Rows, by table, each of them compared with the source's. */
  readonly rows: Readonly<Record<TableName, number>>;
  /** It had been begun before. */
  readonly resumed: boolean;
}

const types = new TypeOverrides();
types.setTypeParser(20, Number); // int8
types.setTypeParser(17, (text: string) => text.replace(/^\\x/, "")); // bytea

const casts: Readonly<Record<ColumnKind, string>> = {
  whole: "bigint",
  real: "double precision",
  text: "text",
  flag: "boolean",
  bytes: "bytea",
};

/** Where a table has more columns than are carried. */
const more: { readonly [Name in TableName]?: { readonly column: string; readonly value: string } } = {
  journal: { column: "token", value: "'00000000-0000-0000-0000-000000000000'::uuid" },
};

/** @throws StoreError `store.broken`: it holds something else already; or what came is not what was sent. */
export async function importInto({ url, schema = "nylorun", source, onProgress }: ImportOptions): Promise<Imported> {
  await migrate({ url, schema });
  const client = new Client({ connectionString: url, application_name: "nylorun import", types, keepAlive: true });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await new Import(client, source, onProgress).run(schema);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "store.failed",
      `The import was interrupted: ${(error as Error).message}. Run it again: it goes on where it stopped.`,
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

class Import {
  readonly #client: Client;
  readonly #source: Source;
  readonly #onProgress: ImportOptions["onProgress"];

  constructor(client: Client, source: Source, onProgress: ImportOptions["onProgress"]) {
    this.#client = client;
    this.#source = source;
    this.#onProgress = onProgress;
  }

  async run(schema: string): Promise<Imported> {
    await this.#client.query(`SET search_path TO ${this.#client.escapeIdentifier(schema)}`);
    // One at a time; it goes with the session, however that ends.
    const { rows } = await this.#client.query<{ got: boolean }>(
      "SELECT pg_try_advisory_lock(hashtext('nylorun import ' || current_schema())) AS got",
    );
    if (!rows[0]!.got) throw new StoreError("store.broken", `Another import into the schema ${schema} is at work.`);
    const resumed = await this.#begin(schema);
    for (const table of TABLE_NAMES) await this.#copy(table);
    const counted: [TableName, number][] = [];
    for (const table of TABLE_NAMES) counted.push([table, await this.#compare(table)]);
    await this.#finish();
    return { rows: Object.fromEntries(counted) as Record<TableName, number>, resumed };
  }

  /** @returns Whether it goes on. */
  async #begin(schema: string): Promise<boolean> {
    const { rows } = await this.#client.query<{ source: string; done: boolean }>("SELECT source, done FROM imports");
    const [begun] = rows;
    if (begun?.source === this.#source.name && !begun.done) return true;
    const { rows: held } = await this.#client.query<{ full: boolean }>(
      "SELECT EXISTS (SELECT 1 FROM subjects) OR EXISTS (SELECT 1 FROM api_keys) OR EXISTS (SELECT 1 FROM secrets) AS full",
    );
    if (begun !== undefined || held[0]!.full) {
      throw new StoreError(
        "store.broken",
        `The schema ${schema} holds something already${begun === undefined ? "" : ", of another import"}: choose another one, or drop it first.`,
      );
    }
    await this.#client.query("INSERT INTO imports (source, done) VALUES ($1, false)", [this.#source.name]);
    return false;
  }

  async #copy(table: TableName): Promise<void> {
    const { rows: begun } = await this.#client.query<{ at_key: string | null; rows: number; done: boolean }>(
      "SELECT at_key, rows, done FROM imported WHERE name = $1",
      [table],
    );
    if (begun[0]?.done === true) return;
    const of = this.#source.count(table);
    let after = begun[0]?.at_key ? (JSON.parse(begun[0].at_key) as Value[]) : undefined;
    let rows = begun[0]?.rows ?? 0;
    for (let done = false; !done;) {
      const page = this.#source.page(table, after);
      rows += page.rows.length;
      done = page.next === undefined;
      after = page.next === undefined ? after : [...page.next];
      await this.#client.query("BEGIN");
      try {
        if (page.rows.length > 0) await this.#insert(table, page.rows);
        await this.#client.query(
          `INSERT INTO imported (name, at_key, rows, done) VALUES ($1, $2, $3, $4)
           ON CONFLICT (name) DO UPDATE SET at_key = excluded.at_key, rows = excluded.rows, done = excluded.done`,
          [table, after === undefined ? null : JSON.stringify(after), rows, done],
        );
        await this.#client.query("COMMIT");
      } catch (error) {
        await this.#client.query("ROLLBACK").catch(() => undefined);
        throw error;
      }
      this.#onProgress?.({ table, rows, of });
    }
  }

  async #insert(name: TableName, rows: readonly TransferRow[]): Promise<void> {
    const { columns }: Table = TABLES[name];
    const names = Object.keys(columns);
    const kinds = Object.values(columns);
    const extra = more[name];
    const values = kinds.map((kind, index) =>
      rows.map((row) => {
        const value = row[index]!;
        return kind === "bytes" && value !== null ? Buffer.from(value as string, "hex") : value;
      }),
    );
    const given = kinds.map((kind, index) => `$${index + 1}::${casts[kind]}[]`).join(", ");
    await this.#client.query({
      name: `import ${name}`,
      text: `INSERT INTO ${name} (${[...names, ...(extra ? [extra.column] : [])].join(", ")}) OVERRIDING SYSTEM VALUE
        SELECT *${extra ? `, ${extra.value}` : ""} FROM unnest(${given}) AS given (${names.join(", ")})`,
      values,
    });
    if (name !== "contexts") return;
    const at = (column: string) => names.indexOf(column);
    await this.#client.query({
      name: "import names",
      text: "INSERT INTO names (scope, name, context) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])",
      values: [values[at("scope")], values[at("name")], values[at("context")]],
    });
  }

  /** Row by row, as both have them. @returns How many there are. */
  async #compare(name: TableName): Promise<number> {
    const { key, columns }: Table = TABLES[name];
    const names = Object.keys(columns);
    const order = key.map((column) => (columns[column] === "text" ? `${column} COLLATE "C"` : column)).join(", ");
    let count = 0;
    let after: readonly Value[] | undefined;
    for (;;) {
      const page = this.#source.page(name, after);
      const where =
        after === undefined ? "" : `WHERE (${order}) > (${key.map((_, index) => `$${index + 1}`).join(", ")})`;
      // One more than there may be at the end.
      const limit = page.rows.length + (page.next === undefined ? 1 : 0);
      const { rows } = await this.#client.query({
        text: `SELECT ${names.join(", ")} FROM ${name} ${where} ORDER BY ${order} LIMIT ${limit}`,
        values: [...(after ?? [])],
        rowMode: "array",
      });
      const ours = rows as unknown as TransferRow[];
      page.rows.forEach((row, index) => {
        if (JSON.stringify(row) === JSON.stringify(ours[index])) return;
        throw notWhatWasSent(`${name} ${JSON.stringify(keyOfRow(name, row))} is not what was sent`);
      });
      if (ours.length !== page.rows.length) throw notWhatWasSent(`${name} has rows that were not sent`);
      count += ours.length;
      if (page.next === undefined) return count;
      after = page.next;
    }
  }

  /** What follows from the rows: places in line, sums, and the keys that come next. Then nodes may serve. */
  async #finish(): Promise<void> {
    const { context, turn } = this.#source.counters;
    await this.#client.query("BEGIN");
    await this.#client.query("SELECT import_finished($1, $2)", [context, turn]);
    await this.#client.query("UPDATE imports SET done = true");
    await this.#client.query("COMMIT");
  }
}

function notWhatWasSent(what: string): StoreError {
  return new StoreError("store.broken", `${what}. Drop the schema, and import again.`);
}
