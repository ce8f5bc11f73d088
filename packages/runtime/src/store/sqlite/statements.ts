import { suspectDeaths } from "../store.ts";

/** The oldest suspect that is due (E17). Few turns are one, and their index holds only them. */
export function suspect(columns: string): string {
  return `
    SELECT ${columns}
    FROM turns t JOIN contexts c ON c.context = t.context
    WHERE t.deaths >= ${suspectDeaths} AND c.active = t.turn AND c.runner IS NULL AND c.due_at <= ?
    ORDER BY t.turn LIMIT 1`;
}

/** Every statement that the writer runs, by name. */
export const statements = {
  findMessage: "SELECT context, turn, content_hash FROM messages WHERE digest = ? AND forget_at > ?",
  addMessage: "INSERT INTO messages (digest, context, turn, content_hash, forget_at) VALUES (?, ?, ?, ?, ?)",

  findScope: "SELECT scope FROM scopes WHERE subject = ? AND agent = ?",
  addScope: "INSERT INTO scopes (subject, agent) VALUES (?, ?) ON CONFLICT DO NOTHING",

  findContext: "SELECT context, active, queued, epoch FROM contexts WHERE scope = ? AND name = ?",
  addContext:
    "INSERT INTO contexts (context, scope, name, created_at, active, epoch, runner, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  activate: "UPDATE contexts SET active = ?, epoch = ?, runner = ?, due_at = ? WHERE context = ?",
  claim: "UPDATE contexts SET active = ?, epoch = ?, runner = ?, due_at = ? WHERE context = ?",
  idle: "UPDATE contexts SET active = NULL, runner = NULL, due_at = NULL WHERE context = ?",
  letGo: "UPDATE contexts SET runner = NULL, due_at = ? WHERE context = ?",
  setDue: "UPDATE contexts SET due_at = ? WHERE context = ?",
  fence: "UPDATE contexts SET epoch = epoch + 1, due_at = ? WHERE context = ?",
  queueTurn: "UPDATE contexts SET queued = queued + 1 WHERE context = ?",
  unqueueTurn: "UPDATE contexts SET queued = queued - 1 WHERE context = ?",
  // A node's own contexts are in its hands, however long its event loop was busy: they are never due to itself, unless the
  // active turn was ended by somebody else. A suspect is one that nobody runs: whoever ran it until now has yet to be counted.
  findDue: `
    SELECT c.context, c.active, c.epoch, c.runner, t.state, t.deaths
    FROM contexts c LEFT JOIN turns t ON t.turn = c.active
    WHERE c.due_at <= ?
      AND (c.runner IS NOT ? OR t.state IN ('completed', 'failed', 'rejected', 'canceled'))
      AND (c.runner IS NOT NULL OR t.deaths IS NULL OR t.deaths < ${suspectDeaths} OR
           t.state IN ('completed', 'failed', 'rejected', 'canceled'))
    ORDER BY c.due_at LIMIT ?`,
  findSuspect: suspect("c.context, c.active, c.epoch, c.runner, t.state, t.deaths"),
  endLeases: "UPDATE contexts SET due_at = ? WHERE due_at <= ? AND runner IS NOT NULL",
  renew: "UPDATE contexts SET due_at = ? WHERE context = ? AND epoch = ? AND runner = ?",

  addTurn: `
    INSERT INTO turns
      (turn, context, scope, state, status, status_at, created_at, agent_version, traceparent, message, extension_data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  findNext: "SELECT turn FROM turns WHERE context = ? AND turn > ? AND state = 'queued' ORDER BY turn LIMIT 1",
  startTurn: "UPDATE turns SET state = 'running', status = ?, status_at = ? WHERE turn = ?",
  countDeath: "UPDATE turns SET deaths = deaths + 1 WHERE turn = ?",
  findForCommit: `
    SELECT t.state, t.status, t.length, t.status_at, t.deaths, c.epoch, c.active, c.runner
    FROM turns t JOIN contexts c ON c.context = t.context
    WHERE t.turn = ? AND t.context = ?`,
  changeTurn: `UPDATE turns
     SET state = ?, status = ?, status_at = ?, length = ?, view = coalesce(?, view), troubled = coalesce(?, troubled), deaths = ?
     WHERE turn = ?`,
  findWaitsFor: "SELECT view ->> 'waitsFor' AS waitsFor FROM turns WHERE turn = ?",
  addEntry: "INSERT INTO journal (context, turn, seq, kind, body, at) VALUES (?, ?, ?, ?, ?, ?)",

  addKey: "INSERT INTO api_keys (hash, role, subject, created_at) VALUES (?, ?, ?, ?)",
  revokeKey: "UPDATE api_keys SET revoked_at = ? WHERE key = ? AND revoked_at IS NULL",
  addSecret: "INSERT INTO secrets (name, value, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  findSecret: "SELECT value FROM secrets WHERE name = ?",
  findCounter: "SELECT value FROM counters WHERE name = ?",
  setCounter: "UPDATE counters SET value = ? WHERE name = ?",
} as const;
