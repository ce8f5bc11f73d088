/** Lists of turns, a page at a time, each by an index that has them in the order of the list. Each is one statement, and so of one moment. */
import { taskStateOf } from "@nylorun/protocol";
import type { TurnState, WaitKind } from "@nylorun/protocol";

import type { TurnKey, TurnRecord } from "../../turn/record.ts";
import { STATUS_NUMBERS, statusNumber } from "../status.ts";
import type { Queue, TurnPage, TurnQuery, UnfinishedPage, UnfinishedQuery } from "../store.ts";
import type { Ask, Row } from "./connections.ts";
import { turnColumns, turnOf, turnTables } from "./rows.ts";

/** Of the time of a status, in milliseconds: `bucket_of`. */
const bucketMs = 600_000;

export class Lists {
  readonly #read: Ask;

  /** @param read Calls what only reads. */
  constructor(read: Ask) {
    this.#read = read;
  }

  /** One page, and the count of all. */
  async page(query: TurnQuery): Promise<TurnPage> {
    const owner = await this.#ownerOf(query);
    if (owner === undefined) return { turns: [], more: false, total: 0 };
    const values: unknown[] = [owner.context ?? owner.scope];
    const value = (given: unknown) => `$${values.push(given)}`;
    const column = owner.context === undefined ? "scope" : "context";
    const statuses = query.status === undefined ? STATUS_NUMBERS : [statusNumber(query.status)];
    const where = [`${column} = $1`];
    if (query.statusFrom !== undefined) where.push(`status_at >= ${value(query.statusFrom)}::bigint`);
    const total = `SELECT (${owner.context === undefined ? totalOfScope({ query, owner, statuses, value }) : `SELECT count(*) FROM turns WHERE ${where.join(" AND ")} AND status = ANY (${value(statuses)}::smallint[])`}) AS total`;
    if (query.after !== undefined)
      where.push(`(status_at, turn) < (${value(query.after.statusAt)}::bigint, ${value(query.after.turn)}::bigint)`);
    const limit = value(query.limit + 1);
    // Turns of one status stand in the index in the order of the list; those of several are merged, and so few are sorted.
    const merged = statuses
      .map(
        (status) => `(SELECT context, turn, status_at FROM turns WHERE status = ${status} AND ${where.join(" AND ")}
          ORDER BY status_at DESC, turn DESC LIMIT ${limit})`,
      )
      .join(" UNION ALL ");
    // What stands before a turn on its page decides whether it is still part of it.
    const rows = await this.#read(
      `SELECT counted.total, found.* FROM (${total}) counted LEFT JOIN LATERAL (
         SELECT * FROM (
           SELECT ${turnColumns}, count(*) OVER () AS listed, coalesce(
             sum(octet_length(t.message) + octet_length(t.view)) OVER (
               ORDER BY t.status_at DESC, t.turn DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
           FROM
             (SELECT * FROM (${merged}) merged ORDER BY status_at DESC, turn DESC LIMIT ${limit}) listed
             JOIN turns t ON t.context = listed.context AND t.turn = listed.turn
             JOIN contexts c ON c.context = t.context JOIN scopes s ON s.scope = c.scope JOIN subjects u ON u.subject = c.subject
         ) sized WHERE before < ${value(query.size ?? Number.MAX_SAFE_INTEGER)}::bigint
       ) found ON true
       ORDER BY found.status_at DESC, found.turn DESC`,
      values,
    );
    const turns = rows.filter((row) => row["turn"] !== null).slice(0, query.limit);
    return {
      turns: turns.map(turnOf),
      more: Number(rows[0]!["listed"] ?? 0) > turns.length,
      total: Number(rows[0]!["total"]),
    };
  }

  async troubled(limit: number, after: number): Promise<TurnRecord[]> {
    const text = `SELECT ${turnColumns} FROM ${turnTables} WHERE t.troubled AND t.turn > $1 ORDER BY t.turn LIMIT $2`;
    return (await this.#read(text, [after, limit])).map(turnOf);
  }

  async queues(limit: number): Promise<Queue[]> {
    const rows = await this.#read(
      `SELECT u.name AS subject, s.agent, c.name, q.waiting, o.created_at AS since,
         a.context, a.turn, a.state, a.waits_for, a.status_at
       FROM (
         SELECT context, min(turn) AS oldest, count(*) AS waiting FROM turns WHERE state = 'queued'
         GROUP BY context ORDER BY min(turn) LIMIT $1
       ) q
         JOIN turns o ON o.context = q.context AND o.turn = q.oldest
         JOIN contexts c ON c.context = q.context JOIN turns a ON a.context = c.context AND a.turn = c.active
         JOIN scopes s ON s.scope = c.scope JOIN subjects u ON u.subject = c.subject
       ORDER BY q.oldest`,
      [limit],
    );
    return rows.map(queueOf);
  }

  /** In the order in which they began. */
  async unfinished({ agent, after = "0", limit }: UnfinishedQuery): Promise<UnfinishedPage> {
    const rows = await this.#read(
      `SELECT ${turnColumns} FROM ${turnTables}
       WHERE t.state IN ('running', 'waiting', 'uncertain', 'held') AND t.turn > $1 AND s.agent = $2
       ORDER BY t.turn LIMIT $3`,
      [Number(after), agent, limit],
    );
    return { turns: rows.map(turnOf), next: rows.length < limit ? undefined : String(rows.at(-1)!["turn"]) };
  }

  /** Undefined: there is nothing of it. A scope or a context may come to be at any moment, so neither is remembered. */
  async #ownerOf({ subject, agent, contextId }: TurnQuery): Promise<Owner | undefined> {
    const [row] = await this.#read(
      `SELECT s.scope, s.subject, n.context FROM subjects u JOIN scopes s ON s.subject = u.subject
       LEFT JOIN names n ON n.scope = s.scope AND n.name = $3
       WHERE u.name = $1 AND s.agent = $2`,
      [subject, agent, contextId ?? null],
    );
    if (row === undefined || (contextId !== undefined && row["context"] === null)) return undefined;
    return {
      scope: row["scope"] as number,
      subject: row["subject"] as number,
      context: contextId === undefined ? undefined : (row["context"] as number),
    };
  }
}

function queueOf(given: Row): Queue {
  const { subject, agent, name, waiting, since, state, waits_for, ...active } = given as unknown as QueueRow;
  const { context, turn, status_at: statusAt } = active;
  const status = taskStateOf(state, waits_for ?? undefined);
  return {
    ...{ subject, agent, contextId: name, waiting: Number(waiting), since },
    active: { context, turn, state, status, statusAt },
  };
}

interface QueueRow extends TurnKey {
  readonly subject: string;
  readonly agent: string;
  readonly name: string;
  readonly waiting: number | string;
  readonly since: number;
  readonly state: TurnState;
  readonly waits_for: WaitKind | null;
  readonly status_at: number;
}

interface Owner {
  readonly scope: number;
  readonly subject: number;
  /** Undefined: all of the scope. */
  readonly context: number | undefined;
}

interface Counted {
  readonly query: TurnQuery;
  readonly owner: Owner;
  readonly statuses: readonly number[];
  /** Puts a value into the statement, and says where it stands. */
  readonly value: (given: unknown) => string;
}

/**
 * How many turns a list of a scope has, without going through it: what is folded and what is not yet; from a moment on, that of the
 * later buckets, and those of its own bucket one by one.
 */
function totalOfScope({ query: { statusFrom }, owner, statuses, value }: Counted): string {
  const status = `status = ANY (${value(statuses)}::smallint[])`;
  const bucket = statusFrom === undefined ? undefined : Math.floor(statusFrom / bucketMs);
  const later = bucket === undefined ? "" : ` AND bucket > ${value(bucket)}::integer`;
  const scope = value(owner.scope);
  const sums = `
    SELECT coalesce(sum(turns), 0) FROM (
      SELECT turns FROM tallies WHERE scope = ${scope} AND ${status}${later}
      UNION ALL SELECT turns FROM changes WHERE subject = ${value(owner.subject)} AND scope = ${scope} AND ${status}${later}
    ) every`;
  if (bucket === undefined) return sums;
  const until = value((bucket + 1) * bucketMs);
  return `SELECT (${sums}) + (
    SELECT count(*) FROM turns
    WHERE scope = ${scope} AND ${status} AND status_at >= ${value(statusFrom)}::bigint AND status_at < ${until}::bigint
  )`;
}
