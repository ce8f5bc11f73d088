/**
 * What the store keeps of a turn, as the rest of the Runtime sees it.
 *
 * A turn is one message and the work it starts. Its `view` is the projection that readers are shown: everything in it was
 * decided by the engine, and is written in the same transaction as the journal entries that it follows from.
 *
 * | state     | means                                                    | leads to                            |
 * |-----------|----------------------------------------------------------|-------------------------------------|
 * | queued    | waits for an earlier turn of its context                 | running, canceled                   |
 * | running   | a node runs it, or may claim it                          | every other one but queued          |
 * | waiting   | an interaction is open, or it sleeps                     | running, uncertain, held, ended     |
 * | uncertain | an effect's outcome is lost (E8)                         | running, held, canceled             |
 * | held      | it does not fit its code (E5), or kills processes (E17)  | running, failed, canceled           |
 * | completed, failed, rejected, canceled | ended: final (I5)                            |                                     |
 */
import type { Artifact, OpenInteraction, Part, PlanStep, TurnState, WaitKind } from "@nylorun/protocol";

import type { EffectLost, Entry, Totals, Wait } from "./journal.ts";

/** Names a turn. Integers, time-ordered, the store's own; on the wire they are one encrypted task id. */
export interface TurnKey {
  readonly context: number;
  readonly turn: number;
}

/** Time is in milliseconds since 1970 throughout, by the store's clock. */
export interface TurnRecord extends TurnKey {
  readonly subject: string;
  readonly agent: string;
  readonly contextId: string;
  readonly state: TurnState;
  readonly statusAt: number;
  readonly createdAt: number;
  /** Entries in the journal. Every write of a turn is a compare-and-set on it (E18). */
  readonly length: number;
  /** How often it was changed. A view that is made from the one in this record is written only if it still is what it was. */
  readonly revision: number;
  /** The version of the agent's code that the turn began under. */
  readonly agentVersion: string;
  /** W3C trace context of the request that began it. */
  readonly traceparent: string;
  readonly message: StoredMessage;
  readonly view: TurnView;
  /** How often a process died while it ran this turn (E17). */
  readonly deaths: number;
}

/** A caller's message as kept: extension data apart from the rest of the metadata, so that text can never pose as it. */
export interface StoredMessage {
  readonly messageId: string;
  readonly parts: readonly Part[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
  /** By extension URI. */
  readonly extensionData?: Readonly<Record<string, unknown>>;
}

export interface TurnView {
  /** What the status message says now: the prompt of the interaction that is shown, else the step text; at the end, why. */
  readonly status?: Said;
  /** The step text (`turn.say`). */
  readonly said?: Said;
  readonly plan?: readonly PlanStep[];
  readonly progress?: { readonly percent?: number; readonly stage?: string; readonly etaSeconds?: number | null };
  /** What was said after the caller's first message and before the status message, oldest first. */
  readonly history?: readonly Said[];
  readonly artifacts?: readonly Artifact[];
  /** The agent answered with a Message. */
  readonly reply?: readonly Part[];
  /** Open waits, in the order in which they were opened. */
  readonly waits?: readonly OpenWait[];
  /** What a waiting turn waits for, as its task's state shows it. Absent: a sleep. */
  readonly waitsFor?: WaitKind;
  /** Effects whose outcome is lost, oldest first. */
  readonly lost?: readonly LostEffect[];
  /** What was used and done so far. */
  readonly totals?: { readonly steps: number } & Totals;
  /** How many plain replies to an approval or a connection were heard, and how often a connection was said to be made. */
  readonly heard?: number;
  readonly claims?: number;
  /** How long it ran before it last came to wait, in milliseconds; moments are not counted (E17). */
  readonly ranMs?: number;
  /** For operators: why the turn is held. */
  readonly held?: { readonly code: string; readonly message: string };
}

/** A wait that is open, and the place of its entry in the journal. */
export type OpenWait = Wait & { readonly of: number };

export interface LostEffect {
  readonly of: number;
  readonly id: string;
  readonly name: string;
  readonly why: EffectLost["why"];
  /** When it was found lost. */
  readonly at: number;
}

/** Something that was said in a turn, by the agent or by the caller. Extension data is apart from the text. */
export interface Said {
  readonly by: "agent" | "user";
  /** Unique within the turn. */
  readonly id: string;
  readonly parts: readonly Part[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly extensions?: readonly string[];
  /** Of a prompt: what interactions/v1 carries. */
  readonly interaction?: OpenInteraction;
  /** Of a reply: by extension URI, what it carried. */
  readonly extensionData?: Readonly<Record<string, unknown>>;
}

/**
 * What webhooks are told of, as it was when it happened: a task goes on while a webhook is down, and each must hear all of it, in order.
 *
 * | kind     | what happened                                                                             | told as          |
 * |----------|-------------------------------------------------------------------------------------------|------------------|
 * | status   | the state, the interaction, the lost effect, the plan or the step text is another one     | `statusUpdate`   |
 * | artifact | there is an artifact, or a new version of one                                             | `artifactUpdate` |
 * | reply    | the agent answered with a Message                                                         | `message`        |
 * | task     | somebody began to listen, and the task had ended or waited already                        | `task`           |
 */
export type Change =
  | {
      readonly kind: "status";
      readonly state: TurnState;
      readonly statusAt: number;
      readonly view: Pick<TurnView, "status" | "waitsFor" | "plan" | "lost" | "totals">;
      /** Only the plan or the step text: a newer one says all that this one does. */
      readonly soft?: true;
    }
  | { readonly kind: "artifact"; readonly artifact: Artifact }
  | { readonly kind: "reply"; readonly parts: readonly Part[] }
  | { readonly kind: "task"; readonly state: TurnState; readonly statusAt: number; readonly view: TurnView };

/** A node's right to run the active turn of a context, for a while. Each claim of a context has a higher epoch. */
export interface Claim {
  readonly epoch: number;
  readonly turn: TurnRecord;
  readonly journal: readonly Entry[];
  /** No earlier turn of the context is stored. */
  readonly first: boolean;
}
