/** What needs an operator, over the operator's routes. */
import type { TaskState } from "@nylorun/protocol";

import { call } from "./session.ts";

interface Whereabouts {
  readonly taskId: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly subject: string;
  readonly contextId: string;
}

export interface LostEffect extends Whereabouts {
  readonly effectId: string;
  readonly name: string;
  readonly why: string;
  readonly lostAt: number;
  readonly state: string;
}

export interface HeldTurn extends Whereabouts {
  readonly heldAt: number;
  readonly why: { readonly code: string; readonly message: string };
}

/** A conversation in which messages wait. */
export interface Queue extends Pick<Whereabouts, "agent" | "subject" | "contextId"> {
  readonly waiting: number;
  /** Since when the oldest does. */
  readonly since: number;
  /** What they wait for. */
  readonly active: {
    readonly taskId: string;
    readonly state: string;
    readonly taskState: TaskState;
    readonly since: number;
  };
}

/** So many are asked for: those that have waited longest. */
export const QUEUES = 100;

/** A push notification that has not arrived. */
export interface Delivery extends Omit<Whereabouts, "agentVersion"> {
  readonly id: string;
  readonly webhookId: string;
  readonly url: string;
  /** What it tells of. */
  readonly kind: string;
  readonly createdAt: number;
  readonly attempts: number;
  readonly error: string | null;
  /** Null: it is tried again. */
  readonly givenUpAt: number | null;
}

export interface Key {
  readonly id: string;
  readonly holder: { readonly role: "operator" } | { readonly role: "subject"; readonly subject: string };
  readonly createdAt: number;
  readonly revokedAt?: number;
}

export type Resolution =
  | { readonly outcome: "completed"; readonly value: unknown }
  | { readonly outcome: "failed"; readonly message: string }
  | { readonly outcome: "retry" };

const path = (...parts: readonly string[]) => `v1/operator/${parts.map(encodeURIComponent).join("/")}`;

export const operator = {
  effects: async () => ((await call("GET", path("effects"))) as { readonly effects: readonly LostEffect[] }).effects,
  resolve: (id: string, resolution: Resolution) => call("POST", path("effects", id, "resolve"), resolution),
  held: async () => ((await call("GET", path("turns", "held"))) as { readonly turns: readonly HeldTurn[] }).turns,
  release: (taskId: string) => call("POST", path("turns", taskId, "release")),
  fail: (taskId: string, reason: string) =>
    call("POST", path("turns", taskId, "fail"), reason === "" ? {} : { reason }),
  queues: async () =>
    ((await call("GET", `${path("queues")}?limit=${QUEUES}`)) as { readonly queues: readonly Queue[] }).queues,
  /** Those that were given up first. */
  deliveries: async () => {
    const of = async (state: string) =>
      ((await call("GET", `${path("deliveries")}?state=${state}`)) as { readonly deliveries: readonly Delivery[] })
        .deliveries;
    return (await Promise.all([of("given-up"), of("waiting")])).flat();
  },
  resend: (id: string) => call("POST", path("deliveries", id, "resend")),
  keys: async () => ((await call("GET", path("keys"))) as { readonly keys: readonly Key[] }).keys,
  revoke: (id: string) => call("DELETE", path("keys", id)),
} as const;
