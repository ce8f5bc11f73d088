/** Rows of turns and keys, as every database has them, and what they are to the rest of the Runtime. */
import type { TurnState } from "@nylorun/protocol";

import type { StoredMessage, TurnRecord, TurnView } from "../turn/record.ts";
import type { KeyRecord } from "./store.ts";

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
}

/** Whose turn it is. */
type Owner = Pick<TurnRecord, "subject" | "agent" | "contextId">;

export function turnOf(row: TurnRow, { subject, agent, contextId }: Owner): TurnRecord {
  const message = JSON.parse(row.message) as StoredMessage;
  return {
    context: row.context,
    turn: row.turn,
    subject,
    agent,
    contextId,
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
