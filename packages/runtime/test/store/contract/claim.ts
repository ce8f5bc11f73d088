import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { suspectDeaths } from "../../../src/store/store.ts";
import { dawn, entry, leaseMs, Place, turnsOf } from "../place.ts";
import type { Open } from "../place.ts";

export function claimContract(open: Open): void {
  describe("what is due", () => {
    it("is claimed oldest first, as many as asked for, each once", async () => {
      await using place = await Place.open(open);
      const turns: number[] = [];
      for (const contextId of ["a", "b", "c", "d", "e"]) {
        turns.push((await place.begin({ contextId })).turn);
        place.now += 5;
      }
      assert.deepEqual(turnsOf(await place.claim(2)), turns.slice(0, 2));
      assert.deepEqual(turnsOf(await place.claim(2)), turns.slice(2, 4));
      assert.deepEqual(turnsOf(await place.claim(2)), turns.slice(4));
      assert.deepEqual(await place.claim(2), []);
    });

    it("comes with the turn as it is, its journal, and an epoch that rises with each claim", async () => {
      await using place = await Place.open(open);
      const first = await place.run();
      const entries = [entry(1), entry(2)];
      const view = { said: { by: "agent", id: "s", parts: [{ text: "Hm" }] } } as const;
      await place.commit(first.turn, { epoch: first.epoch, entries, view, then: { do: "park", dueAt: place.now } });
      const [claim] = await place.claim();
      assert.ok(claim);
      assert.deepEqual(claim.journal, entries);
      assert.deepEqual(claim.turn, await place.turn(first.turn));
      assert.equal(claim.turn.length, 2);
      assert.deepEqual(claim.turn.view, view);
      assert.ok(claim.epoch > first.epoch);
      assert.equal(claim.first, false);
    });

    it("is not due before its time, and is at it", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park({}, dawn + 1000);
      assert.equal(await place.due(), dawn + 1000);
      place.now = dawn + 999;
      assert.deepEqual(await place.claim(), []);
      place.now = dawn + 1000;
      assert.deepEqual(turnsOf(await place.claim()), [turn.turn]);
    });

    it("is due when its time is over, should that be between two milliseconds", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park({}, dawn + 999.5);
      place.now = dawn + 999;
      assert.deepEqual(await place.claim(), []);
      place.now = dawn + 1000;
      assert.deepEqual(turnsOf(await place.claim()), [turn.turn]);
    });

    it("is known beforehand: the earliest of them, and none when nothing will be", async () => {
      await using place = await Place.open(open);
      assert.deepEqual(await place.store.nextDue(), { at: undefined, suspect: false });
      await place.park({ contextId: "a" }, dawn + 2000);
      await place.park({ contextId: "b" }, dawn + 1000);
      await place.park({ contextId: "c" });
      await place.run({ contextId: "d" });
      assert.equal(await place.due(), dawn + 1000);
      place.now += 1000;
      await place.claim();
      assert.equal(await place.due(), dawn + 2000);
      place.now += 1000;
      await place.claim();
      assert.equal(await place.due(), undefined, "what this node runs is in its hands");
    });

    it("is never what the node itself runs, however late it renews", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      place.now += 100 * leaseMs;
      assert.deepEqual(await place.claim(), []);
      assert.deepEqual(await place.store.renew([{ context: turn.context, epoch }], leaseMs), []);
      await place.commit(turn, { epoch, entries: [entry(1)] });
      assert.equal((await place.turn(turn)).deaths, 0);
    });

    it("is claimed once, whoever else asks at the same moment", async () => {
      await using place = await Place.open(open);
      const turns = new Set<number>();
      for (let n = 0; n < 30; n++) turns.add((await place.begin({ contextId: `c-${n}` })).turn);
      const other = place.canJoin ? await place.join() : place.store;
      const claims = await Promise.all(
        [1, 3, 30, 5, 2].flatMap((limit) => [place.claim(limit), other.claimDue({ limit, leaseMs })]),
      );
      const claimed = claims.flatMap(turnsOf);
      assert.equal(claimed.length, new Set(claimed).size, "one was claimed twice");
      assert.deepEqual(new Set(claimed), turns);
      await other[Symbol.asyncDispose]();
    });
  });

  describe("a lease", () => {
    it("keeps a turn from other nodes until it ends by the store's clock, and counts a death then", async (t) => {
      await using place = await Place.open(open);
      if (!place.canJoin) return t.skip("one process has this kind of store to itself");
      await using other = await place.join();
      const { turn, epoch } = await place.run();
      assert.equal((await other.nextDue()).at, dawn + leaseMs);
      place.now += leaseMs - 1;
      assert.deepEqual(await other.claimDue({ limit: 10, leaseMs }), []);
      place.now += 1;
      const [claim] = await other.claimDue({ limit: 10, leaseMs });
      assert.equal(claim?.turn.turn, turn.turn);
      assert.equal(claim.turn.deaths, 1);
      assert.ok(claim.epoch > epoch);
      // Who held it before is fenced off, and told.
      const late = await place.store.commit({ key: turn, length: 0, epoch, entries: [entry(1)] });
      assert.deepEqual(late, { kind: "fenced", state: "running" });
      assert.deepEqual(await place.store.renew([{ context: turn.context, epoch }], leaseMs), [turn.context]);
      const ours = await other.commit({ key: turn, length: 0, epoch: claim.epoch, entries: [entry(2)] });
      assert.equal(ours.kind, "committed");
    });

    it("that is renewed is good for so much longer", async (t) => {
      await using place = await Place.open(open);
      if (!place.canJoin) return t.skip("one process has this kind of store to itself");
      await using other = await place.join();
      const { turn, epoch } = await place.run();
      const parked = await place.park({ contextId: "walk" });
      place.now += leaseMs - 1;
      const lost = await place.store.renew(
        [
          { context: turn.context, epoch },
          { context: parked.turn.context, epoch: parked.epoch },
          { context: turn.context, epoch: epoch + 1 },
        ],
        leaseMs,
      );
      assert.deepEqual(lost, [parked.turn.context, turn.context], "what is not held is lost");
      place.now += leaseMs - 1;
      assert.deepEqual(await other.claimDue({ limit: 10, leaseMs }), []);
      place.now += 1;
      assert.equal((await other.claimDue({ limit: 10, leaseMs })).length, 1);
    });
  });

  describe("a turn that processes die with (E17)", () => {
    /** Lets the process die so often while it runs the turn; as long as it is no suspect, it is run again. */
    async function die(place: Place, times: number): Promise<void> {
      for (let n = 1; n <= times; n++) {
        await place.reopen();
        assert.equal((await place.claim()).length, n < suspectDeaths ? 1 : 0);
      }
    }

    it("is counted for each, and not for the ones that it only waited through", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run({ contextId: "a" });
      const { turn: parked } = await place.park({ contextId: "b" }, dawn);
      const queued = await place.begin({ contextId: "a" });
      await place.reopen();
      assert.deepEqual(new Set(turnsOf(await place.claim())), new Set([turn.turn, parked.turn]));
      assert.equal((await place.turn(turn)).deaths, 1);
      assert.equal((await place.turn(parked)).deaths, 0);
      assert.equal((await place.turn(queued)).deaths, 0);
    });

    it("is passed over by those who run others, and given to who runs nothing else", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run({ contextId: "a" });
      await die(place, suspectDeaths - 1);
      assert.deepEqual(await place.store.nextDue(), { at: undefined, suspect: false });
      assert.equal(await place.store.claimSuspect({ leaseMs }), undefined);
      await place.reopen();
      const other = await place.begin({ contextId: "b" });
      const claimed = [...(await place.claim()), ...(await place.claim())];
      assert.deepEqual(turnsOf(claimed), [other.turn]);
      assert.equal((await place.store.nextDue()).suspect, true);
      const suspect = await place.store.claimSuspect({ leaseMs });
      assert.equal(suspect?.turn.turn, turn.turn);
      assert.equal(suspect.turn.deaths, suspectDeaths);
      assert.equal(await place.store.claimSuspect({ leaseMs }), undefined);
      assert.equal((await place.store.nextDue()).suspect, false);
    });

    it("is no suspect before its time, nor once it is forgiven", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      await die(place, suspectDeaths);
      const suspect = await place.store.claimSuspect({ leaseMs });
      assert.ok(suspect);
      const { epoch } = suspect;
      await place.commit(turn, { epoch, state: "waiting", then: { do: "park", dueAt: place.now + 1000 } });
      assert.equal(await place.store.claimSuspect({ leaseMs }), undefined);
      place.now += 1000;
      assert.equal((await place.store.nextDue()).suspect, true);
      await place.commit(turn, { forgive: true });
      assert.equal((await place.turn(turn)).deaths, 0);
      assert.equal((await place.store.nextDue()).suspect, false);
      assert.deepEqual(turnsOf(await place.claim()), [turn.turn]);
    });
  });
}
