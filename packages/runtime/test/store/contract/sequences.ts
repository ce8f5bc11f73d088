/**
 * Any operations in any order, against a model of them that fits on a page: each answer is what the model says, and after each one
 * the store holds what the model holds, a context has at most one active turn (I2), no turn leaves a terminal state (I5), and what
 * is due when is exact.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { suspectDeaths } from "../../../src/store/store.ts";
import type { Committed, Store, Then } from "../../../src/store/store.ts";
import { entry, leaseMs, Place } from "../place.ts";
import type { Open } from "../place.ts";
import { anyCommand } from "./command.ts";
import type { Command } from "./command.ts";
import { Model, over } from "./model.ts";
import type { Turn } from "./model.ts";

const graceMs = 1000;

class World {
  readonly model = new Model();
  readonly #place: Place;
  #nodes: readonly Store[];
  /** Nodes are numbered through all processes. */
  #firstNode = 0;

  static async open(open: Open): Promise<World> {
    const place = await Place.open(open);
    return new World(place, place.canJoin ? [place.store, await place.join()] : [place.store]);
  }

  private constructor(place: Place, nodes: readonly Store[]) {
    this.#place = place;
    this.#nodes = nodes;
  }

  async close(): Promise<void> {
    await this.#place[Symbol.asyncDispose]();
  }

  async do(command: Command): Promise<void> {
    const { model } = this;
    const { now } = this.#place;
    switch (command.do) {
      case "accept":
        return this.#accept(command);
      case "claim": {
        const [node, store] = this.#node(command.node);
        const due = model.due(node, now);
        const expected: Turn[] = [];
        for (const context of due) {
          if (over(context.active!)) model.goOn(context, now);
          else if (context.runner !== undefined && ++context.active!.deaths >= suspectDeaths) {
            // A suspect is due, and has been since its lease ended.
            context.runner = context.claim = undefined;
            continue;
          }
          if (context.active !== undefined) expected.push(context.active);
        }
        const claims = await store.claimDue({ limit: 100, leaseMs });
        const byTurn = new Map(claims.map((claim) => [claim.turn.turn, claim]));
        assert.deepEqual(new Set(byTurn.keys()), new Set(expected.map(({ key }) => key.turn)));
        for (const turn of expected) {
          model.claimed(turn, { node, epoch: byTurn.get(turn.key.turn)!.epoch, until: now + leaseMs });
        }
        return;
      }
      case "suspect": {
        const [node, store] = this.#node(command.node);
        const suspect = model.suspect(now);
        const claim = await store.claimSuspect({ leaseMs });
        assert.equal(claim?.turn.turn, suspect?.active!.key.turn);
        if (claim) model.claimed(suspect!.active!, { node, epoch: claim.epoch, until: now + leaseMs });
        return;
      }
      case "wait":
        this.#place.now += command.ms;
        return;
      case "run":
        return this.#run(command);
      case "touch":
        return this.#touch(command);
      case "drain": {
        const turn = pick(model.turns, command.turn);
        if (turn === undefined) return;
        await this.#nodes[0]!.drained(turn.key);
        if (over(turn) && turn.context.active === turn) model.goOn(turn.context, now);
        return;
      }
      case "renew": {
        const claim = pick(model.claims, command.claim);
        if (claim === undefined) return;
        const store = this.#nodes[claim.node - this.#firstNode];
        if (store === undefined) return;
        const { context } = claim.turn;
        const lost = await store.renew([{ context: claim.turn.key.context, epoch: claim.epoch }], leaseMs);
        const held = context.claim === claim && context.runner === claim.node;
        assert.deepEqual(lost, held ? [] : [claim.turn.key.context]);
        if (held) context.dueAt = now + leaseMs;
        return;
      }
      case "reopen": {
        await this.#place.reopen();
        this.#firstNode += this.#nodes.length;
        this.#nodes = this.#place.canJoin ? [this.#place.store, await this.#place.join()] : [this.#place.store];
        for (const context of model.contexts) if (context.runner !== undefined) context.dueAt = now;
      }
    }
  }

  /** What the store holds, by everything that can be asked. */
  async check(): Promise<void> {
    const { model } = this;
    const [, store] = this.#node(0);
    for (const turn of model.turns) {
      const record = await store.loadTurn(turn.key);
      assert.ok(record);
      const { state, length, deaths } = record;
      assert.deepEqual({ state, length, deaths }, { state: turn.state, length: turn.length, deaths: turn.deaths });
    }
    for (const { active, queue } of model.contexts) {
      if (active === undefined) assert.equal(queue.length, 0);
      const begun = model.turns.filter(
        (turn) => turn.context === (active ?? queue[0])?.context && turn.state !== "queued" && !over(turn),
      );
      assert.ok(begun.length <= 1, "a context has two active turns");
    }
    for (const [index, node] of this.#nodes.entries()) {
      assert.deepEqual(await node.nextDue(), {
        at: model.nextDue(this.#firstNode + index),
        suspect: model.suspect(this.#place.now) !== undefined,
      });
    }
  }

  async #accept({ node: index, context: number, again, claim }: Command & { do: "accept" }): Promise<void> {
    const { model } = this;
    const { now } = this.#place;
    const [node] = this.#node(index);
    const context = model.contexts[number]!;
    const earlier = model.turns.findLast((turn) => turn.context === context);
    this.#place.store = this.#nodes[node - this.#firstNode]!;
    const messageId = again && earlier ? earlier.messageId : `m-${model.turns.length}`;
    const accepted = await this.#place.accept({ contextId: `c-${number}`, messageId, claim, queueDepth: 3 });
    if (again && earlier) return assert.deepEqual(accepted, { kind: "duplicate", key: earlier.key });
    if (context.queue.length === 3) return assert.deepEqual(accepted, { kind: "queueFull" });
    if (accepted.kind !== "accepted") assert.fail(accepted.kind);
    const busy = context.active !== undefined;
    const { turn: record } = accepted;
    const key = { context: record.context, turn: record.turn };
    const turn: Turn = { key, context, messageId, state: busy ? "queued" : "running", length: 0, deaths: 0 };
    assert.equal(record.state, turn.state);
    if (earlier) assert.equal(key.context, earlier.key.context);
    for (const other of model.turns) assert.ok(other.key.turn < key.turn);
    model.turns.push(turn);
    assert.equal(accepted.claim !== undefined, claim && !busy);
    if (busy) return void context.queue.push(turn);
    context.active = turn;
    context.dueAt = now;
    if (accepted.claim) model.claimed(turn, { node, epoch: accepted.claim.epoch, until: now + leaseMs });
  }

  async #run({ claim: index, late, then }: Command & { do: "run" }): Promise<void> {
    const { model } = this;
    const { now } = this.#place;
    const claim = pick(model.claims, index);
    if (claim === undefined) return;
    const { turn, epoch } = claim;
    const store = this.#nodes[claim.node - this.#firstNode] ?? this.#nodes[0]!;
    const length = late ? turn.length - 1 : turn.length;
    const ends = then === "end" || then === "hand over";
    const thens: Record<typeof then, Then | undefined> = {
      "go on": undefined,
      park: { do: "park", dueAt: undefined },
      nap: { do: "park", dueAt: now + 500 },
      end: { do: "end" },
      "hand over": { do: "end", claim: { leaseMs } },
    };
    const committed = await store.commit({
      key: turn.key,
      length,
      epoch,
      entries: [entry(1)],
      state: ends ? "completed" : then === "go on" ? "running" : "waiting",
      ...(thens[then] && { then: thens[then] }),
    });
    // A claim is good until another one is made, even when what it was for was let go.
    const { context } = turn;
    const last = model.claims.findLast((other) => other.turn.context === context);
    const valid = context.active === turn && last === claim && !over(turn);
    if (!this.#expect(committed, { turn, valid, late })) return;
    turn.state = ends ? "completed" : then === "go on" ? "running" : "waiting";
    if (then === "park" || then === "nap") {
      context.runner = context.claim = undefined;
      context.dueAt = then === "nap" ? now + 500 : undefined;
    }
    if (!ends) return;
    model.goOn(context, now);
    assert.equal(
      committed.kind === "committed" && committed.next?.turn.turn,
      then === "end" ? undefined : context.active?.key.turn,
    );
    if (committed.kind === "committed" && committed.next) {
      const node = this.#firstNode + Math.max(0, this.#nodes.indexOf(store));
      model.claimed(context.active!, { node, epoch: committed.next.epoch, until: now + leaseMs });
    }
  }

  async #touch({ turn: index, late, then }: Command & { do: "touch" }): Promise<void> {
    const { model } = this;
    const { now } = this.#place;
    const turn = pick(model.turns, index);
    if (turn === undefined) return;
    const thens: Record<typeof then, Then | undefined> = {
      "go on": undefined,
      wake: { do: "wake" },
      end: { do: "end", graceMs },
    };
    const committed = await this.#nodes[0]!.commit({
      key: turn.key,
      length: late ? turn.length - 1 : turn.length,
      entries: [entry(1)],
      ...(then === "end" && { state: "canceled" }),
      ...(thens[then] && { then: thens[then] }),
    });
    if (!this.#expect(committed, { turn, valid: !over(turn), late })) return;
    const { context } = turn;
    if (then === "wake" && context.active === turn && context.runner === undefined)
      context.dueAt = Math.min(context.dueAt ?? now, now);
    if (then !== "end") return;
    turn.state = "canceled";
    if (context.active !== turn) context.queue = context.queue.filter((other) => other !== turn);
    else if (context.runner === undefined) model.goOn(context, now);
    else {
      context.claim = undefined;
      context.dueAt = now + graceMs;
    }
  }

  /** Whether the change was made, which is what it should be. */
  #expect(committed: Committed, { turn, valid, late }: { turn: Turn; valid: boolean; late: boolean }): boolean {
    if (!valid) assert.deepEqual(committed, { kind: "fenced", state: turn.state });
    else if (late) assert.deepEqual(committed, { kind: "behind", length: turn.length });
    else {
      assert.ok(committed.kind === "committed");
      assert.equal(committed.length, ++turn.length);
      return true;
    }
    return false;
  }

  #node(number: number): [node: number, store: Store] {
    const index = number % this.#nodes.length;
    return [this.#firstNode + index, this.#nodes[index]!];
  }
}

function pick<Item>(items: readonly Item[], number: number): Item | undefined {
  return items[number % Math.max(1, items.length)];
}

/** Two processes die with a turn, and it is found out a while after the second did: a suspect is due since then. */
const foundOutLate: readonly Command[] = [
  { do: "accept", node: 0, context: 0, again: false, claim: true },
  { do: "reopen" },
  { do: "claim", node: 0 },
  { do: "reopen" },
  { do: "wait", ms: 1 },
  { do: "claim", node: 0 },
];

/** @param runs How many sequences are tried. */
export function sequenceContract(open: Open, runs: number): void {
  describe("any operations in any order", () => {
    it("are answered as the model says, and leave what it says", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyCommand, { minLength: 10, maxLength: 60 }), async (commands) => {
          const world = await World.open(open);
          try {
            for (const one of commands) {
              await world.do(one);
              await world.check();
            }
          } finally {
            await world.close();
          }
        }),
        { numRuns: runs, examples: [[[...foundOutLate]]] },
      );
    });
  });
}
