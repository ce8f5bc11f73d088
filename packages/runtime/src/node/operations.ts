/**
 * What an operator can do. The `nylorun` command does it through the process that serves the home, or, when there is none, in its own
 * (see command.ts): both are this interface.
 */
import { issueApiKey } from "../access/api-keys.ts";
import type { KeyHolder, KeyRecord, Store } from "../store/store.ts";
import type { Engine } from "../turn/engine.ts";
import type { TurnRecord } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";
import { RuntimeError } from "./errors.ts";

export interface Operations {
  /** Makes an API key. `key` is shown here and never again. */
  addKey(holder: KeyHolder): Promise<{ readonly key: string; readonly record: KeyRecord }>;
  /** All keys, revoked ones too, oldest first. */
  listKeys(): Promise<readonly KeyRecord[]>;
  /** @throws RuntimeError `key.unknown`. */
  revokeKey(id: string): Promise<void>;
  /** The turns that are held (E5, E17), oldest first. */
  heldTurns(): Promise<readonly HeldTurn[]>;
  /**
   * Lets a held turn run again.
   *
   * @throws RuntimeError `turn.notHeld`.
   */
  releaseTurn(taskId: string): Promise<void>;
  /**
   * Ends a held turn as failed. The caller is shown `reason`.
   *
   * @throws RuntimeError `turn.notHeld`.
   */
  failTurn(taskId: string, reason: string | undefined): Promise<void>;
}

export interface HeldTurn {
  readonly taskId: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly subject: string;
  readonly contextId: string;
  /** Since when, in milliseconds since 1970. */
  readonly heldAt: number;
  readonly why: { readonly code: string; readonly message: string };
}

export interface OperationsParts {
  readonly store: Store;
  /** Need not be started. */
  readonly engine: Engine;
  readonly taskIds: TaskIds;
}

/** The operations of the process that has the store. */
export function createOperations({ store, engine, taskIds }: OperationsParts): Operations {
  const keyOf = (taskId: string) => {
    const key = taskIds.decode(taskId);
    if (key === undefined) throw notHeld(taskId);
    return key;
  };
  return {
    addKey: (holder) => issueApiKey(store.keys, holder),
    listKeys: () => store.keys.list(),
    async revokeKey(id) {
      if (await store.keys.revoke(id)) return;
      throw new RuntimeError(
        "key.unknown",
        `There is no key ${id} that is not revoked; "nylorun keys list" shows them.`,
      );
    },
    async heldTurns() {
      return (await engine.held()).map((turn) => heldTurn(turn, taskIds));
    },
    async releaseTurn(taskId) {
      if (!(await engine.release(keyOf(taskId)))) throw notHeld(taskId);
    },
    async failTurn(taskId, reason) {
      if (!(await engine.fail(keyOf(taskId), reason))) throw notHeld(taskId);
    },
  };
}

function heldTurn(turn: TurnRecord, taskIds: TaskIds): HeldTurn {
  const { agent, agentVersion, subject, contextId, statusAt, view } = turn;
  const why = view.held ?? { code: "turn.held", message: "No reason was recorded." };
  return { taskId: taskIds.encode(turn), agent, agentVersion, subject, contextId, heldAt: statusAt, why };
}

function notHeld(taskId: string): RuntimeError {
  return new RuntimeError("turn.notHeld", `No held turn is task ${taskId}; "nylorun turns held" shows those that are.`);
}
