/** The reads of the Store: each is one statement, and so of one moment. */
import { TASK_STATES } from "@nylorun/protocol";
import type { TaskState } from "@nylorun/protocol";

import type { Entry } from "../../turn/journal.ts";
import type { Claim, TurnKey, TurnRecord } from "../../turn/record.ts";
import { statusNumber } from "../status.ts";
import { dayMs, suspectDeaths } from "../store.ts";
import type { Secret, Seen, StoreFigures, Usage, UsageQuery } from "../store.ts";
import type { Connections, Row, Statement } from "./connections.ts";
import { turnColumns, turnOf, turnTables } from "./rows.ts";

const keysGiven = "SELECT * FROM unnest($1::bigint[], $2::bigint[])";

function turnsOf(keys: readonly TurnKey[]): Statement {
  return {
    text: `SELECT ${turnColumns} FROM ${turnTables} WHERE (t.context, t.turn) IN (${keysGiven})`,
    values: [keys.map(({ context }) => context), keys.map(({ turn }) => turn)],
  };
}

/** Where a claim was made, and its number. */
export interface ClaimRow {
  readonly context: number;
  readonly turn: number;
  readonly epoch: number;
}

export class Reader {
  readonly #connections: Connections;
  readonly #query: (statement: Statement) => Promise<readonly Row[]>;

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#query = ({ text, values }) => connections.read(text, values);
  }

  async turn({ context, turn }: TurnKey): Promise<TurnRecord | undefined> {
    const [row] = await this.#query({
      text: `SELECT ${turnColumns} FROM ${turnTables} WHERE t.context = $1 AND t.turn = $2`,
      values: [context, turn],
    });
    return row && turnOf(row);
  }

  /** By their keys. */
  async turns(keys: readonly TurnKey[]): Promise<ReadonlyMap<number, TurnRecord>> {
    const rows = await this.#query(turnsOf(keys));
    return new Map(rows.map((row) => [row["turn"] as number, turnOf(row)]));
  }

  async journal({ context, turn }: TurnKey, from: number): Promise<Entry[]> {
    const rows = await this.#query({
      text: "SELECT body FROM journal WHERE context = $1 AND turn = $2 AND seq >= $3 ORDER BY seq",
      values: [context, turn, from],
    });
    return rows.map((row) => JSON.parse(row["body"] as string) as Entry);
  }

  /** What was claimed: one attempt, as it belongs to the write that claimed it. */
  async claims(rows: readonly ClaimRow[]): Promise<readonly Claim[]> {
    if (rows.length === 0) return [];
    const asked = turnsOf(rows);
    const turns = await this.#connections.query(asked);
    const byKey = new Map(turns.map((row) => [row["turn"], turnOf(row)]));
    const journals = new Map<number, Entry[]>(rows.map(({ turn }) => [turn, []]));
    if ([...byKey.values()].some(({ length }) => length > 0)) {
      const entries = await this.#connections.query({
        text: `SELECT turn, body FROM journal WHERE (context, turn) IN (${keysGiven}) ORDER BY context, turn, seq`,
        values: asked.values,
      });
      for (const row of entries) journals.get(row["turn"] as number)?.push(JSON.parse(row["body"] as string) as Entry);
    }
    return rows.flatMap(({ turn: key, epoch }) => {
      const turn = byKey.get(key);
      // What was appended between the two is met by the first write.
      return turn === undefined
        ? []
        : [{ epoch, turn, journal: journals.get(key)!.slice(0, turn.length), first: false }];
    });
  }

  async earlier({ context, turn }: TurnKey, limit: number): Promise<TurnRecord[]> {
    const rows = await this.#query({
      text: `
        SELECT * FROM (
          SELECT ${turnColumns} FROM ${turnTables}
          WHERE t.context = $1 AND t.turn < $2 AND is_over(t.state) ORDER BY t.turn DESC LIMIT $3
        ) listed ORDER BY turn`,
      values: [context, turn, limit],
    });
    return rows.map(turnOf);
  }

  async message(digest: string, now: number | null): Promise<Seen | undefined> {
    const [row] = await this.#query({
      text: `
        SELECT context, turn, content_hash FROM messages m
        WHERE digest = $1 AND forget_at > clock($2)
          AND EXISTS (SELECT 1 FROM turns t WHERE t.context = m.context AND t.turn = m.turn)`,
      values: [digest, now],
    });
    if (row === undefined) return undefined;
    return {
      context: row["context"] as number,
      turn: row["turn"] as number,
      contentHash: row["content_hash"] as string,
    };
  }

  /** @param after Only what comes to be due after this moment, not what is. */
  async nextDue(node: string, after: number | undefined, now: number | null) {
    const [row] = await this.#query({
      text: `
        SELECT
          (SELECT due_at FROM contexts WHERE due_at > $1 AND runner IS DISTINCT FROM $2 ORDER BY due_at LIMIT 1) AS due,
          (SELECT min(ready_at) FROM contexts WHERE ready_at IS NOT NULL AND $3) AS ready,
          EXISTS (
            SELECT 1 FROM turns t JOIN contexts c ON c.context = t.context
            WHERE t.deaths >= ${suspectDeaths} AND c.active = t.turn AND c.runner IS NULL AND c.due_at <= clock($4)
          ) AS suspect`,
      values: [after ?? -1, node, after === undefined, now],
    });
    const times = [row!["due"], row!["ready"]].filter((at) => at !== null) as number[];
    return { at: times.length === 0 ? undefined : Math.min(...times), suspect: row!["suspect"] as boolean };
  }

  async figures(): Promise<StoreFigures> {
    const [row] = await this.#query({
      text: `
        SELECT
          (SELECT coalesce(json_object_agg(status, turns), '{}') FROM (
            SELECT status, sum(turns) AS turns FROM (
              SELECT status, turns FROM tallies WHERE scope = 0
              UNION ALL SELECT status, turns FROM changes WHERE status IS NOT NULL
            ) every GROUP BY status
          ) tallied) AS tallied,
          (SELECT json_build_array(count(*), min(ready_at)) FROM contexts WHERE ready_at IS NOT NULL) AS ready,
          (SELECT json_build_array(
            (SELECT count(*) FROM outbox WHERE given_up_at IS NULL),
            (SELECT created_at FROM outbox WHERE given_up_at IS NULL ORDER BY delivery LIMIT 1),
            (SELECT count(*) FROM outbox WHERE given_up_at IS NOT NULL)
          )) AS deliveries,
          file_bytes() AS file_bytes,
          (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
           WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r') AS bytes`,
      values: [],
    });
    const tallied = row!["tallied"] as Record<string, number>;
    const [ready, since] = row!["ready"] as [number, number | null];
    const deliveries = row!["deliveries"] as [waiting: number, since: number | null, givenUp: number];
    const turns = TASK_STATES.map((status) => [status, tallied[statusNumber(status)] ?? 0]);
    return {
      turns: Object.fromEntries(turns) as Record<TaskState, number>,
      ready,
      readySince: since ?? undefined,
      deliveries: { waiting: deliveries[0], since: deliveries[1] ?? undefined, givenUp: deliveries[2] },
      bytes: Number(row!["bytes"]),
      freeBytes: undefined,
      fileBytes: row!["file_bytes"] as number,
    };
  }

  async usage({ subjects, from }: UsageQuery): Promise<Usage[]> {
    const whose =
      subjects === undefined ? "true" : "subject IN (SELECT subject FROM subjects WHERE name = ANY ($2::text[]))";
    const rows = await this.#query({
      text: `
        SELECT day, agent, sum(turns)::integer AS turns, sum(tokens) AS tokens, sum(cost_usd) AS cost_usd FROM (
          SELECT day, agent, turns, tokens, cost_usd FROM usage
          WHERE ${subjects === undefined ? "subject = 0" : whose} AND day >= $1
          UNION ALL SELECT day, agent, 1, tokens, cost_usd FROM changes WHERE ${whose} AND day >= $1
        ) every GROUP BY day, agent ORDER BY day, agent COLLATE "C"`,
      values: [Math.floor(from / dayMs), ...(subjects === undefined ? [] : [subjects])],
    });
    return rows.map((row) => ({
      agent: row["agent"] as string,
      day: (row["day"] as number) * dayMs,
      turns: row["turns"] as number,
      tokens: (row["tokens"] as number | null) ?? undefined,
      costUsd: (row["cost_usd"] as number | null) ?? undefined,
    }));
  }

  async secret(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#query({ text: "SELECT value FROM secrets WHERE name = $1", values: [name] });
    return row && new Uint8Array(row["value"] as Buffer);
  }

  /** Those whose name begins with `prefix`, oldest first. */
  async secrets(prefix: string): Promise<Secret[]> {
    const rows = await this.#query({
      text: "SELECT name, value, created_at FROM secrets WHERE starts_with(name, $1) ORDER BY created_at, name",
      values: [prefix],
    });
    return rows.map((row) => ({
      name: row["name"] as string,
      value: new Uint8Array(row["value"] as Buffer),
      createdAt: row["created_at"] as number,
    }));
  }
}
