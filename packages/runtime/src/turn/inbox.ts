/**
 * What a message does: it begins a turn, waits in the queue, answers what a turn waits for, or is refused. One transaction each;
 * a message that came before is answered as it was (I3).
 */
import {
  EXTENSIONS,
  invalidParams,
  isInteractionAnswer,
  isTerminal,
  readExtensions,
  taskNotFound,
  taskStateOf,
  unsupportedOperation,
} from "@nylorun/protocol";
import type { InteractionAnswer, Message } from "@nylorun/protocol";

import { mostPushConfigs } from "../store/push.ts";
import type { Accepted, Commit, MessageKey } from "../store/store.ts";
import type { Incoming } from "./engine.ts";
import type { Entry, InteractionOpened } from "./journal.ts";
import type { EnginePorts } from "./ports.ts";
import type { Said, StoredMessage, TurnKey, TurnRecord } from "./record.ts";
import type { Runner } from "./runner.ts";
import { traceWaits } from "./trace.ts";
import { advance, interactionOf, replied, stateOf } from "./view.ts";

/** Plain replies to an approval or a connection that are kept. */
const heardLimit = 20;

export class Inbox {
  readonly #options: EnginePorts;
  readonly #runner: Runner;
  readonly #versions: ReadonlyMap<string, string>;

  constructor(options: EnginePorts, runner: Runner) {
    this.#options = options;
    this.#runner = runner;
    this.#versions = new Map(options.agents.map(({ id, version }) => [id, version]));
  }

  /** @throws A2aError */
  async take(incoming: Incoming): Promise<TurnRecord> {
    const { message } = incoming;
    const stored = storedMessage(incoming);
    const contentHash = this.#contentHash(message);
    return message.taskId === undefined
      ? this.#begin(incoming, stored, contentHash)
      : this.#reply(incoming, message.taskId, stored, contentHash);
  }

  async #begin(incoming: Incoming, message: StoredMessage, contentHash: string): Promise<TurnRecord> {
    const { store, limits } = this.#options;
    const fill = this.#runner.reserve(incoming.subject);
    let accepted: Accepted | undefined;
    try {
      accepted = await store.accept({
        key: messageKey(incoming, incoming.message.contextId),
        contentHash,
        message,
        agentVersion: this.#versions.get(incoming.agent) ?? "",
        traceparent: incoming.traceparent ?? this.#newTrace(),
        whenBusy: incoming.message.metadata?.["delivery"] === "reject" ? "reject" : "queue",
        queueDepth: limits.contextQueueDepth,
        limits: {
          queued: limits.subjectQueuedTurns ?? Number.MAX_SAFE_INTEGER,
          bytes: limits.subjectStoredBytes ?? Number.MAX_SAFE_INTEGER,
        },
        dedupeMs: limits.messageDedupeMs,
        ...(incoming.push && { push: incoming.push }),
        claim: fill && { leaseMs: limits.leaseMs },
      });
    } finally {
      fill?.(accepted?.kind === "accepted" ? accepted.claim : undefined);
    }
    switch (accepted.kind) {
      case "accepted":
        return accepted.turn;
      case "duplicate":
        return this.#load(accepted.key);
      case "reused":
        throw messageIdReused();
      case "busy":
        throw unsupportedOperation('The context is busy, and the message says delivery: "reject".', {
          reason: "CONTEXT_BUSY",
        });
      case "queueFull":
        throw unsupportedOperation(`${limits.contextQueueDepth} messages wait in this context; send it again later.`, {
          reason: "CONTEXT_QUEUE_FULL",
        });
      case "subjectQueueFull":
        throw unsupportedOperation(
          `${limits.subjectQueuedTurns} of your messages wait to be begun; send it again when some have ended.`,
          { reason: "SUBJECT_QUEUE_FULL" },
        );
      case "subjectFull":
        throw unsupportedOperation(
          `Your tasks fill the ${limits.subjectStoredBytes} bytes that are yours; ask the operator to delete some.`,
          { reason: "SUBJECT_STORAGE_FULL" },
        );
    }
  }

  /** W3C traceparent of a trace that begins here. */
  #newTrace(): string {
    const { entropy } = this.#options;
    return `00-${entropy.hex(16)}-${entropy.hex(8)}-01`;
  }

  async #reply(incoming: Incoming, taskId: string, message: StoredMessage, contentHash: string): Promise<TurnRecord> {
    const { store, limits } = this.#options;
    const key = this.#options.taskIds.decode(taskId);
    for (let tries = 0; tries < 100; tries++) {
      const turn = key && (await store.loadTurn(key));
      if (turn === undefined || turn.subject !== incoming.subject || turn.agent !== incoming.agent)
        throw taskNotFound(taskId);
      const { contextId } = incoming.message;
      if (contextId !== undefined && contextId !== turn.contextId) {
        throw invalidParams([{ field: "message.contextId", description: "is not the context of message.taskId" }]);
      }
      // E14: a message that came before comes before everything that it could not do any more.
      const seen =
        limits.messageDedupeMs > 0 ? await store.findMessage(messageKey(incoming, turn.contextId)) : undefined;
      if (seen !== undefined) {
        if (seen.contentHash !== contentHash) throw messageIdReused();
        return this.#load(seen);
      }
      const change = this.#answer(turn, message);
      const committed = await store.commit({
        ...change,
        key: turn,
        length: turn.length,
        revision: turn.revision,
        from: ["waiting"],
        message: { key: messageKey(incoming, turn.contextId), contentHash, dedupeMs: limits.messageDedupeMs },
        ...(incoming.push && { push: incoming.push }),
      });
      if (committed.kind === "committed") traceWaits(this.#options, turn, { ...change, cause: incoming.traceparent });
      if (committed.kind === "committed" || committed.kind === "duplicate") return this.#load(turn);
      if (committed.kind === "reused") throw messageIdReused();
      if (committed.kind === "pushFull") throw pushConfigLimit("configuration.taskPushNotificationConfig");
      // Somebody was faster: it is judged by what there is now.
    }
    throw new Error("The turn changed a hundred times while a reply to it was taken.");
  }

  /** What a reply changes, by what the turn waits for. */
  #answer(
    turn: TurnRecord,
    message: StoredMessage,
  ): Pick<Commit, "entries" | "view" | "state" | "statusChanged" | "then"> {
    const open = turn.state === "waiting" ? interactionOf(turn.view) : undefined;
    if (open === undefined) {
      const state = taskStateOf(turn.state, turn.view.waitsFor);
      throw isTerminal(state)
        ? unsupportedOperation("The task has ended. Send the message without taskId to go on in its context.")
        : unsupportedOperation("The task does not wait for a message. Send it without taskId to have it queued.");
    }
    const given = message.extensionData?.[EXTENSIONS.interactions];
    const said: Said = {
      by: "user",
      id: message.messageId,
      parts: message.parts,
      ...(message.metadata && { metadata: message.metadata }),
      ...(message.extensions && { extensions: message.extensions }),
      ...(message.extensionData && { extensionData: message.extensionData }),
    };
    const value = given === undefined ? this.#plainAnswer(open, message) : this.#extensionAnswer(open, given);
    if (value === undefined) {
      const heard: Entry = { kind: "heard", at: this.#options.store.now() };
      if ((turn.view.heard ?? 0) >= heardLimit) {
        throw unsupportedOperation(
          `Text does not answer this, and ${heardLimit} texts were sent already. Answer through ${EXTENSIONS.interactions}.`,
        );
      }
      return { entries: [heard], view: replied(advance(turn.view, heard, turn.length, []), said) };
    }
    if (open.kind === "connection" && value.is === true) {
      const claim: Entry = { kind: "heard", at: this.#options.store.now(), claim: true, to: open.of };
      const view = replied(advance(turn.view, claim, turn.length, []), said);
      return { entries: [claim], view, then: { do: "wake" } };
    }
    const end: Entry = { kind: "end", of: open.of, at: this.#options.store.now(), how: "answered", value: value.is };
    const view = replied(advance(turn.view, end, turn.length, []), said);
    return { entries: [end], view, state: stateOf(view), statusChanged: true, then: { do: "wake" } };
  }

  /** Only the open interaction's own answer, of its own kind (I6). */
  #extensionAnswer(open: InteractionOpened, given: unknown): { readonly is: unknown } {
    if (!isInteractionAnswer(given) || given.interactionId !== open.id) throw notOpen();
    const answer: InteractionAnswer = given;
    const has = (field: string) => Object.hasOwn(answer, field);
    if (open.kind !== "question") {
      if (has("value") || !("approved" in answer) || typeof answer.approved !== "boolean") throw notOpen();
      return { is: answer.approved };
    }
    if (has("approved") || !has("value")) throw notOpen();
    const { value } = answer as { readonly value: unknown };
    this.#check(open, value, "message.metadata");
    return { is: value };
  }

  /** A question takes a plain reply too: its single data part, else its text. Nothing else does: text never approves. */
  #plainAnswer(open: InteractionOpened, message: StoredMessage): { readonly is: unknown } | undefined {
    if (open.kind !== "question") return undefined;
    const [first, ...others] = message.parts;
    const texts = message.parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
    let value: unknown = texts;
    if (others.length === 0 && first !== undefined && "data" in first) value = first.data;
    else if (open.schema !== undefined && (open.schema as { type?: unknown }).type !== "string") value = jsonOr(texts);
    this.#check(open, value, "message.parts");
    return { is: value };
  }

  #check(open: InteractionOpened, value: unknown, field: string): void {
    if (open.choices !== undefined && !open.choices.includes(value as string)) {
      throw invalidParams([{ field, description: `must answer with one of ${JSON.stringify(open.choices)}` }]);
    }
    const misfit = open.schema === undefined ? undefined : this.#options.misfit(open.schema, value);
    if (misfit !== undefined)
      throw invalidParams([{ field, description: `must fit the question's schema: ${misfit}` }]);
    if (open.choices === undefined && open.schema === undefined && typeof value !== "string") {
      throw invalidParams([{ field, description: "must answer with a text" }]);
    }
  }

  async #load(key: TurnKey): Promise<TurnRecord> {
    const turn = await this.#options.store.loadTurn(key);
    if (turn === undefined) throw new Error("A turn that was accepted is gone.");
    return turn;
  }

  /** What makes two messages of one id the same (I3): their parts, metadata and task. */
  #contentHash({ parts, metadata, taskId }: Message): string {
    return this.#options.entropy.hash(canonical([parts, metadata, taskId]));
  }
}

function storedMessage({ message, active }: Incoming): StoredMessage {
  const { data, metadata, extensions } = readExtensions(message, active);
  return {
    messageId: message.messageId,
    parts: message.parts,
    ...(metadata && { metadata }),
    ...(extensions && { extensions }),
    ...(message.referenceTaskIds && { referenceTaskIds: message.referenceTaskIds }),
    ...(data && { extensionData: data }),
  };
}

function messageKey({ subject, agent, message }: Incoming, contextId: string | undefined): MessageKey {
  return { subject, agent, contextId, messageId: message.messageId };
}

function messageIdReused() {
  return invalidParams(
    [{ field: "message.messageId", description: "was used before, for a message with other content" }],
    "MESSAGE_ID_REUSED",
  );
}

/** A task has as many push configs as one may have. */
export function pushConfigLimit(field: string) {
  return invalidParams(
    [{ field, description: `would be one more than the ${mostPushConfigs} that a task may have` }],
    "PUSH_CONFIG_LIMIT",
  );
}

function notOpen() {
  return invalidParams(
    [
      {
        field: `message.metadata["${EXTENSIONS.interactions}"]`,
        description: "is no answer to the interaction that is open",
      },
    ],
    "INTERACTION_NOT_OPEN",
  );
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** JSON with the keys of every object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
