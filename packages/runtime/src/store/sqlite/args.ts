/**
 * What the writer thread is told of a message that begins a turn, and of a change of one, and what it answers: flat, because it crosses
 * a thread.
 */
import type { TurnState, WaitKind } from "@nylorun/protocol";

import type { Output } from "../files.ts";
import { messageDigest } from "../naming.ts";
import type { Accept, Commit, SubjectLimits } from "../store.ts";
import { targetArgs } from "./deliveries.ts";
import type { TargetArgs } from "./outbox.ts";
import type { ClaimRow } from "./schedule.ts";

export interface AcceptArgs {
  readonly subject: string;
  readonly agent: string;
  /** The context that the caller named; null: a new one, to be named `newName`. */
  readonly name: string | null;
  readonly newName: string;
  readonly digest: string | null;
  readonly contentHash: string;
  readonly forgetAt: number;
  readonly message: string;
  readonly extensionData: string | null;
  readonly agentVersion: string;
  readonly traceparent: string;
  readonly reject: boolean;
  readonly queueDepth: number;
  /** Of the subject: see `Accept.limits`. */
  readonly limits: SubjectLimits;
  readonly push: TargetArgs | null;
  readonly node: string;
  /** 0: not claimed. */
  readonly leaseMs: number;
  readonly now: number;
}

export type AcceptResult =
  | {
      readonly kind: "accepted";
      readonly context: number;
      readonly turn: number;
      readonly state: "running" | "queued";
      readonly statusAt: number;
      readonly newContext: boolean;
      /** 0: not claimed. */
      readonly epoch: number;
    }
  | { readonly kind: "duplicate"; readonly context: number; readonly turn: number }
  | { readonly kind: "reused" | "busy" | "queueFull" | "subjectQueueFull" | "subjectFull" };

export interface CommitArgs {
  readonly context: number;
  readonly turn: number;
  readonly length: number;
  /** Null: any. */
  readonly revision: number | null;
  readonly epoch: number | null;
  readonly from: readonly TurnState[] | null;
  readonly entries: readonly { readonly kind: string; readonly body: string }[] | null;
  readonly view: string | null;
  readonly outputs: readonly Output[] | null;
  /** 1 when the turn needs an operator; null: as before. */
  readonly troubled: number | null;
  /** The view's own. */
  readonly waitsFor: WaitKind | null;
  readonly state: TurnState | null;
  readonly statusChanged: boolean;
  readonly forgive: boolean;
  readonly message: { readonly digest: string | null; readonly contentHash: string; readonly forgetAt: number } | null;
  readonly push: TargetArgs | null;
  readonly then: "go on" | "wake" | "park" | "end";
  readonly dueAt: number | null;
  readonly graceMs: number;
  readonly node: string;
  /** For the next turn of the context, after `end`. 0: not claimed. */
  readonly leaseMs: number;
  readonly now: number;
}

export type CommitResult =
  | { readonly kind: "committed"; readonly length: number; readonly next: ClaimRow | null; readonly due: boolean }
  | { readonly kind: "behind"; readonly length: number }
  | { readonly kind: "fenced"; readonly state: TurnState }
  | { readonly kind: "duplicate" | "reused" | "pushFull" };

/** Who asks, and when. */
interface Asker {
  readonly node: string;
  readonly now: number;
}

const noLimits: SubjectLimits = { queued: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

/** @param newName Of the context, should it be a new one. */
export function acceptArgs(accept: Accept, { newName, node, now }: Asker & { readonly newName: string }): AcceptArgs {
  const { key } = accept;
  const { extensionData, ...message } = accept.message;
  return {
    subject: key.subject,
    agent: key.agent,
    name: key.contextId ?? null,
    newName,
    digest: accept.dedupeMs > 0 ? messageDigest(key) : null,
    contentHash: accept.contentHash,
    forgetAt: now + accept.dedupeMs,
    message: JSON.stringify(message),
    extensionData: extensionData === undefined ? null : JSON.stringify(extensionData),
    agentVersion: accept.agentVersion,
    traceparent: accept.traceparent,
    reject: accept.whenBusy === "reject",
    queueDepth: accept.queueDepth,
    limits: accept.limits ?? noLimits,
    push: accept.push === undefined ? null : targetArgs(accept.push),
    node,
    leaseMs: accept.claim?.leaseMs ?? 0,
    now,
  };
}

export function commitArgs(change: Commit, { node, now }: Asker): CommitArgs {
  const { key, view, message, then } = change;
  return {
    context: key.context,
    turn: key.turn,
    length: change.length,
    revision: change.revision ?? null,
    epoch: change.epoch ?? null,
    from: change.from ?? null,
    entries: change.entries?.map((entry) => ({ kind: entry.kind, body: JSON.stringify(entry) })) ?? null,
    view: view === undefined ? null : JSON.stringify(view),
    outputs: change.outputs ?? null,
    waitsFor: view?.waitsFor ?? null,
    troubled: view === undefined ? null : Number(view.held !== undefined || view.lost !== undefined),
    state: change.state ?? null,
    statusChanged: change.statusChanged ?? false,
    forgive: change.forgive ?? false,
    message:
      message === undefined
        ? null
        : {
            digest: message.dedupeMs > 0 ? messageDigest(message.key) : null,
            contentHash: message.contentHash,
            forgetAt: now + message.dedupeMs,
          },
    push: change.push === undefined ? null : targetArgs(change.push),
    then: then?.do ?? "go on",
    dueAt: then?.do === "park" ? (then.dueAt ?? null) : null,
    graceMs: then?.do === "end" ? (then.graceMs ?? 0) : 0,
    leaseMs: then?.do === "end" ? (then.claim?.leaseMs ?? 0) : 0,
    node,
    now,
  };
}
