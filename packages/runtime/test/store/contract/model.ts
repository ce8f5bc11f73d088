/** What a Store does, on a page: to be compared with what one did. */
import assert from "node:assert/strict";

import type { TurnState } from "@nylorun/protocol";

import { suspectDeaths } from "../../../src/store/store.ts";
import type { TurnKey } from "../../../src/turn/record.ts";

export interface Context {
  active: Turn | undefined;
  queue: Turn[];
  runner: number | undefined;
  dueAt: number | undefined;
  /** The last claim of it; undefined when somebody has fenced it off. */
  claim: Claim | undefined;
}

export interface Turn {
  readonly key: TurnKey;
  readonly context: Context;
  readonly messageId: string;
  state: TurnState;
  length: number;
  deaths: number;
}

export interface Claim {
  readonly node: number;
  readonly turn: Turn;
  readonly epoch: number;
}

export const over = (turn: Turn) => turn.state === "completed" || turn.state === "canceled";

export class Model {
  readonly contexts: Context[] = Array.from({ length: 3 }, () => ({
    active: undefined,
    queue: [],
    runner: undefined,
    dueAt: undefined,
    claim: undefined,
  }));
  readonly turns: Turn[] = [];
  readonly claims: Claim[] = [];

  due(node: number, now: number): Context[] {
    return this.contexts.filter(({ active, runner, dueAt }) => {
      if (active === undefined || dueAt === undefined || dueAt > now) return false;
      return over(active) || (runner === undefined ? active.deaths < suspectDeaths : runner !== node);
    });
  }

  nextDue(node: number): number | undefined {
    const times = this.contexts.flatMap(({ runner, dueAt }) => (dueAt === undefined || runner === node ? [] : [dueAt]));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  suspect(now: number): Context | undefined {
    return this.contexts
      .filter(
        ({ active, runner, dueAt }) =>
          active !== undefined &&
          active.deaths >= suspectDeaths &&
          runner === undefined &&
          dueAt !== undefined &&
          dueAt <= now,
      )
      .toSorted((a, b) => a.active!.key.turn - b.active!.key.turn)[0];
  }

  goOn(context: Context, now: number): void {
    context.active = context.queue.shift();
    context.runner = undefined;
    context.claim = undefined;
    context.dueAt = context.active && now;
    if (context.active) context.active.state = "running";
  }

  claimed(turn: Turn, claim: { readonly node: number; readonly epoch: number; readonly until: number }): void {
    const earlier = this.claims.filter((other) => other.turn.context === turn.context);
    for (const { epoch } of earlier) assert.ok(claim.epoch > epoch, "an epoch came twice");
    turn.context.runner = claim.node;
    turn.context.dueAt = claim.until;
    this.claims.push((turn.context.claim = { node: claim.node, turn, epoch: claim.epoch }));
  }
}
