/** Rows of the database, and what they are to the rest of the Runtime. */
import type { TurnState } from "@nylorun/protocol";

import type { StoredMessage, TurnRecord, TurnView } from "../../turn/record.ts";
import type { KeyRecord } from "../store.ts";

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

export interface TurnRow {
  readonly turn: number;
  readonly context: number;
  readonly state: TurnState;
  readonly status_at: number;
  readonly created_at: number;
  readonly length: number;
  readonly revision: number;
  readonly deaths: number;
  readonly agent_version: string;
  readonly traceparent: string;
  readonly message: string;
  readonly extension_data: string | null;
  readonly view: string;
  readonly name: string;
  readonly scope: number;
}

export function turnOf(row: TurnRow, { subject, agent }: Scope): TurnRecord {
  const message = JSON.parse(row.message) as StoredMessage;
  return {
    context: row.context,
    turn: row.turn,
    subject,
    agent,
    contextId: row.name,
    state: row.state,
    statusAt: row.status_at,
    createdAt: row.created_at,
    length: row.length,
    revision: row.revision,
    deaths: row.deaths,
    agentVersion: row.agent_version,
    traceparent: row.traceparent,
    message:
      row.extension_data === null
        ? message
        : { ...message, extensionData: JSON.parse(row.extension_data) as Record<string, unknown> },
    view: JSON.parse(row.view) as TurnView,
  };
}

export interface KeyRow {
  readonly key: number;
  readonly role: string;
  readonly subject: string | null;
  readonly created_at: number;
  readonly revoked_at: number | null;
}

export function keyOf(row: KeyRow): KeyRecord {
  return {
    id: String(row.key),
    holder: row.subject === null ? { role: "operator" } : { role: "subject", subject: row.subject },
    createdAt: row.created_at,
    revokedAt: row.revoked_at ?? undefined,
  };
}
