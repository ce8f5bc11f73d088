/**
 * Push configs and their deliveries, written in the transaction of the change that they tell of (I8). A turn that nobody listens to costs
 * nothing here: its row says so.
 *
 * An origin has a time before which none of its configs is due: a claim looks at origins, so that one with ten thousand configs is
 * passed over as quickly as one with one.
 */
import { randomUUID } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { TurnState } from "@nylorun/protocol";

import type { Change, TurnView } from "../../turn/record.ts";
import { changesOf, snapshotOf } from "../changes.ts";
import type { Shown } from "../changes.ts";
import { mostPushConfigs } from "../push.ts";
import { prepare } from "./statements.ts";
import type { Tallies } from "./tallies.ts";

/** Where to push, as it crosses a thread. */
export interface TargetArgs {
  readonly id: string;
  readonly origin: string;
  /** JSON of a `PushTarget`. */
  readonly target: string;
}

/** Whose turn it is. */
export interface Owner {
  readonly context: number;
  readonly turn: number;
  readonly subject: number;
}

export interface ClaimDeliveriesArgs {
  readonly limit: number;
  readonly room: number;
  readonly rooms: ReadonlyMap<string, number>;
  readonly node: string;
  readonly leaseMs: number;
  readonly now: number;
}

export interface DeliveryRow {
  readonly config: number;
  readonly delivery: number;
  readonly epoch: number;
  readonly revision: number;
}

export type SettleArgs = DeliveryRow & {
  readonly outcome: "delivered" | "failed" | "givenUp" | "gone";
  readonly error: string | null;
  readonly retryAt: number;
  readonly now: number;
};

/** Origins that are looked at in one go. */
const originsAtOnce = 64;

const sql = {
  shown: "SELECT state, status_at, view FROM turns WHERE turn = ?",
  countConfigs: "UPDATE turns SET pushes = pushes + ? WHERE turn = ?",

  configsOf: "SELECT config, origin, due_at FROM push_configs WHERE turn = ?",
  findConfig:
    "SELECT config, origin, due_at, runner, octet_length(target) AS bytes FROM push_configs WHERE turn = ? AND id = ?",
  findConfigByKey: `
    SELECT config, turn, origin, subject, epoch, revision, octet_length(target) AS bytes FROM push_configs WHERE config = ?`,
  waits: "SELECT 1 FROM push_configs WHERE turn = ? AND due_at IS NOT NULL LIMIT 1",
  addConfig: `
    INSERT INTO push_configs (context, turn, subject, id, origin, target, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  changeConfig: `
    UPDATE push_configs SET origin = ?, target = ?, revision = revision + 1, failures = 0, due_at = ? WHERE config = ?`,
  dropConfig: "DELETE FROM push_configs WHERE config = ?",
  due: "UPDATE push_configs SET due_at = ? WHERE config = ?",
  dueUnlessClaimed: "UPDATE push_configs SET due_at = ? WHERE config = ? AND runner IS NULL",
  claimConfig:
    "UPDATE push_configs SET runner = ?, epoch = epoch + 1, due_at = ? WHERE config = ? RETURNING epoch, revision",
  letGo:
    "UPDATE push_configs SET runner = NULL, epoch = epoch + 1, due_at = ?, failures = iif(?, 0, failures + 1) WHERE config = ?",
  endLeases: "UPDATE push_configs SET runner = NULL, due_at = ? WHERE runner IS NOT NULL RETURNING origin",

  dueOrigins: `
    SELECT origin, due_at FROM push_origins WHERE due_at <= ? AND (due_at, origin) > (?, ?) ORDER BY due_at, origin LIMIT ?`,
  dueConfigs: "SELECT config FROM push_configs WHERE origin = ? AND due_at <= ? ORDER BY due_at, config LIMIT ?",
  touchOrigin: `
    INSERT INTO push_origins (origin, due_at) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET due_at = excluded.due_at WHERE due_at IS NULL OR due_at > excluded.due_at`,
  firstDue: "SELECT due_at AS at FROM push_configs WHERE origin = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1",
  setOrigin: "UPDATE push_origins SET due_at = ? WHERE origin = ?",
  dropOrigin: `
    DELETE FROM push_origins WHERE origin = ?1 AND NOT EXISTS (SELECT 1 FROM push_configs WHERE origin = ?1)`,

  add: "INSERT INTO outbox (id, config, context, turn, change, soft, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  // What has been tried may have arrived: that comes first, and again.
  supersede: `
    DELETE FROM outbox WHERE config = ? AND given_up_at IS NULL AND soft = 1 AND attempts = 0
    RETURNING octet_length(change) AS bytes`,
  head: "SELECT delivery FROM outbox WHERE config = ? AND given_up_at IS NULL ORDER BY delivery LIMIT 1",
  try: "UPDATE outbox SET attempts = attempts + 1 WHERE delivery = ?",
  fail: "UPDATE outbox SET error = ?, given_up_at = ? WHERE delivery = ?",
  drop: "DELETE FROM outbox WHERE delivery = ? AND config = ? RETURNING octet_length(change) AS bytes",
  dropAll: "DELETE FROM outbox WHERE config = ? RETURNING octet_length(change) AS bytes",
  givenUp: "SELECT delivery, config FROM outbox WHERE delivery = ? AND given_up_at IS NOT NULL",
  resend: "UPDATE outbox SET given_up_at = NULL, attempts = 0, created_at = ? WHERE delivery = ?",
  oldGiveUps: "SELECT delivery, config FROM outbox WHERE given_up_at < ? ORDER BY given_up_at, delivery LIMIT ?",
} as const;

export class Outbox {
  readonly #sql: Record<keyof typeof sql, StatementSync>;
  readonly #tallies: Tallies;
  #announced = false;

  constructor(database: DatabaseSync, tallies: Tallies) {
    this.#sql = prepare(database, sql);
    this.#tallies = tallies;
  }

  /** Whether something has come to be due since this was last asked. */
  announced(): boolean {
    const announced = this.#announced;
    this.#announced = false;
    return announced;
  }

  /** A turn as it is, before it is changed. */
  shown(turn: number): Shown {
    const row = this.#sql.shown.get(turn) as { state: TurnState; status_at: number; view: string };
    return { state: row.state, statusAt: row.status_at, view: JSON.parse(row.view) as TurnView };
  }

  /** A turn with configs was changed. */
  changed(owner: Owner, before: Shown, now: number): void {
    const changes = changesOf(before, this.shown(owner.turn));
    if (changes.length === 0) return;
    for (const config of this.#sql.configsOf.all(owner.turn) as unknown as ConfigRow[]) {
      for (const change of changes) this.#add(owner, config, change, now);
    }
  }

  /** Adds a config to a turn that has just begun: it is the first, and there is nothing to tell yet. */
  begin({ context, turn, subject }: Owner, { id, origin, target }: TargetArgs, now: number): void {
    this.#sql.addConfig.run(context, turn, subject, id, origin, target, now);
    this.#sql.countConfigs.run(1, turn);
    this.#tallies.add(subject, { bytes: Buffer.byteLength(target) });
  }

  /** Adds a config, or changes the one with this id. */
  put(owner: Owner, { id, origin, target }: TargetArgs, now: number): "put" | "full" {
    const found = this.#sql.findConfig.get(owner.turn, id) as FoundConfig | undefined;
    if (found !== undefined) {
      // Its backlog may go to the new place at once, unless an attempt is under way.
      const waits = found.due_at !== null && found.runner === null;
      this.#sql.changeConfig.run(origin, target, waits ? now : found.due_at, found.config);
      if (found.due_at !== null) this.#touch(origin, waits ? now : found.due_at);
      if (origin !== found.origin) this.#sql.dropOrigin.run(found.origin);
      this.#tallies.add(owner.subject, { bytes: Buffer.byteLength(target) - found.bytes });
      return "put";
    }
    if (this.#sql.configsOf.all(owner.turn).length >= mostPushConfigs) return "full";
    const { context, turn, subject } = owner;
    const config = Number(this.#sql.addConfig.run(context, turn, subject, id, origin, target, now).lastInsertRowid);
    this.#sql.countConfigs.run(1, turn);
    this.#tallies.add(subject, { bytes: Buffer.byteLength(target) });
    const snapshot = snapshotOf(this.shown(turn));
    if (snapshot !== undefined) this.#add(owner, { config, origin, due_at: null }, snapshot, now);
    return "put";
  }

  /** Whether {@link put} would find room. */
  hasRoom(turn: number, id: string): boolean {
    return this.#sql.configsOf.all(turn).length < mostPushConfigs || this.#sql.findConfig.get(turn, id) !== undefined;
  }

  remove(turn: number, id: string): boolean {
    const found = this.#sql.findConfig.get(turn, id) as FoundConfig | undefined;
    if (found !== undefined) this.#drop(found.config);
    return found !== undefined;
  }

  /** Whether something of the turn is yet to be told. */
  waits(turn: number): boolean {
    return this.#sql.waits.get(turn) !== undefined;
  }

  /** The turn is about to be no more. */
  dropTurn(turn: number): void {
    for (const { config } of this.#sql.configsOf.all(turn) as unknown as ConfigRow[]) this.#drop(config);
  }

  claim(args: ClaimDeliveriesArgs): DeliveryRow[] {
    const { limit, room, rooms, now } = args;
    const claimed: DeliveryRow[] = [];
    const visited = new Set<string>();
    for (let last: OriginRow = { origin: "", due_at: -1 }; ;) {
      const origins = this.#sql.dueOrigins.all(now, last.due_at, last.origin, originsAtOnce) as unknown as OriginRow[];
      for (const { origin } of origins) {
        const most = Math.min(limit - claimed.length, rooms.get(origin) ?? room);
        if (most <= 0 || visited.has(origin)) continue;
        visited.add(origin);
        const configs = this.#sql.dueConfigs.all(origin, now, most) as unknown as { config: number }[];
        for (const { config } of configs) {
          const row = this.#claimConfig(config, args);
          if (row !== undefined) claimed.push(row);
        }
        this.#goBehind(origin, now);
        if (claimed.length === limit) return claimed;
      }
      if (origins.length < originsAtOnce) return claimed;
      last = origins.at(-1)!;
    }
  }

  #claimConfig(config: number, { node, leaseMs, now }: ClaimDeliveriesArgs): DeliveryRow | undefined {
    const head = this.#sql.head.get(config) as { delivery: number } | undefined;
    if (head === undefined) {
      this.#sql.due.run(null, config);
      return undefined;
    }
    const { epoch, revision } = this.#sql.claimConfig.get(node, now + leaseMs, config) as Pick<
      DeliveryRow,
      "epoch" | "revision"
    >;
    this.#sql.try.run(head.delivery);
    return { config, delivery: head.delivery, epoch, revision };
  }

  settle({ config, delivery, outcome, now, ...args }: SettleArgs): boolean {
    const found = this.#sql.findConfigByKey.get(config) as KeyedConfig | undefined;
    if (found?.epoch !== args.epoch) return false;
    const isChanged = found.revision !== args.revision;
    if (outcome === "gone" && !isChanged) {
      this.#drop(config);
      return true;
    }
    if (outcome === "delivered") this.#free(found.subject, this.#sql.drop.all(delivery, config));
    if (outcome === "failed" || outcome === "givenUp")
      this.#sql.fail.run(args.error, outcome === "givenUp" ? now : null, delivery);
    const waits = this.#sql.head.get(config) !== undefined;
    // Where it leads now, nothing has failed yet.
    const dueAt = waits ? (outcome === "failed" && !isChanged ? args.retryAt : now) : null;
    this.#sql.letGo.run(dueAt, Number(outcome === "delivered" || isChanged), config);
    this.#goBehind(found.origin, now);
    return true;
  }

  resend(delivery: number, now: number): boolean {
    const found = this.#sql.givenUp.get(delivery) as { config: number } | undefined;
    if (found === undefined) return false;
    this.#sql.resend.run(now, delivery);
    const { origin } = this.#sql.findConfigByKey.get(found.config) as unknown as KeyedConfig;
    // One attempt at a time: while another one is under way, it is the next.
    this.#sql.dueUnlessClaimed.run(now, found.config);
    this.#touch(origin, now);
    return true;
  }

  /** @returns How many are no more. */
  forgetGiveUps(before: number, limit: number): number {
    const rows = this.#sql.oldGiveUps.all(before, limit) as unknown as { delivery: number; config: number }[];
    for (const { delivery, config } of rows) {
      const { subject } = this.#sql.findConfigByKey.get(config) as unknown as KeyedConfig;
      this.#free(subject, this.#sql.drop.all(delivery, config));
    }
    return rows.length;
  }

  /** Leases of processes that no longer live are over. */
  endLeases(now: number): void {
    const origins = this.#sql.endLeases.all(now) as unknown as { origin: string }[];
    for (const origin of new Set(origins.map((row) => row.origin))) this.#touch(origin, now);
  }

  #add(
    { context, turn, subject }: Owner,
    { config, origin, due_at: dueAt }: ConfigRow,
    change: Change,
    now: number,
  ): void {
    const isSoft = change.kind === "status" && change.soft === true;
    if (isSoft) this.#free(subject, this.#sql.supersede.all(config));
    const text = JSON.stringify(change);
    this.#sql.add.run(`msg_${randomUUID().replaceAll("-", "")}`, config, context, turn, text, Number(isSoft), now);
    this.#tallies.add(subject, { bytes: Buffer.byteLength(text) });
    if (dueAt !== null) return;
    this.#sql.due.run(now, config);
    this.#touch(origin, now);
  }

  #drop(config: number): void {
    const { turn, origin, subject, bytes } = this.#sql.findConfigByKey.get(config) as unknown as KeyedConfig;
    this.#free(subject, this.#sql.dropAll.all(config));
    this.#sql.dropConfig.run(config);
    this.#sql.countConfigs.run(-1, turn);
    this.#sql.dropOrigin.run(origin);
    this.#tallies.add(subject, { bytes: -bytes });
  }

  #touch(origin: string, at: number): void {
    this.#sql.touchOrigin.run(origin, at);
    this.#announced = true;
  }

  /** What is left of an origin goes behind the others that are due. */
  #goBehind(origin: string, now: number): void {
    const left = this.#sql.firstDue.get(origin) as { at: number } | undefined;
    this.#sql.setOrigin.run(left === undefined ? null : Math.max(left.at, now), origin);
  }

  #free(subject: number, rows: readonly unknown[]): void {
    const bytes = (rows as readonly { bytes: number }[]).reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > 0) this.#tallies.add(subject, { bytes: -bytes });
  }
}

interface ConfigRow {
  readonly config: number;
  readonly origin: string;
  readonly due_at: number | null;
}

interface FoundConfig extends ConfigRow {
  readonly runner: string | null;
  readonly bytes: number;
}

interface KeyedConfig {
  readonly turn: number;
  readonly origin: string;
  readonly subject: number;
  readonly epoch: number;
  readonly revision: number;
  readonly bytes: number;
}

interface OriginRow {
  readonly origin: string;
  readonly due_at: number;
}
