/** {@link Operations} in the process that has the store. */
import { issueApiKey } from "../access/api-keys.ts";
import { OperationError } from "../http/operations.ts";
import type { Erasure, HeldTurn, LostEffect, Operations, PushDelivery } from "../http/operations.ts";
import { dailyUsage } from "../http/usage.ts";
import type { WebhookKeys } from "../push/keys.ts";
import type { DeliveryRecord } from "../store/push.ts";
import type { Signal } from "../store/signal.ts";
import type { Erase, Erased, Store } from "../store/store.ts";
import { subjectsOfCalled } from "../turn/callee.ts";
import { EngineError } from "../turn/engine.ts";
import type { Engine } from "../turn/engine.ts";
import { resultOf } from "../turn/json.ts";
import type { TurnRecord } from "../turn/record.ts";
import type { TaskIds } from "../turn/task-id.ts";

export interface OperationsParts {
  readonly store: Store;
  /** Told what was erased. */
  readonly signal: Signal;
  /** Need not be started. */
  readonly engine: Engine;
  readonly taskIds: TaskIds;
  readonly webhookKeys: WebhookKeys;
  /** Where files are. */
  readonly filePlace: string;
}

/** Deliveries that are listed at once. */
const DELIVERIES = 1000;

export function createOperations(parts: OperationsParts): Operations {
  const { store, signal, engine, taskIds, webhookKeys, filePlace } = parts;
  const keyOf = (taskId: string) => {
    const key = taskIds.decode(taskId);
    if (key === undefined) throw notHeld(taskId);
    return key;
  };
  const meant = (what: Erasure): Erase => {
    if (what.what !== "task") return what;
    const key = taskIds.decode(what.taskId);
    if (key === undefined) throw new OperationError("erase.unknown", `There is no task ${what.taskId}.`);
    return { what: "turn", key };
  };
  /** One after another: of what runs the rest is not erased. */
  const eraseAll = async (all: readonly Erase[]): Promise<Erased> => {
    let found: Erased = { kind: "unknown" };
    for (const each of all) {
      const erased = await store.erase(each).catch((error: unknown) => {
        // Some of it may be erased.
        signal.erased(each);
        throw error;
      });
      // Also what the store never had: what a subject has reported is in memory alone.
      if (erased.kind !== "running" || erased.turns > 0) signal.erased(each);
      if (erased.kind === "unknown") continue;
      const turns: number = erased.turns + (found.kind === "unknown" ? 0 : found.turns);
      found = { kind: erased.kind, turns };
      if (erased.kind === "running") break;
    }
    return found;
  };
  return {
    addKey: (holder) => issueApiKey(store.keys, holder),
    listKeys: () => store.keys.list(),
    async revokeKey(id) {
      if (await store.keys.revoke(id)) return;
      const message = `There is no key ${id} that is not revoked; "nylorun keys list" shows them.`;
      throw new OperationError("key.unknown", message);
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
    async queues(limit) {
      const queues = await store.listQueues(limit);
      return queues.map(({ active, ...queue }) => {
        const { state, status: taskState, statusAt: since } = active;
        return { ...queue, active: { taskId: taskIds.encode(active), state, taskState, since } };
      });
    },
    usage({ days, subject }) {
      const subjects = subject === undefined ? undefined : [subject, ...subjectsOfCalled(subject)];
      return dailyUsage(store, { subjects, days });
    },
    async deliveries(state) {
      const records = await store.push.deliveries({ givenUp: state === "given-up", limit: DELIVERIES });
      return records.map((record) => pushDelivery(record, taskIds));
    },
    async resendDelivery(id) {
      if (/^\d{1,15}$/.test(id) && (await store.push.resend(Number(id)))) return;
      const message = `No delivery that was given up is ${id}; "nylorun push list" shows those that are.`;
      throw new OperationError("delivery.notGivenUp", message);
    },
    rotateWebhookKey: () => webhookKeys.rotate(),
    async lostEffects() {
      return (await engine.lost()).flatMap((turn) => lostEffects(turn, taskIds));
    },
    async resolveEffect(effectId, resolution) {
      // An agent would be handed an error in its place, and the operator would not know.
      const result = resolution.outcome === "completed" ? resultOf(resolution.value) : {};
      if ("error" in result) throw new OperationError("effect.tooLarge", result.error.message);
      const found = await engine.resolve(effectId, resolution).catch((error: unknown) => {
        throw error instanceof EngineError ? new OperationError(error.code, error.message) : error;
      });
      if (found) return;
      const message = `No effect whose outcome is lost is ${effectId}; "nylorun effects list" shows those that are.`;
      throw new OperationError("effect.notLost", message);
    },

    async erase(what) {
      const erased = await eraseAll(what.what === "subject" ? subjectAndCalled(what.subject) : [meant(what)]);
      if (erased.kind === "unknown")
        throw new OperationError("erase.unknown", `There is nothing to erase: no ${nameOf(what)} is here.`);
      if (erased.kind === "erased") return { turns: erased.turns };
      const some =
        erased.turns === 0 ? "Nothing was erased" : `${erased.turns} turns were erased, and the rest was not`;
      const hint = "Cancel what runs, or wait until it has ended, and try again.";
      throw new OperationError("erase.running", `${some}: a turn of ${nameOf(what)} runs, or is about to. ${hint}`);
    },

    async backup(file) {
      if (store.backup === undefined)
        throw new OperationError("backup.failed", "This store is backed up with its database's own tools.");
      await store.backup(file).catch((error: unknown) => {
        throw new OperationError("backup.failed", `The backup was not written: ${(error as Error).message}.`);
      });
      return { bytes: (await store.measure()).fileBytes, place: filePlace };
    },
  };
}

/** What agents of this Runtime have called for in the subject's name is the subject's too. */
function subjectAndCalled(subject: string): readonly Erase[] {
  return [subject, ...subjectsOfCalled(subject)].map((each) => ({ what: "subject", subject: each }));
}

function whereabouts(turn: TurnRecord, taskIds: TaskIds) {
  const { agent, agentVersion, subject, contextId } = turn;
  return { taskId: taskIds.encode(turn), agent, agentVersion, subject, contextId };
}

function heldTurn(turn: TurnRecord, taskIds: TaskIds): HeldTurn {
  const why = turn.view.held ?? { code: "turn.held", message: "No reason was recorded." };
  return { ...whereabouts(turn, taskIds), heldAt: turn.statusAt, why };
}

function lostEffects(turn: TurnRecord, taskIds: TaskIds): readonly LostEffect[] {
  const { state, view } = turn;
  const where = whereabouts(turn, taskIds);
  return (view.lost ?? []).map(({ id, name, why, at }) => ({ effectId: id, name, why, lostAt: at, ...where, state }));
}

function pushDelivery(record: DeliveryRecord, taskIds: TaskIds): PushDelivery {
  const { subject, agent, contextId } = record.turn;
  const url = new URL(record.url);
  return {
    id: String(record.delivery),
    webhookId: record.id,
    taskId: taskIds.encode(record.turn),
    agent,
    subject,
    contextId,
    configId: record.configId,
    url: url.origin + url.pathname,
    kind: record.kind,
    createdAt: record.createdAt,
    attempts: record.attempts,
    error: record.error ?? null,
    givenUpAt: record.givenUpAt ?? null,
  };
}

function notHeld(taskId: string): OperationError {
  const message = `No held turn is task ${taskId}; "nylorun turns held" shows those that are.`;
  return new OperationError("turn.notHeld", message);
}

function nameOf(what: Erasure): string {
  switch (what.what) {
    case "task":
      return `task ${what.taskId}`;
    case "context":
      return `context ${what.contextId} of ${what.subject} with ${what.agent}`;
    case "subject":
      return `subject ${what.subject}`;
  }
}
