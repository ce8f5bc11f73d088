/**
 * What a database holds, table by table and in the order of their keys, as it is carried from one kind of store to another. Sums that can be
 * added up again are not carried, nor what a store keeps of its own.
 */

/** How a value of a column is written: `flag` as a boolean, `bytes` as lower-case hex, all others as they are. */
export type ColumnKind = "whole" | "real" | "text" | "flag" | "bytes";
export type Value = number | string | boolean | null;

export interface Table {
  /** What rows are in the order of, and unique by. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnKind>>;
}

/** In an order in which each may be written: what a row needs comes before it. */
export const TABLES = {
  secrets: { key: ["name"], columns: { name: "text", value: "bytes", created_at: "whole" } },
  api_keys: {
    key: ["key"],
    columns: {
      key: "whole",
      hash: "text",
      role: "text",
      subject: "text",
      created_at: "whole",
      revoked_at: "whole",
    },
  },
  sessions: { key: ["hash"], columns: { hash: "text", sealed: "bytes", expires_at: "whole" } },
  subjects: { key: ["subject"], columns: { subject: "whole", name: "text" } },
  scopes: { key: ["scope"], columns: { scope: "whole", subject: "whole", agent: "text" } },
  usage: {
    key: ["subject", "day", "agent"],
    columns: { subject: "whole", day: "whole", agent: "text", turns: "whole", tokens: "real", cost_usd: "real" },
  },
  contexts: {
    key: ["context"],
    columns: {
      context: "whole",
      scope: "whole",
      subject: "whole",
      name: "text",
      created_at: "whole",
      active: "whole",
      queued: "whole",
      epoch: "whole",
      runner: "text",
      ready_at: "whole",
      due_at: "whole",
    },
  },
  turns: {
    key: ["turn"],
    columns: {
      context: "whole",
      turn: "whole",
      scope: "whole",
      state: "text",
      status: "whole",
      waits_for: "text",
      tokens: "real",
      cost_usd: "real",
      status_at: "whole",
      created_at: "whole",
      length: "whole",
      revision: "whole",
      deaths: "whole",
      troubled: "flag",
      journaled: "flag",
      pushes: "whole",
      agent_version: "text",
      traceparent: "text",
      message: "text",
      extension_data: "text",
      view: "text",
    },
  },
  journal: {
    key: ["turn", "seq"],
    columns: { context: "whole", turn: "whole", seq: "whole", kind: "text", body: "text", at: "whole" },
  },
  messages: {
    key: ["digest"],
    columns: { digest: "text", context: "whole", turn: "whole", content_hash: "text", forget_at: "whole" },
  },
  blobs: {
    key: ["blob"],
    columns: {
      blob: "whole",
      sha256: "text",
      size: "whole",
      created_at: "whole",
      condemned: "flag",
      free_at: "whole",
    },
  },
  holds: {
    key: ["turn", "seq", "blob"],
    columns: { context: "whole", turn: "whole", seq: "whole", blob: "whole", kept: "flag" },
  },
  outputs: { key: ["context", "path"], columns: { context: "whole", path: "text", version: "whole" } },
  push_configs: {
    key: ["config"],
    columns: {
      context: "whole",
      turn: "whole",
      config: "whole",
      scope: "whole",
      subject: "whole",
      id: "text",
      origin: "text",
      target: "text",
      created_at: "whole",
      epoch: "whole",
      revision: "whole",
      failures: "whole",
      runner: "text",
      due_at: "whole",
    },
  },
  outbox: {
    key: ["delivery"],
    columns: {
      context: "whole",
      delivery: "whole",
      id: "text",
      config: "whole",
      turn: "whole",
      change: "text",
      kind: "text",
      soft: "flag",
      created_at: "whole",
      attempts: "whole",
      error: "text",
      given_up_at: "whole",
    },
  },
} as const satisfies Readonly<Record<string, Table>>;

export type TableName = keyof typeof TABLES;
export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];

/** Values in the order of {@link Table.columns}. */
export type TransferRow = readonly Value[];

/** A page of a table. */
export interface Page {
  readonly rows: readonly TransferRow[];
  /** The key of the last row; undefined: there are no more. */
  readonly next: readonly Value[] | undefined;
}

/** A store that is carried elsewhere. Nothing changes it meanwhile. */
export interface Source extends Disposable {
  /** The same for the same source, and no other's: to go on with what was begun. */
  readonly name: string;
  /** Keys of contexts and turns up to these may have been given out. */
  readonly counters: { readonly context: number; readonly turn: number };
  /** What all blobs take. */
  readonly fileBytes: number;
  count(table: TableName): number;
  /** @param after Default: from the beginning. */
  page(table: TableName, after: readonly Value[] | undefined): Page;
}

/** Rows of a page, and about how many characters. */
export const ROWS_OF_PAGE = 1000;
export const CHARACTERS_OF_PAGE = 4_000_000;

export function keyOfRow(name: TableName, row: TransferRow): readonly Value[] {
  const table: Table = TABLES[name];
  const columns = Object.keys(table.columns);
  return table.key.map((column) => row[columns.indexOf(column)]!);
}
