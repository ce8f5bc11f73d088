/** What is read of a turn, and of a key. */
import type { TurnRecord } from "../../turn/record.ts";
import { keyOf as plainKeyOf, turnOf as plainTurnOf } from "../rows.ts";
import type { KeyRow, TurnRow as PlainTurnRow } from "../rows.ts";
import type { KeyRecord } from "../store.ts";
import type { Row } from "./connections.ts";

/** Of a turn `t`, its context `c`, its scope `s` and its subject `u`: see {@link turnTables}. */
export const turnColumns = `
  t.turn, t.context, t.state, t.status_at, t.created_at, t.length, t.revision, t.deaths, t.agent_version, t.traceparent,
  t.message, t.extension_data, t.view, c.name AS context_name, u.name AS subject, s.agent`;
export const turnTables = `
  turns t JOIN contexts c ON c.context = t.context JOIN scopes s ON s.scope = c.scope JOIN subjects u ON u.subject = c.subject`;

interface TurnRow extends PlainTurnRow {
  readonly context_name: string;
  readonly subject: string;
  readonly agent: string;
}

export function turnOf(given: Row): TurnRecord {
  const row = given as unknown as TurnRow;
  return plainTurnOf(row, { subject: row.subject, agent: row.agent, contextId: row.context_name });
}

export function keyOf(row: Row): KeyRecord {
  return plainKeyOf(row as unknown as KeyRow);
}
