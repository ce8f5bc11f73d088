/** Rows of the database, and what they are to the rest of the Runtime. */
import type { TurnState } from "@nylorun/protocol";

import type { StoredMessage, TurnRecord, TurnView } from "../../turn/record.ts";
import type { KeyRecord } from "../store.ts";
import type { Row } from "./connections.ts";

/** Of a turn `t`, its context `c`, its scope `s` and its subject `u`: see {@link turnTables}. */
export const turnColumns = `
  t.turn, t.context, t.state, t.status_at, t.created_at, t.length, t.revision, t.deaths, t.agent_version, t.traceparent,
  t.message, t.extension_data, t.view, c.name AS context_name, u.name AS subject, s.agent`;
export const turnTables = `
  turns t JOIN contexts c ON c.context = t.context JOIN scopes s ON s.scope = c.scope JOIN subjects u ON u.subject = c.subject`;

interface TurnRow {
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
  readonly context_name: string;
  readonly subject: string;
  readonly agent: string;
}

export function turnOf(given: Row): TurnRecord {
  const row = given as unknown as TurnRow;
  const message = JSON.parse(row.message) as StoredMessage;
  return {
    context: row.context,
    turn: row.turn,
    subject: row.subject,
    agent: row.agent,
    contextId: row.context_name,
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

export function keyOf(row: Row): KeyRecord {
  const subject = row["subject"] as string | null;
  return {
    id: String(row["key"]),
    holder: subject === null ? { role: "operator" } : { role: "subject", subject },
    createdAt: row["created_at"] as number,
    revokedAt: (row["revoked_at"] as number | null) ?? undefined,
  };
}
