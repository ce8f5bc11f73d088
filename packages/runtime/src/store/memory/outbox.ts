/** Push configs and their deliveries in memory: see `PushStore`. Plain data, changed by one synchronous method each. */
import type { Change, TurnKey, TurnRecord } from "../../turn/record.ts";
import { changesOf, snapshotOf } from "../changes.ts";
import type { Shown } from "../changes.ts";
import { mostPushConfigs } from "../push.ts";
import type {
  ClaimDeliveries,
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  PushConfig,
  PushStore,
  PushTarget,
} from "../push.ts";

interface Config extends TurnKey {
  readonly config: number;
  target: PushTarget;
  readonly createdAt: number;
  revision: number;
  epoch: number;
  failures: number;
  claimed: boolean;
  /** When its oldest delivery is to be tried; while it is: when the lease ends. */
  dueAt: number | undefined;
}

interface Letter {
  readonly delivery: number;
  readonly id: string;
  readonly config: Config;
  readonly change: Change;
  createdAt: number;
  attempts: number;
  error: string | undefined;
  givenUpAt: number | undefined;
}

type Attempt = Parameters<PushStore["settle"]>[0];

export class MemoryOutbox {
  #configs: Config[] = [];
  #letters: Letter[] = [];
  /** When each origin was served last, in claims. */
  readonly #served = new Map<string, number>();
  #claims = 0;
  /** Keys are not used twice. */
  #lastConfig = 0;
  #lastDelivery = 0;
  #announced = false;

  /** Whether something has come to be due since this was last asked. */
  announced(): boolean {
    const announced = this.#announced;
    this.#announced = false;
    return announced;
  }

  changed(key: TurnKey, before: Shown, after: Shown, now: number): void {
    const configs = this.#of(key);
    if (configs.length === 0) return;
    for (const change of changesOf(before, after)) for (const config of configs) this.#add(config, change, now);
  }

  hasRoom(key: TurnKey, id: string): boolean {
    const configs = this.#of(key);
    return configs.length < mostPushConfigs || configs.some(({ target }) => target.id === id);
  }

  put(record: TurnRecord, target: PushTarget, now: number): "put" | "full" {
    const known = this.#of(record).find((config) => config.target.id === target.id);
    if (known !== undefined) {
      known.target = target;
      known.revision++;
      known.failures = 0;
      if (known.dueAt !== undefined && !known.claimed) this.#due(known, now);
      return "put";
    }
    if (!this.hasRoom(record, target.id)) return "full";
    const { context, turn } = record;
    const config: Config = {
      context,
      turn,
      config: ++this.#lastConfig,
      target,
      createdAt: now,
      revision: 0,
      epoch: 0,
      failures: 0,
      claimed: false,
      dueAt: undefined,
    };
    this.#configs.push(config);
    const snapshot = snapshotOf(record);
    if (snapshot !== undefined) this.#add(config, snapshot, now);
    return "put";
  }

  list(key: TurnKey): PushConfig[] {
    return this.#of(key).map(({ target, createdAt }) => ({ ...target, createdAt }));
  }

  remove(key: TurnKey, id: string): boolean {
    const config = this.#of(key).find(({ target }) => target.id === id);
    if (config !== undefined) this.#drop(config);
    return config !== undefined;
  }

  /** Whether something of the turn is yet to be told. */
  waits(key: TurnKey): boolean {
    return this.#of(key).some(({ dueAt }) => dueAt !== undefined);
  }

  dropTurn(key: TurnKey): void {
    for (const config of this.#of(key)) this.#drop(config);
  }

  /** @param turnOf The turns that are there. */
  claim(
    { limit, leaseMs, room, rooms }: ClaimDeliveries,
    now: number,
    turnOf: (key: TurnKey) => TurnRecord,
  ): Delivery[] {
    const due = this.#configs
      .filter(({ dueAt }) => dueAt !== undefined && dueAt <= now)
      .toSorted((a, b) => a.dueAt! - b.dueAt! || a.config - b.config);
    const line = [...Map.groupBy(due, ({ target }) => target.origin)].toSorted(
      ([one], [other]) => (this.#served.get(one) ?? 0) - (this.#served.get(other) ?? 0),
    );
    const claimed: Delivery[] = [];
    for (const [origin, configs] of line) {
      const most = Math.min(limit - claimed.length, rooms.get(origin) ?? room);
      if (most <= 0) continue;
      this.#served.set(origin, ++this.#claims);
      for (const config of configs.slice(0, most)) {
        const letter = this.#waiting(config)[0]!;
        letter.attempts++;
        config.epoch++;
        config.claimed = true;
        config.dueAt = now + leaseMs;
        const { delivery, id, change, createdAt, attempts } = letter;
        const { config: key, epoch, revision, target, failures } = config;
        const turn = turnOf(config);
        claimed.push({
          config: key,
          delivery,
          epoch,
          revision,
          id,
          target,
          turn,
          change,
          createdAt,
          attempts,
          failures,
        });
      }
    }
    return claimed;
  }

  settle(attempt: Attempt, outcome: DeliveryOutcome, now: number): boolean {
    const config = this.#configs.find((one) => one.config === attempt.config);
    if (config?.epoch !== attempt.epoch) return false;
    const isChanged = config.revision !== attempt.revision;
    if (outcome.kind === "gone" && !isChanged) {
      this.#drop(config);
      return true;
    }
    const letter = this.#letters.find(({ delivery }) => delivery === attempt.delivery);
    if (outcome.kind === "delivered") this.#letters = this.#letters.filter((one) => one !== letter);
    else if (outcome.kind !== "gone" && letter !== undefined) {
      letter.error = outcome.error;
      letter.givenUpAt = outcome.kind === "givenUp" ? now : undefined;
    }
    config.failures = outcome.kind === "delivered" || isChanged ? 0 : config.failures + 1;
    config.claimed = false;
    config.epoch++;
    config.dueAt = undefined;
    if (this.#waiting(config).length === 0) return true;
    this.#due(config, outcome.kind === "failed" && !isChanged ? outcome.retryAt : now);
    return true;
  }

  nextDue(after: number): number | undefined {
    const times = this.#configs.flatMap(({ dueAt }) => (dueAt !== undefined && dueAt > after ? [dueAt] : []));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  deliveries(givenUp: boolean, limit: number, turnOf: (key: TurnKey) => TurnRecord): DeliveryRecord[] {
    return this.#letters
      .filter(({ givenUpAt }) => (givenUpAt !== undefined) === givenUp)
      .toSorted((a, b) => (a.givenUpAt ?? 0) - (b.givenUpAt ?? 0) || a.delivery - b.delivery)
      .slice(0, limit)
      .map(({ config, change, ...letter }) => {
        const { context, turn, subject, agent, contextId } = turnOf(config);
        const { id: configId, url } = config.target;
        return { ...letter, kind: change.kind, turn: { context, turn, subject, agent, contextId }, configId, url };
      });
  }

  resend(delivery: number, now: number): boolean {
    const letter = this.#letters.find((one) => one.delivery === delivery && one.givenUpAt !== undefined);
    if (letter === undefined) return false;
    letter.givenUpAt = undefined;
    letter.attempts = 0;
    letter.createdAt = now;
    if (!letter.config.claimed) this.#due(letter.config, now);
    return true;
  }

  forgetGiveUps(before: number, limit: number): number {
    const old = this.#letters.filter(({ givenUpAt }) => givenUpAt !== undefined && givenUpAt < before).slice(0, limit);
    this.#letters = this.#letters.filter((letter) => !old.includes(letter));
    return old.length;
  }

  figures() {
    const waiting = this.#letters.filter(({ givenUpAt }) => givenUpAt === undefined);
    return { waiting: waiting.length, since: waiting[0]?.createdAt, givenUp: this.#letters.length - waiting.length };
  }

  /** Those who held leases are no more. */
  endLeases(now: number): void {
    for (const config of this.#configs) {
      if (!config.claimed) continue;
      config.claimed = false;
      config.dueAt = now;
    }
  }

  /** What it keeps of a turn. */
  of(key: TurnKey): readonly unknown[] {
    const letters = this.#letters.filter(({ config }) => config.turn === key.turn).map(({ change }) => change);
    return [...this.#of(key).map(({ target }) => target), ...letters];
  }

  #of({ context, turn }: TurnKey): Config[] {
    return this.#configs.filter((config) => config.turn === turn && config.context === context);
  }

  /** Oldest first. */
  #waiting(config: Config): Letter[] {
    return this.#letters.filter((letter) => letter.config === config && letter.givenUpAt === undefined);
  }

  #add(config: Config, change: Change, now: number): void {
    if (isSoft(change)) {
      const old = new Set(this.#waiting(config).filter((letter) => isSoft(letter.change) && letter.attempts === 0));
      this.#letters = this.#letters.filter((letter) => !old.has(letter));
    }
    const id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
    const fresh = { createdAt: now, attempts: 0, error: undefined, givenUpAt: undefined };
    this.#letters.push({ delivery: ++this.#lastDelivery, id, config, change, ...fresh });
    if (config.dueAt === undefined) this.#due(config, now);
  }

  #drop(config: Config): void {
    this.#configs = this.#configs.filter((one) => one !== config);
    this.#letters = this.#letters.filter((letter) => letter.config !== config);
  }

  #due(config: Config, at: number): void {
    config.dueAt = at;
    this.#announced = true;
  }
}

function isSoft(change: Change): boolean {
  return change.kind === "status" && change.soft === true;
}
