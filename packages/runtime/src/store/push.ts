/**
 * The part of the Store port that knows webhooks: who hears of turns, and what they have not heard yet. A change of a turn and the
 * deliveries that tell of it are one transaction (I8): `accept`, `commit` and whatever else changes a turn write them.
 *
 * A config with deliveries is due from a moment on, and claimed for one attempt of its oldest one, so that deliveries keep their order
 * and a config has one attempt at a time.
 *
 * | a config | leads to                                                                                  |
 * |----------|-------------------------------------------------------------------------------------------|
 * | idle     | due (a change)                                                                            |
 * | due      | claimed                                                                                   |
 * | claimed  | idle, due (delivered or given up, and more waits), due later (failed), gone, due (the lease is over) |
 */
import type { Change, TurnKey, TurnRecord } from "../turn/record.ts";

/** Push configs of one turn. */
export const mostPushConfigs = 16;

export interface PushStore {
  /**
   * Adds a config to a turn, or changes the one that has this id. A new one of a turn that has ended or waits for its caller is told of
   * that at once.
   */
  put(key: TurnKey, target: PushTarget): Promise<"put" | "full" | "unknown">;
  /** Oldest first. */
  list(key: TurnKey): Promise<readonly PushConfig[]>;
  /** With it goes what it has not heard yet. False: there is no such config. */
  remove(key: TurnKey, id: string): Promise<boolean>;

  /** Claims the oldest deliveries of configs that are due, those of one origin in their turn with those of others. */
  claim(claim: ClaimDeliveries): Promise<readonly Delivery[]>;
  /** Says what came of an attempt. False: the claim is lost. */
  settle(
    attempt: Pick<Delivery, "config" | "delivery" | "epoch" | "revision">,
    outcome: DeliveryOutcome,
  ): Promise<boolean>;
  /** When an origin comes to be due next, after this moment. */
  nextDue(after: number): Promise<number | undefined>;

  /** Oldest first. */
  deliveries(query: { readonly givenUp: boolean; readonly limit: number }): Promise<readonly DeliveryRecord[]>;
  /** A delivery that was given up is to be tried again, as if it were new, before what came after it. False: there is none. */
  resend(delivery: number): Promise<boolean>;
}

/** A webhook, as its caller wants it told. */
export interface PushTarget {
  /** Unique within the turn. */
  readonly id: string;
  readonly url: string;
  /** Of the URL. */
  readonly origin: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  /** URIs of the extensions whose data it is told. */
  readonly extensions: readonly string[];
}

export interface PushConfig extends PushTarget {
  readonly createdAt: number;
}

export interface ClaimDeliveries {
  readonly limit: number;
  readonly leaseMs: number;
  /** How many more attempts of one origin may be made at once, and of those that are listed. */
  readonly room: number;
  readonly rooms: ReadonlyMap<string, number>;
}

/** A right to try one delivery. */
export interface Delivery {
  readonly config: number;
  readonly delivery: number;
  readonly epoch: number;
  /** Of the config. */
  readonly revision: number;
  /** The same at each attempt. */
  readonly id: string;
  readonly target: PushTarget;
  readonly turn: TurnRecord;
  readonly change: Change;
  readonly createdAt: number;
  /** This one included. */
  readonly attempts: number;
  /** Attempts of the config that failed since the last one that did not. */
  readonly failures: number;
}

export type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed"; readonly error: string; readonly retryAt: number }
  | { readonly kind: "givenUp"; readonly error: string }
  /** The webhook is no more: nor is the config, unless it was changed meanwhile. */
  | { readonly kind: "gone" };

/** For operators. */
export interface DeliveryRecord extends Pick<Delivery, "delivery" | "id" | "createdAt" | "attempts"> {
  readonly kind: Change["kind"];
  readonly turn: TurnKey & Pick<TurnRecord, "subject" | "agent" | "contextId">;
  readonly configId: string;
  readonly url: string;
  /** Why the last attempt failed; undefined: it did not, or there was none. */
  readonly error: string | undefined;
  readonly givenUpAt: number | undefined;
}
