/** The PushStore on PostgreSQL: see migrations/003-push.sql. */
import type { Change, TurnKey } from "../../turn/record.ts";
import type { Delivery, DeliveryRecord, PushConfig, PushStore, PushTarget } from "../push.ts";
import type { Signal } from "../signal.ts";
import type { Ask, Row } from "./connections.ts";
import type { Reader } from "./reader.ts";
import type { Writer } from "./writer.ts";

export interface PushStoreParts {
  readonly writer: Writer;
  /** Calls what only reads. */
  readonly read: Ask;
  readonly reader: Reader;
  readonly signal: Signal;
  readonly node: string;
}

export function createPushStore({ writer, read, reader, signal, node }: PushStoreParts): PushStore {
  /** The origin that was served last: the next claim begins after it. */
  let last = "";
  const write = async (call: string, values: readonly unknown[]): Promise<unknown> => {
    const [row] = await writer.ask(`SELECT answer, announced() AS announced FROM ${call} AS answer`, values);
    if (row!["announced"] === true) signal.announced();
    return row!["answer"];
  };
  return {
    async put({ context, turn }, target) {
      const values = [context, turn, ...targetValues(target), writer.given];
      return (await write("push_put($1, $2, $3, $4, $5, $6)", values)) as "put" | "full" | "unknown";
    },

    async list({ context, turn }) {
      const rows = await read(
        "SELECT target, created_at FROM push_configs WHERE context = $1 AND turn = $2 ORDER BY config",
        [context, turn],
      );
      return rows.map((row): PushConfig => ({
        ...(JSON.parse(row["target"] as string) as PushTarget),
        createdAt: row["created_at"] as number,
      }));
    },

    async remove({ context, turn }, id) {
      return (await write("push_remove($1, $2, $3)", [context, turn, id])) as boolean;
    },

    async claim({ limit, leaseMs, room, rooms }) {
      const values = [limit, room, JSON.stringify(Object.fromEntries(rooms)), last, node, leaseMs, writer.given];
      const rows = await writer.ask("SELECT * FROM push_claim($1, $2, $3, $4, $5, $6, $7)", values);
      if (rows.length === 0) return [];
      last = rows.at(-1)!["origin"] as string;
      const turns = await reader.turns(rows.map(keyOf));
      return rows.flatMap((row): Delivery[] => {
        const turn = turns.get(row["at_turn"] as number);
        // It has been removed since it was claimed.
        if (turn === undefined) return [];
        return [
          {
            config: row["at_config"] as number,
            delivery: row["at_delivery"] as number,
            epoch: row["at_epoch"] as number,
            revision: row["at_revision"] as number,
            id: row["id"] as string,
            target: JSON.parse(row["target"] as string) as PushTarget,
            turn,
            change: JSON.parse(row["change"] as string) as Change,
            createdAt: row["created_at"] as number,
            attempts: row["attempts"] as number,
            failures: row["failures"] as number,
          },
        ];
      });
    },

    async settle({ config, delivery, epoch, revision }, outcome) {
      const error = "error" in outcome ? outcome.error : null;
      const retryAt = outcome.kind === "failed" ? outcome.retryAt : null;
      const values = [config, delivery, epoch, revision, outcome.kind, error, retryAt, writer.given];
      return (await write("push_settle($1, $2, $3, $4, $5, $6, $7, $8)", values)) as boolean;
    },

    async nextDue(after) {
      const [row] = await read("SELECT due_at AS at FROM push_configs WHERE due_at > $1 ORDER BY due_at LIMIT 1", [
        after,
      ]);
      return row?.["at"] as number | undefined;
    },

    async deliveries({ givenUp, limit }) {
      const where = givenUp
        ? "o.given_up_at IS NOT NULL ORDER BY o.given_up_at, o.delivery"
        : "o.given_up_at IS NULL ORDER BY o.delivery";
      const rows = await read(
        `SELECT o.delivery, o.id, o.kind, o.created_at, o.attempts, o.error, o.given_up_at, o.context AS at_context, o.turn AS at_turn,
           p.id AS config_id, p.target, c.name, u.name AS subject, s.agent
         FROM outbox o JOIN push_configs p ON p.config = o.config JOIN contexts c ON c.context = o.context
           JOIN scopes s ON s.scope = c.scope JOIN subjects u ON u.subject = c.subject
         WHERE ${where} LIMIT $1`,
        [limit],
      );
      return rows.map((row): DeliveryRecord => ({
        delivery: row["delivery"] as number,
        id: row["id"] as string,
        kind: row["kind"] as Change["kind"],
        createdAt: row["created_at"] as number,
        attempts: row["attempts"] as number,
        turn: {
          ...keyOf(row),
          subject: row["subject"] as string,
          agent: row["agent"] as string,
          contextId: row["name"] as string,
        },
        configId: row["config_id"] as string,
        url: (JSON.parse(row["target"] as string) as PushTarget).url,
        error: (row["error"] as string | null) ?? undefined,
        givenUpAt: (row["given_up_at"] as number | null) ?? undefined,
      }));
    },

    async resend(delivery) {
      return (await write("push_resend($1, $2)", [delivery, writer.given])) as boolean;
    },
  };
}

/** The id, the origin, and all of a target; of none: nulls. */
export function targetValues(target: PushTarget | undefined): readonly (string | null)[] {
  return target === undefined ? [null, null, null] : [target.id, target.origin, JSON.stringify(target)];
}

/**
 * Changes, as `tell` takes them: kinds, texts, what follows the moment of the status, and whether a newer one takes its place. The moment is the
 * database's, and is put between the two.
 */
export function changeValues(changes: readonly Change[]): readonly [string[], string[], (string | null)[], boolean[]] {
  const parts = changes.map((change) => {
    if (change.kind !== "status") return [JSON.stringify(change), null] as const;
    const { kind, state, statusAt: _, ...rest } = change;
    const head = JSON.stringify({ kind, state });
    return [`${head.slice(0, -1)},"statusAt":`, `,${JSON.stringify(rest).slice(1)}`] as const;
  });
  return [
    changes.map(({ kind }) => kind),
    parts.map(([head]) => head),
    parts.map(([, tail]) => tail),
    changes.map((change) => change.kind === "status" && change.soft === true),
  ];
}

function keyOf(row: Row): TurnKey {
  return { context: row["at_context"] as number, turn: row["at_turn"] as number };
}
