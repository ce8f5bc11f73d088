import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TurnState, WaitKind } from "@nylorun/protocol";
import fc from "fast-check";

import type { TurnQuery } from "../../../src/store/store.ts";
import type { TurnKey, TurnRecord } from "../../../src/turn/record.ts";
import { dawn, Place } from "../place.ts";
import type { Open } from "../place.ts";

const scope = { subject: "ada", agent: "echo" };

/** Makes a turn that is in this state. */
async function turnIn(place: Place, state: TurnState, waitsFor?: WaitKind): Promise<TurnKey> {
  const contextId = `c-${Math.random()}`;
  if (state === "queued") {
    await place.run({ contextId });
    return place.begin({ contextId });
  }
  const { turn, epoch } = await place.run({ contextId });
  const view = waitsFor === undefined ? {} : { waitsFor };
  const isOver = !["running", "waiting", "uncertain", "held"].includes(state);
  const then = isOver ? ({ do: "end" } as const) : ({ do: "park", dueAt: undefined } as const);
  if (state !== "running") await place.commit(turn, { epoch, state, view, then });
  return turn;
}

async function listed(place: Place, query: Partial<TurnQuery> = {}): Promise<readonly number[]> {
  return (await place.store.listTurns({ ...scope, limit: 100, ...query })).turns.map(({ turn }) => turn);
}

/** @param runs How many ways of paging are tried. */
export function listContract(open: Open, runs: number): void {
  describe("a list of turns", () => {
    it("is the subject's own with one agent, by the time of their status, latest first, then by their key", async () => {
      await using place = await Place.open(open);
      assert.deepEqual(await place.store.listTurns({ ...scope, limit: 10 }), { turns: [], more: false, total: 0 });
      const [a, b] = [await place.begin({ contextId: "a" }), await place.begin({ contextId: "b" })];
      place.now += 10;
      const { turn: c } = await place.run({ contextId: "c" });
      await place.begin({ subject: "bob" });
      await place.begin({ agent: "other" });
      place.now += 10;
      await place.commit(b, { statusChanged: true });
      assert.deepEqual(await listed(place), [b.turn, c.turn, a.turn]);
      const { turns, total, more } = await place.store.listTurns({ ...scope, limit: 100 });
      assert.deepEqual([total, more], [3, false]);
      for (const turn of turns) assert.deepEqual(turn, await place.turn(turn));
    });

    it("is narrowed by context, by the state that callers are shown, and by when that came about", async () => {
      await using place = await Place.open(open);
      const turns = {
        queued: await turnIn(place, "queued"),
        asks: await turnIn(place, "waiting", "question"),
        approves: await turnIn(place, "waiting", "approval"),
        sleeps: await turnIn(place, "waiting"),
        lost: await turnIn(place, "uncertain"),
        held: await turnIn(place, "held"),
        done: await turnIn(place, "completed"),
        refused: await turnIn(place, "rejected"),
        failed: await turnIn(place, "failed"),
        gone: await turnIn(place, "canceled"),
      };
      const named = async (query: Partial<TurnQuery>) => {
        const found = await listed(place, query);
        return Object.entries(turns).flatMap(([name, { turn }]) => (found.includes(turn) ? [name] : []));
      };
      assert.deepEqual(await named({ status: "TASK_STATE_SUBMITTED" }), ["queued"]);
      assert.deepEqual(await named({ status: "TASK_STATE_INPUT_REQUIRED" }), ["asks"]);
      assert.deepEqual(await named({ status: "TASK_STATE_AUTH_REQUIRED" }), ["approves"]);
      assert.deepEqual(await named({ status: "TASK_STATE_WORKING" }), ["sleeps", "lost", "held"]);
      assert.deepEqual(await named({ status: "TASK_STATE_COMPLETED" }), ["done"]);
      assert.deepEqual(await named({ status: "TASK_STATE_REJECTED" }), ["refused"]);
      assert.deepEqual(await named({ status: "TASK_STATE_FAILED" }), ["failed"]);
      assert.deepEqual(await named({ status: "TASK_STATE_CANCELED" }), ["gone"]);

      const { contextId } = await place.turn(turns.queued);
      assert.equal((await place.store.listTurns({ ...scope, contextId, limit: 10 })).total, 2);
      assert.deepEqual(await named({ contextId, status: "TASK_STATE_SUBMITTED" }), ["queued"]);
      assert.deepEqual(await listed(place, { contextId: "no such" }), []);
      assert.deepEqual(await listed(place, { contextId, subject: "bob" }), []);

      place.now += 10;
      await place.commit(turns.asks, { state: "running" });
      const [from] = [place.now];
      assert.deepEqual(await named({ statusFrom: from }), ["asks"], "at that very moment is in (A20)");
      assert.deepEqual(await named({ statusFrom: from + 1 }), []);
      assert.equal((await named({ statusFrom: dawn })).length, 10);
      assert.deepEqual(await named({ statusFrom: from, status: "TASK_STATE_INPUT_REQUIRED" }), []);
    });

    it("goes by what a waiting turn waits for, whichever change said so", async () => {
      await using place = await Place.open(open);
      const turn = await turnIn(place, "waiting", "question");
      await place.commit(turn, { view: { waitsFor: "approval" } });
      assert.deepEqual(await listed(place, { status: "TASK_STATE_AUTH_REQUIRED" }), [turn.turn]);
      await place.commit(turn, { state: "uncertain" });
      assert.deepEqual(await listed(place, { status: "TASK_STATE_WORKING" }), [turn.turn]);
      await place.commit(turn, { state: "waiting" });
      assert.deepEqual(await listed(place, { status: "TASK_STATE_AUTH_REQUIRED" }), [turn.turn]);
      await place.commit(turn, { view: {} });
      assert.deepEqual(await listed(place, { status: "TASK_STATE_WORKING" }), [turn.turn]);
    });

    it("comes in pages: all of it, each once, with the total of all pages on each", async () => {
      await using place = await Place.open(open);
      for (let n = 0; n < 7; n++) {
        await place.begin({ contextId: `c-${n}` });
        if (n % 3 === 0) place.now += 1;
      }
      const all = await listed(place);
      for (const limit of [1, 2, 3, 7, 8]) {
        assert.deepEqual(
          (await pages(place, { limit })).map(({ turn }) => turn),
          all,
          `${limit} at a time`,
        );
      }
    });

    it("has pages that end early where turns are large, with one turn at least", async () => {
      await using place = await Place.open(open);
      const large = "x".repeat(10_000);
      for (let n = 0; n < 5; n++)
        await place.begin({ contextId: `c-${n}`, message: { messageId: `m-${n}`, parts: [{ text: large }] } });
      await place.run({ contextId: "small" });
      const all = await listed(place);
      for (const [size, sizes] of [
        [1, [1, 1, 1, 1, 1, 1]],
        // The small one comes first.
        [10_500, [3, 2, 1]],
        [25_000, [4, 2]],
        [1_000_000, [6]],
      ] as const) {
        const found: number[][] = [];
        for (let after: TurnQuery["after"]; ;) {
          const page = await place.store.listTurns({ ...scope, limit: 100, size, ...(after && { after }) });
          assert.equal(page.total, 6);
          found.push(page.turns.map(({ turn }) => turn));
          after = page.turns.at(-1);
          if (!page.more) break;
        }
        assert.deepEqual(found.flat(), all);
        assert.deepEqual(
          found.map(({ length }) => length),
          sizes,
          `of ${size}`,
        );
      }
    });

    it("neither skips nor repeats a turn that does not change while it is paged (A19)", async () => {
      const change = fc.record({ turn: fc.nat(11), to: fc.constantFrom("touch", "wait", "end", "new") });
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }),
          fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 12 }),
          fc.constantFrom<Partial<TurnQuery>[]>({}, { status: "TASK_STATE_WORKING" }, { statusFrom: dawn + 3 }),
          async (limit, gaps, changes, query) => {
            await using place = await Place.open(open);
            const turns: TurnRecord[] = [];
            for (const [n, gap] of gaps.entries()) {
              place.now += gap;
              turns.push((await place.run({ contextId: `c-${n}` })).turn);
            }
            const before = await listed(place, query);
            const changed = new Set<number>();
            const seen = await pages(place, { limit, ...query }, async (page) => {
              place.now += 1;
              for (const { turn: index, to } of changes[page] ?? []) {
                if (to === "new") await place.begin({ contextId: undefined });
                else {
                  const key = turns[index]!;
                  changed.add(key.turn);
                  await move(place, key, to);
                }
              }
            });
            const unchanged = (turn: number) => !changed.has(turn);
            const seenUnchanged = seen.map(({ turn }) => turn).filter((turn) => before.includes(turn));
            assert.deepEqual(seenUnchanged.filter(unchanged), before.filter(unchanged));
          },
        ),
        { numRuns: runs },
      );
    });
  });

  describe("the turns that need an operator", () => {
    it("are those that are held or have lost effects, of everybody, oldest first, for as long as that is so", async () => {
      await using place = await Place.open(open);
      const held = { code: "journal.diverged", message: "It does not fit." };
      const lost = [{ of: 0, id: "e", name: "pay", why: "died", at: dawn }] as const;
      const one = await place.run({ contextId: "a" });
      const two = await place.run({ contextId: "b", subject: "bob", agent: "other" });
      const three = await place.run({ contextId: "c" });
      await place.run({ contextId: "d" });
      const troubled = async (limit = 10, after?: number) =>
        (await place.store.listTroubled(limit, after)).map(({ turn }) => turn);
      assert.deepEqual(await troubled(), []);
      await place.commit(three.turn, { epoch: three.epoch, state: "held", view: { held } });
      await place.commit(one.turn, { epoch: one.epoch, state: "uncertain", view: { lost } });
      await place.commit(two.turn, { epoch: two.epoch, state: "canceled", view: { lost }, then: { do: "end" } });
      assert.deepEqual(await troubled(), [one.turn.turn, two.turn.turn, three.turn.turn]);
      assert.deepEqual(await troubled(2), [one.turn.turn, two.turn.turn]);
      assert.deepEqual(await troubled(2, one.turn.turn), [two.turn.turn, three.turn.turn]);
      assert.deepEqual(await troubled(2, three.turn.turn), []);
      assert.deepEqual(await place.store.listTroubled(1), [await place.turn(one.turn)]);
      await place.commit(one.turn, { epoch: one.epoch, entries: [{ kind: "heard", at: 0 }] });
      assert.equal((await troubled()).length, 3, "a change that says nothing of it leaves it");
      await place.commit(three.turn, { epoch: three.epoch, state: "running", view: {} });
      assert.deepEqual(await troubled(), [one.turn.turn, two.turn.turn]);
    });
  });

  describe("the turns of an agent that have begun and not ended", () => {
    it("are those of all subjects, in pages, none of them skipped or repeated", async () => {
      await using place = await Place.open(open);
      const states = ["running", "waiting", "uncertain", "held", "completed", "failed", "canceled"] as const;
      const expected: number[] = [];
      for (const [n, state] of [...states, ...states].entries()) {
        const { turn, epoch } = await place.run({ subject: `s-${n % 5}`, contextId: `c-${n}` });
        const isOver = n % 7 > 3;
        const then = isOver ? ({ do: "end" } as const) : ({ do: "park", dueAt: undefined } as const);
        const view = state === "waiting" && n > 7 ? ({ waitsFor: "approval" } as const) : {};
        if (state !== "running") await place.commit(turn, { epoch, state, view, then });
        if (!isOver) expected.push(turn.turn);
        await place.begin({ subject: `s-${n % 5}`, agent: "other", contextId: `c-${n}` });
        place.now += n % 2;
      }
      const { context } = await place.turn((await place.store.listUnfinished({ agent: "echo", limit: 1 })).turns[0]!);
      const { contextId, subject } = (await unfinished(place, 5)).find((turn) => turn.context === context)!;
      await place.begin({ contextId, subject }); // It waits in line: it has not begun.
      for (const limit of [1, 2, 3, 100]) {
        const found = await unfinished(place, limit);
        assert.deepEqual(
          found.map(({ turn }) => turn).toSorted((a, b) => a - b),
          expected,
          `${limit} at a time`,
        );
        for (const turn of found) assert.deepEqual(turn, await place.turn(turn));
      }
      assert.deepEqual((await place.store.listUnfinished({ agent: "no such", limit: 10 })).turns, []);
    });

    it("are each met once by who pages while others come and go", async () => {
      await using place = await Place.open(open);
      const turns: TurnRecord[] = [];
      for (let n = 0; n < 12; n++) {
        turns.push((await place.park({ subject: `s-${n % 3}`, contextId: `c-${n}` })).turn);
        place.now += 1;
      }
      const moved = new Set<number>();
      const found = await unfinished(place, 2, async (page) => {
        const key = turns[(page * 5) % 12]!;
        moved.add(key.turn);
        await move(place, key, page % 2 === 0 ? "touch" : "end");
        await place.begin({ contextId: undefined, subject: `s-${page % 4}` });
      });
      const still = (turn: number) => !moved.has(turn);
      const old = turns.map(({ turn }) => turn);
      assert.deepEqual(
        found
          .map(({ turn }) => turn)
          .filter((turn) => old.includes(turn) && still(turn))
          .toSorted((a, b) => a - b),
        old.filter(still),
      );
    });
  });
}

/** Every page until the last. `between` is called after each, with its number from 0. */
async function pages(
  place: Place,
  query: Partial<TurnQuery> & { readonly limit: number },
  between?: (page: number) => Promise<void>,
): Promise<readonly TurnRecord[]> {
  const all: TurnRecord[] = [];
  let after: TurnQuery["after"];
  for (let page = 0; page < 100; page++) {
    const { turns, more, total } = await place.store.listTurns({ ...scope, ...query, ...(after && { after }) });
    if (between === undefined) assert.equal(total, (await listed(place)).length);
    all.push(...turns);
    if (!more) return all;
    assert.equal(turns.length, query.limit);
    const { statusAt, turn } = turns.at(-1)!;
    after = { statusAt, turn };
    await between?.(page);
  }
  assert.fail("the pages do not end");
}

async function unfinished(
  place: Place,
  limit: number,
  between?: (page: number) => Promise<void>,
): Promise<readonly TurnRecord[]> {
  const all: TurnRecord[] = [];
  let after: string | undefined;
  for (let page = 0; page < 200; page++) {
    const { turns, next } = await place.store.listUnfinished({ agent: "echo", limit, ...(after && { after }) });
    assert.ok(turns.length <= limit);
    all.push(...turns);
    if (next === undefined) return all;
    after = next;
    await between?.(page);
  }
  assert.fail("the pages do not end");
}

/** Changes the status of a turn that has not ended. */
async function move(place: Place, key: TurnKey, to: "touch" | "wait" | "end"): Promise<void> {
  const turn = await place.turn(key);
  if (turn.state === "completed") return;
  if (to === "end") await place.commit(key, { state: "completed", then: { do: "end", graceMs: 0 } });
  else if (to === "wait") await place.commit(key, { state: "waiting", view: { waitsFor: "question" } });
  else await place.commit(key, { statusChanged: true });
}
