/** The tables and functions of the store, in a schema of their own: made, and brought up to date, by whichever node comes first. */
import { readFileSync } from "node:fs";

import { Client } from "pg";

import { StoreError } from "../errors.ts";
import { unusable } from "./failure.ts";

/** In order; each is applied once, in a transaction, and never edited after a release. */
const migrations = ["001-tables.sql", "002-turns.sql", "003-push.sql", "004-files.sql", "005-import.sql"];

/** The schema that this version has written, or brought up to date. */
export const schemaVersion = migrations.length;

/** How long a node waits for another one that is at it, in milliseconds. */
const LOCK_TIMEOUT = 60_000;

interface Place {
  readonly url: string;
  readonly schema: string;
}

/** @throws StoreError `store.newer`, `store.broken`. */
export async function migrate({ url, schema }: Place): Promise<void> {
  await withClient(url, (client) => bringUpToDate(client, schema));
}

/**
 * Changes nothing.
 *
 * @returns Whether there is a schema, of this version.
 * @throws StoreError `store.newer`, `store.older`, `store.broken`.
 */
export async function isUpToDate({ url, schema }: Place): Promise<boolean> {
  const found = await withClient(url, (client) => versionOf(client, schema));
  if (found === undefined || found === schemaVersion) return found !== undefined;
  const which = `The schema ${schema} is of version ${found}, and this version of Nylorun reads ${schemaVersion}`;
  throw found > schemaVersion
    ? new StoreError("store.newer", `${which}: use the version that wrote it.`)
    : new StoreError("store.older", `${which}: use the version that wrote it, or serve it once with this one.`);
}

async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, application_name: "nylorun" });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw unusable("store.broken", url, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function bringUpToDate(client: Client, schema: string): Promise<void> {
  const name = client.escapeIdentifier(schema);
  await client.query(`SET lock_timeout TO ${LOCK_TIMEOUT}`);
  // Who only serves need not be allowed to make tables.
  if ((await versionOf(client, schema)) === schemaVersion) return;
  await client.query("BEGIN");
  // One at a time: who waited finds it done.
  await client.query("SELECT pg_advisory_xact_lock(hashtext('nylorun migrate ' || $1))", [schema]);
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${name}`);
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${name}.versions (version integer PRIMARY KEY, at timestamptz NOT NULL)`,
  );
  const found = (await versionOf(client, schema)) ?? 0;
  if (found > schemaVersion) {
    throw new StoreError(
      "store.newer",
      `The schema ${schema} was written by a newer version of Nylorun (schema ${found}, this one knows ${schemaVersion}): use that version, or another schema.`,
    );
  }
  await client.query(`SET LOCAL search_path TO ${name}`);
  for (const [index, file] of migrations.entries()) {
    if (index < found) continue;
    await client.query(readFileSync(new URL(`./migrations/${file}`, import.meta.url), "utf8"));
    await client.query("INSERT INTO versions VALUES ($1, now())", [index + 1]);
  }
  await client.query("COMMIT");
}

/** Undefined: there is none yet. */
async function versionOf(client: Client, schema: string): Promise<number | undefined> {
  const name = client.escapeIdentifier(schema);
  const { rows } = await client.query("SELECT to_regclass($1) IS NOT NULL AS there", [`${name}.versions`]);
  if (!(rows[0] as { there: boolean }).there) return undefined;
  const { rows: versions } = await client.query(`SELECT coalesce(max(version), 0) AS version FROM ${name}.versions`);
  return (versions[0] as { version: number }).version;
}
