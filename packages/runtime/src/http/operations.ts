/**
 * What an operator can do: the port behind the operator's routes and the `nylorun` command. The process that has the store does it
 * (node/operations.ts); a command may reach it through the socket of the process that serves its home (node/control-client.ts).
 */
import type { TaskState, TurnState } from "@nylorun/protocol";

import type { KeyHolder, KeyRecord, Queue, Usage } from "../store/store.ts";
import type { Resolution } from "../turn/engine.ts";
import type { Change, LostEffect as Lost } from "../turn/record.ts";

export interface Operations {
  /** Makes an API key. `key` is shown here and never again. */
  addKey(holder: KeyHolder): Promise<{ readonly key: string; readonly record: KeyRecord }>;
  /** All keys, revoked ones too, oldest first. */
  listKeys(): Promise<readonly KeyRecord[]>;
  /** @throws OperationError `key.unknown`. */
  revokeKey(id: string): Promise<void>;

  /** The turns that are held (E5, E17), oldest first. */
  heldTurns(): Promise<readonly HeldTurn[]>;
  /**
   * Lets a held turn run again.
   *
   * @throws OperationError `turn.notHeld`.
   */
  releaseTurn(taskId: string): Promise<void>;
  /**
   * Ends a held turn as failed. The caller is shown `reason`.
   *
   * @throws OperationError `turn.notHeld`.
   */
  failTurn(taskId: string, reason: string | undefined): Promise<void>;

  /** The contexts in which messages wait, the one whose oldest has waited longest first. */
  queues(limit: number): Promise<readonly WaitingContext[]>;
  /** What turns that ended used, by agent and day: everybody's, or what was done for one subject. */
  usage(query: { readonly days: number; readonly subject?: string | undefined }): Promise<readonly DailyUsage[]>;

  /** The effects whose outcome is lost (E8), those of ended turns too (E16); by turn, oldest first. */
  lostEffects(): Promise<readonly LostEffect[]>;
  /**
   * Says what became of a lost effect, or lets it be tried once more with the same key, though the old attempt may still be running
   * (E9). Its turn goes on accordingly.
   *
   * @throws OperationError `effect.notLost`; `effect.ended` for a retry when the turn has ended; `effect.tooLarge`.
   */
  resolveEffect(effectId: string, resolution: Resolution): Promise<void>;

  /** Deliveries to webhooks that were given up, or those that wait, oldest first. */
  deliveries(state: DeliveryState): Promise<readonly PushDelivery[]>;
  /**
   * Tries a delivery that was given up as if it were new.
   *
   * @throws OperationError `delivery.notGivenUp`.
   */
  resendDelivery(id: string): Promise<void>;
  /** Makes another key that deliveries are signed with from now on. The one before signs beside it for two days. */
  rotateWebhookKey(): Promise<void>;

  /**
   * Erases a task, a context, or all that there is of a subject, its keys too; for good.
   *
   * @throws OperationError `erase.unknown`; `erase.running`: what had not come to run until then may be erased.
   */
  erase(what: Erasure): Promise<{ readonly turns: number }>;
  /**
   * Writes a copy of the home's database, as of one moment, while it is in use.
   *
   * @param file Absolute. Nothing may be there yet.
   * @throws OperationError `backup.failed`.
   */
  backup(file: string): Promise<FilesApart>;
}

/** The files of tasks, which are not in a copy of the database. */
export interface FilesApart {
  /** What they take. */
  readonly bytes: number;
  /** A folder, or the URL of S3-compatible storage. */
  readonly place: string;
}

export type Erasure =
  | { readonly what: "task"; readonly taskId: string }
  | { readonly what: "context"; readonly subject: string; readonly agent: string; readonly contextId: string }
  | { readonly what: "subject"; readonly subject: string };

/** Where a turn is, and whose. */
interface Whereabouts {
  readonly taskId: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly subject: string;
  readonly contextId: string;
}

export interface HeldTurn extends Whereabouts {
  /** Since when, in milliseconds since 1970. */
  readonly heldAt: number;
  readonly why: { readonly code: string; readonly message: string };
}

export interface WaitingContext extends Omit<Queue, "active"> {
  /** What they wait for. */
  readonly active: {
    readonly taskId: string;
    /** Of its turn: `running`, `waiting`, `uncertain`, `held`; or how it ended, while its function has not settled. */
    readonly state: TurnState;
    /** As its caller sees it. */
    readonly taskState: TaskState;
    /** Since when, in milliseconds since 1970. */
    readonly since: number;
  };
}

export interface DailyUsage extends Omit<Usage, "day"> {
  /** In UTC, such as `2026-10-14`. */
  readonly day: string;
}

export interface LostEffect extends Whereabouts {
  readonly effectId: string;
  /** What it does, in its author's words. */
  readonly name: string;
  readonly why: Lost["why"];
  /** Since when, in milliseconds since 1970. */
  readonly lostAt: number;
  /** Of its turn: `uncertain`; `held`; or how it ended. */
  readonly state: TurnState;
}

export type DeliveryState = "given-up" | "waiting";

export interface PushDelivery extends Omit<Whereabouts, "agentVersion"> {
  readonly id: string;
  /** As the webhook knows it. */
  readonly webhookId: string;
  readonly configId: string;
  /** Without its query, which may be a secret. */
  readonly url: string;
  readonly kind: Change["kind"];
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  readonly attempts: number;
  /** Why the last attempt failed; null: none has. */
  readonly error: string | null;
  /** In milliseconds since 1970; null: it waits. */
  readonly givenUpAt: number | null;
}

/** An operation cannot be done. `code` is stable, `message` is for people. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type OperationErrorCode =
  /** The request is not as it must be. */
  | "request.invalid"
  /** There is no such key that is not revoked. */
  | "key.unknown"
  /** The task is not there, or its turn is not held. */
  | "turn.notHeld"
  /** The effect is not there, or its outcome is not lost (any more). */
  | "effect.notLost"
  /** The effect's turn has ended: it cannot be tried again. */
  | "effect.ended"
  /** The value is larger than what an effect may return. */
  | "effect.tooLarge"
  /** There is no such delivery that was given up. */
  | "delivery.notGivenUp"
  /** There is nothing of that to erase. */
  | "erase.unknown"
  /** A turn of it runs, or is about to. */
  | "erase.running"
  /** A copy could not be written. */
  | "backup.failed";
