/** Lists of turns, a page at a time, each by an index that has them in the order of the list. */
import type { StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import type { TurnKey, TurnRecord } from "../../turn/record.ts";
import { BEGUN_STATUS_NUMBERS, STATUS_NUMBERS, statusNumber, statusNumbered } from "../status.ts";
import type { Queue, TurnPage, TurnQuery, UnfinishedPage, UnfinishedQuery } from "../store.ts";
import { Counts } from "./counts.ts";
import type { Reader } from "./reader.ts";
import { turnColumns, turnTables } from "./rows.ts";
import type { TurnRow } from "./rows.ts";

/** Subjects that are looked through in one go: many have nothing unfinished. */
const scopesAtOnce = 1000;

const nothing: TurnPage = { turns: [], more: false, total: 0 };

export class Lists {
  readonly #reader: Reader;
  readonly #sql: (text: string) => StatementSync;
  readonly #counts: Counts;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#sql = (text) => reader.sql(text);
    this.#counts = new Counts(this.#sql);
  }

  /** One page, and the count of all, as of one moment. */
  page(query: TurnQuery): TurnPage {
    this.#sql("BEGIN").run();
    try {
      return this.#page(query);
    } finally {
      this.#sql("COMMIT").run();
    }
  }

  #page(query: TurnQuery): TurnPage {
    const found = this.#sql(`
      SELECT scope FROM scopes JOIN subjects USING (subject) WHERE name = ? AND agent = ?`).get(
      query.subject,
      query.agent,
    );
    if (found === undefined) return nothing;
    const scope = found["scope"] as number;
    const context =
      query.contextId === undefined
        ? undefined
        : this.#sql("SELECT context FROM contexts WHERE scope = ? AND name = ?").get(scope, query.contextId);
    if (query.contextId !== undefined && context === undefined) return nothing;
    const within = { scope, context: context?.["context"] as number | undefined };
    const statuses = query.status === undefined ? STATUS_NUMBERS : [statusNumber(query.status)];
    const total = this.#counts.total({ ...within, statuses, from: query.statusFrom });

    const values: Record<string, number | string> = { owner: within.context ?? scope, limit: query.limit + 1 };
    const where = [`${within.context === undefined ? "scope" : "context"} = :owner`];
    if (query.statusFrom !== undefined) {
      where.push("status_at >= :from");
      values["from"] = query.statusFrom;
    }
    if (query.after !== undefined) {
      where.push("(status_at, turn) < (:afterAt, :afterTurn)");
      values["afterAt"] = query.after.statusAt;
      values["afterTurn"] = query.after.turn;
    }
    // Turns of one status stand in the index in the order of the list; those of several are merged, not sorted.
    const merged = statuses
      .map((status) => `SELECT turn, status_at FROM turns WHERE status = ${status} AND ${where.join(" AND ")}`)
      .join(" UNION ALL ");
    const rows = this.#sql(`
      SELECT ${turnColumns} FROM
        (${merged} ORDER BY status_at DESC, turn DESC LIMIT :limit) listed
        JOIN turns t ON t.turn = listed.turn JOIN contexts c ON c.context = t.context
      ORDER BY listed.status_at DESC, listed.turn DESC`).iterate(values);
    const turns: TurnRecord[] = [];
    let size = 0;
    let more = false;
    for (const row of rows as Iterable<unknown> as Iterable<TurnRow>) {
      // One row further than the page goes, to know whether it is the last one.
      more = turns.length === query.limit || size >= (query.size ?? Infinity);
      if (more) break;
      turns.push(this.#reader.turnOf(row));
      size += row.message.length + row.view.length;
    }
    return { turns, more, total };
  }

  troubled(limit: number, after: number): TurnRecord[] {
    const rows = this.#sql(`
      SELECT ${turnColumns} FROM ${turnTables} WHERE t.troubled = 1 AND t.turn > ? ORDER BY t.turn LIMIT ?`).all(
      after,
      limit,
    );
    return rows.map((row) => this.#reader.turnOf(row as unknown as TurnRow));
  }

  /** By what waits, which has an index of its own: however much has ended is not gone through. */
  queues(limit: number): Queue[] {
    const rows = this.#sql(`
      SELECT c.scope, c.name, q.waiting, o.created_at AS since, a.turn, a.context, a.state, a.status, a.status_at
      FROM (
        SELECT context, min(turn) AS oldest, count(*) AS waiting FROM turns WHERE state = 'queued'
        GROUP BY context ORDER BY oldest LIMIT ?
      ) q
        JOIN turns o ON o.turn = q.oldest JOIN contexts c ON c.context = q.context JOIN turns a ON a.turn = c.active
      ORDER BY q.oldest`).all(limit);
    return rows.map((row) => this.#queueOf(row as unknown as QueueRow));
  }

  #queueOf({ scope, name, waiting, since, turn, context, state, status, status_at }: QueueRow): Queue {
    const active = { turn, context, state, status: statusNumbered(status), statusAt: status_at };
    return { ...this.#reader.owner(scope), contextId: name, waiting, since, active };
  }

  /** By scope, status and time: as the index has them. */
  unfinished({ agent, after, limit }: UnfinishedQuery): UnfinishedPage {
    const from = placeOf(after);
    const scopes = this.#sql("SELECT scope FROM scopes WHERE agent = ? AND scope >= ? ORDER BY scope LIMIT ?").all(
      agent,
      from.scope,
      scopesAtOnce,
    );
    const rows: (TurnRow & Place)[] = [];
    for (const { scope } of scopes as unknown as { scope: number }[]) {
      for (const status of BEGUN_STATUS_NUMBERS) {
        const isPast = scope === from.scope && status < from.status;
        const isHere = scope === from.scope && status === from.status;
        if (isPast) continue;
        const found = this.#sql(`
          SELECT ${turnColumns}, t.status FROM ${turnTables}
          WHERE t.scope = ? AND t.status = ? AND (t.status_at, t.turn) > (?, ?)
          ORDER BY t.status_at, t.turn LIMIT ?`).all(
          scope,
          status,
          isHere ? from.status_at : -1,
          isHere ? from.turn : -1,
          limit - rows.length,
        );
        rows.push(...(found as unknown as (TurnRow & Place)[]));
        if (rows.length === limit)
          return { turns: rows.map((row) => this.#reader.turnOf(row)), next: placeText(rows.at(-1)!) };
      }
    }
    const last = scopes.length < scopesAtOnce ? undefined : (scopes.at(-1)!["scope"] as number);
    const next = last === undefined ? undefined : placeText({ scope: last + 1, status: 0, status_at: 0, turn: 0 });
    return { turns: rows.map((row) => this.#reader.turnOf(row)), next };
  }
}

interface QueueRow extends TurnKey {
  readonly scope: number;
  readonly name: string;
  readonly waiting: number;
  readonly since: number;
  readonly state: TurnState;
  readonly status: number;
  readonly status_at: number;
}

/** Where a page of unfinished turns ended. */
interface Place {
  readonly scope: number;
  readonly status: number;
  readonly status_at: number;
  readonly turn: number;
}

function placeText({ scope, status, status_at, turn }: Place): string {
  return [scope, status, status_at, turn].join(".");
}

function placeOf(text: string | undefined): Place {
  const [scope = 0, status = 0, status_at = 0, turn = 0] = text?.split(".").map(Number) ?? [];
  return { scope, status, status_at, turn };
}
