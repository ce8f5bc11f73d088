/** How many turns a list has, after any history of them: the same as when somebody goes through all of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TASK_STATES } from "@nylorun/protocol";
import type { TaskState, TurnState, WaitKind } from "@nylorun/protocol";
import fc from "fast-check";

import type { TurnQuery } from "../../../src/store/store.ts";
import type { TurnRecord } from "../../../src/turn/record.ts";
import { dawn, Place } from "../place.ts";
import type { Open } from "../place.ts";

const subjects = ["ada", "bob"];
const contexts = ["one", "two", "three"];
const ends = ["completed", "failed", "rejected", "canceled"] as const;
const waits: readonly (WaitKind | undefined)[] = ["question", "approval", "connection", "sleep", undefined];

/** @param turns How many there are at the end, about: enough for what a store keeps to count them by. */
export function totalContract(open: Open, { runs, turns }: { readonly runs: number; readonly turns: number }): void {
  describe("the total of a list", () => {
    it("is what going through all of it finds, whatever has happened and however it is narrowed", async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer(), async (seed) => {
          await using place = await Place.open(open);
          const random = numbers(seed);
          const pick = <Item>(items: readonly Item[]) => items[random(items.length)]!;
          const moments: number[] = [dawn];
          const round = 200;
          for (let made = 0; made < turns; made += round) {
            const batch = await Promise.all(
              Array.from({ length: round }, async (_, n) => {
                const own = random(3) === 0 ? `own-${made + n}` : pick(contexts);
                // So that they do not wait for each other, but share a context: it comes to rest after each.
                return live(place, { subject: pick(subjects), contextId: own, end: random(20) > 0, random });
              }),
            );
            moments.push(place.now, ...batch.map(({ statusAt }) => statusAt).slice(0, 3));
            // The clock may be set back.
            place.now += random(4) === 0 ? -random(5000) : random(60_000);
            if (random(3) === 0) {
              const before = pick(moments);
              await forgetAll(place, "turns", before);
            }
            if (random(4) === 0) await place.store.erase({ what: "turn", key: pick(batch) });
            if (random(8) === 0)
              await place.store.erase({
                what: "context",
                subject: pick(subjects),
                agent: "echo",
                contextId: pick(contexts),
              });
          }
          for (let n = 0; n < 40; n++) {
            const query: TurnQuery = {
              subject: pick(subjects),
              agent: "echo",
              ...(random(2) === 0 && { contextId: pick(contexts) }),
              ...(random(2) === 0 && { status: pick(TASK_STATES) }),
              ...(random(3) > 0 && { statusFrom: pick(moments) + random(3) - 1 }),
              limit: 1,
            };
            const { total } = await place.store.listTurns(query);
            assert.equal(total, (await all(place, query)).length, JSON.stringify(query));
          }
          const { turns: figures } = await place.store.measure();
          const found = (
            await Promise.all(subjects.map((subject) => all(place, { subject, agent: "echo", limit: 1 })))
          ).flat();
          assert.equal(sum(figures), found.length);
        }),
        { numRuns: runs },
      );
    });
  });
}

/** A turn from its beginning to its end, or to where it waits. */
async function live(
  place: Place,
  {
    subject,
    contextId,
    end,
    random,
  }: { subject: string; contextId: string; end: boolean; random: (below: number) => number },
): Promise<TurnRecord> {
  const accepted = await place.accept({ subject, contextId, claim: true, queueDepth: 100_000 });
  if (accepted.kind !== "accepted") assert.fail(accepted.kind);
  const { turn, claim } = accepted;
  const waitsFor = waits[random(waits.length)];
  const state: TurnState = end ? ends[random(ends.length)]! : "waiting";
  if (claim === undefined) {
    if (end) await place.store.commit({ key: turn, length: 0, state: "canceled", then: { do: "end" } });
    return turn;
  }
  // Most end; of those that wait some are ended by somebody else.
  const then = end ? ({ do: "end" } as const) : ({ do: "park", dueAt: undefined } as const);
  const view = end || waitsFor === undefined ? {} : { waitsFor };
  await place.store.commit({ key: turn, length: 0, epoch: claim.epoch, state, view, then });
  if (!end && random(3) > 0) {
    await place.store.commit({ key: turn, length: 0, state: "canceled", view: {}, then: { do: "end" } });
  }
  return turn;
}

async function all(place: Place, query: TurnQuery): Promise<readonly TurnRecord[]> {
  const found: TurnRecord[] = [];
  let after: TurnQuery["after"];
  for (let more = true; more;) {
    const page = await place.store.listTurns({ ...query, ...(after && { after }), limit: 1000 });
    found.push(...page.turns);
    after = page.turns.at(-1);
    ({ more } = page);
  }
  return found;
}

export async function forgetAll(
  place: Place,
  what: "messages" | "journals" | "turns",
  before: number,
): Promise<number> {
  let count = 0;
  let after: number | undefined;
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 10_000, "it does not come to an end");
    const step = await place.store.forget({ what, before, limit: 100, ...(after !== undefined && { after }) });
    count += step.count;
    if (step.next === undefined) return count;
    after = step.next;
  }
}

function sum(counts: Readonly<Record<TaskState, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Numbers that follow from a seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % below;
  };
}
