/** What is read of a turn: its own columns, its context's name, and its scope, which is looked up. */
import type { TurnRow as PlainTurnRow } from "../rows.ts";

/** Of a turn `t` and its context `c`: see {@link turnTables}. */
export const turnColumns = `
  t.turn, t.context, t.state, t.status_at, t.created_at, t.length, t.revision, t.deaths, t.agent_version, t.traceparent,
  t.message, t.extension_data, t.view, t.scope, c.name`;
export const turnTables = "turns t JOIN contexts c ON c.context = t.context";
/** Whose turn it is. */
export interface Scope {
  readonly subject: string;
  readonly agent: string;
}

export interface TurnRow extends PlainTurnRow {
  /** Its context's. */
  readonly name: string;
  readonly scope: number;
}
