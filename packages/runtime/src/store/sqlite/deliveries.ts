/** The PushStore on SQLite: writes go through the writer thread, to its outbox; the rest is read here. */
import type { StatementSync } from "node:sqlite";

import type { Change, TurnKey } from "../../turn/record.ts";
import type { Delivery, DeliveryRecord, PushConfig, PushStore, PushTarget } from "../push.ts";
import type { StoreFigures } from "../store.ts";
import type { DeliveryRow, TargetArgs } from "./outbox.ts";
import type { Reader } from "./reader.ts";
import type { WriterThread } from "./thread.ts";

export interface PushStoreParts {
  readonly thread: WriterThread;
  readonly reader: Reader;
  readonly node: string;
  readonly now: () => number;
}

export function createPushStore({ thread, reader, node, now }: PushStoreParts): PushStore {
  /** Undefined: it has been removed since it was claimed. */
  const delivery = (claim: DeliveryRow): Delivery | undefined => {
    const row = reader
      .sql(
        `SELECT o.id, o.change, o.created_at, o.attempts, o.context, o.turn, p.target, p.failures
         FROM outbox o JOIN push_configs p ON p.config = o.config WHERE o.delivery = ? AND o.config = ?`,
      )
      .get(claim.delivery, claim.config) as unknown as LoadedRow | undefined;
    const turn = row && reader.turn(row);
    return (
      turn && {
        ...claim,
        turn,
        id: row.id,
        target: JSON.parse(row.target) as PushTarget,
        change: JSON.parse(row.change) as Change,
        createdAt: row.created_at,
        attempts: row.attempts,
        failures: row.failures,
      }
    );
  };

  return {
    put: (key, target) =>
      thread.run("putConfig", { ...targetArgs(target), context: key.context, turn: key.turn, now: now() }),

    async list({ context, turn }) {
      const rows = reader
        .sql("SELECT target, created_at FROM push_configs WHERE turn = ? AND context = ? ORDER BY config")
        .all(turn, context) as unknown as { target: string; created_at: number }[];
      return rows.map((row): PushConfig => ({ ...(JSON.parse(row.target) as PushTarget), createdAt: row.created_at }));
    },

    remove: ({ context, turn }, id) => thread.run("removeConfig", { context, turn, id }),

    async claim(claim) {
      const rows = await thread.run("claimDeliveries", { ...claim, node, now: now() });
      return rows.map(delivery).filter((one) => one !== undefined);
    },

    settle({ config, delivery: key, epoch, revision }, outcome) {
      return thread.run("settle", {
        config,
        delivery: key,
        epoch,
        revision,
        outcome: outcome.kind,
        error: "error" in outcome ? outcome.error : null,
        retryAt: outcome.kind === "failed" ? outcome.retryAt : 0,
        now: now(),
      });
    },

    async nextDue(after) {
      const row = reader
        .sql("SELECT due_at AS at FROM push_origins WHERE due_at > ? ORDER BY due_at LIMIT 1")
        .get(after);
      return row?.["at"] as number | undefined;
    },

    async deliveries({ givenUp, limit }) {
      const where = givenUp
        ? "o.given_up_at IS NOT NULL ORDER BY o.given_up_at, o.delivery"
        : "o.given_up_at IS NULL ORDER BY o.delivery";
      const rows = reader
        .sql(
          `SELECT o.delivery, o.id, o.change ->> 'kind' AS kind, o.created_at, o.attempts, o.error, o.given_up_at, o.context, o.turn,
             p.id AS config_id, p.target ->> 'url' AS url, c.name, c.scope
           FROM outbox o JOIN push_configs p ON p.config = o.config JOIN contexts c ON c.context = o.context
           WHERE ${where} LIMIT ?`,
        )
        .all(limit) as unknown as ListedRow[];
      return rows.map((row): DeliveryRecord => ({
        delivery: row.delivery,
        id: row.id,
        kind: row.kind,
        createdAt: row.created_at,
        attempts: row.attempts,
        turn: { context: row.context, turn: row.turn, contextId: row.name, ...reader.owner(row.scope) },
        configId: row.config_id,
        url: row.url,
        error: row.error ?? undefined,
        givenUpAt: row.given_up_at ?? undefined,
      }));
    },

    resend: (key) => thread.run("resend", { delivery: key, now: now() }),
  };
}

export function targetArgs(target: PushTarget): TargetArgs {
  return { id: target.id, origin: target.origin, target: JSON.stringify(target) };
}

export function deliveryFigures(sql: (text: string) => StatementSync): StoreFigures["deliveries"] {
  const count = (where: string) => sql(`SELECT count(*) AS n FROM outbox WHERE ${where}`).get()!["n"] as number;
  const oldest = sql("SELECT created_at FROM outbox WHERE given_up_at IS NULL ORDER BY delivery LIMIT 1").get();
  return {
    waiting: count("given_up_at IS NULL"),
    since: oldest?.["created_at"] as number | undefined,
    givenUp: count("given_up_at IS NOT NULL"),
  };
}

interface LoadedRow extends TurnKey {
  readonly id: string;
  readonly change: string;
  readonly created_at: number;
  readonly attempts: number;
  readonly target: string;
  readonly failures: number;
}

interface ListedRow extends TurnKey {
  readonly delivery: number;
  readonly id: string;
  readonly kind: Change["kind"];
  readonly created_at: number;
  readonly attempts: number;
  readonly error: string | null;
  readonly given_up_at: number | null;
  readonly config_id: string;
  readonly url: string;
  readonly name: string;
  readonly scope: number;
}
