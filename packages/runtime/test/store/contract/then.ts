import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { dawn, entry, leaseMs, Place, turnsOf } from "../place.ts";
import type { Open } from "../place.ts";

export function thenContract(open: Open): void {
  describe("a turn that is parked", () => {
    it("is let go by its runner until it is due, or for good when it is not", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.park({ contextId: "a" });
      assert.equal(await place.due(), undefined);
      assert.deepEqual(await place.claim(), []);
      assert.deepEqual(await place.store.renew([{ context: turn.context, epoch }], leaseMs), [turn.context]);
      place.heard();
      await place.park({ contextId: "b" }, dawn + 50);
      assert.ok(place.heard().includes("due"), "who naps is told that there is a new time to wake");
      assert.equal(await place.due(), dawn + 50);
    });

    it("is due at once when something wakes it", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.park({}, dawn + 50_000);
      place.now += 10;
      place.heard();
      await place.commit(turn, { entries: [entry(1)], state: "running", then: { do: "wake" } });
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`, "due"]);
      assert.equal(await place.due(), dawn + 10);
      const [claim] = await place.claim();
      assert.deepEqual([claim?.turn.turn, claim?.journal], [turn.turn, [entry(1)]]);
      assert.ok(claim!.epoch > epoch);
      assert.equal(claim!.turn.deaths, 0);
    });

    it("keeps the context busy (I2)", async () => {
      await using place = await Place.open(open);
      await place.park();
      const second = await place.begin();
      assert.equal(second.state, "queued");
      assert.deepEqual(await place.accept({ whenBusy: "reject" }), { kind: "busy" });
      assert.deepEqual(await place.claim(), []);
    });
  });

  describe("what wakes a turn that runs", () => {
    it("leaves it to its runner", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      place.heard();
      await place.commit(turn, { entries: [entry(1)], then: { do: "wake" } });
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`]);
      assert.equal(await place.due(), undefined);
      assert.deepEqual(await place.claim(), []);
      assert.deepEqual(await place.store.renew([{ context: turn.context, epoch }], leaseMs), []);
      await place.commit(turn, { epoch, entries: [entry(2)] });
    });

    it("does not make a turn that waits in line due", async () => {
      await using place = await Place.open(open);
      await place.park();
      const queued = await place.begin();
      await place.commit(queued, { then: { do: "wake" } });
      assert.equal(await place.due(), undefined);
    });
  });

  describe("a turn that ends by its runner", () => {
    it("leaves its context idle when nothing waits", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const end = { do: "end", claim: { leaseMs } } as const;
      const { next } = await place.commit(turn, { epoch, state: "completed", then: end });
      assert.equal(next, undefined);
      assert.equal(await place.due(), undefined);
      assert.equal((await place.begin({ whenBusy: "reject" })).state, "running");
    });

    it("hands the next one over, claimed, or leaves it due", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const [second, third] = [await place.begin(), await place.begin()];
      place.heard();
      const { next } = await place.commit(turn, { epoch, state: "failed", then: { do: "end", claim: { leaseMs } } });
      assert.equal(next?.turn.turn, second.turn);
      assert.deepEqual([next.first, next.journal, next.epoch > epoch], [false, [], true]);
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`, `turn ${second.turn}`]);
      assert.deepEqual(await place.claim(), []);
      await place.commit(second, { epoch: next.epoch, state: "completed", then: { do: "end" } });
      assert.deepEqual(place.heard(), [`turn ${second.turn}`, "due"]);
      assert.equal(await place.state(third), "running");
      assert.deepEqual(turnsOf(await place.claim()), [third.turn]);
    });

    it("is what its context's earlier turns are, for those that come after it", async () => {
      await using place = await Place.open(open);
      const ended = [];
      for (const state of ["completed", "failed", "canceled"] as const) {
        const { turn, epoch } = await place.run();
        const view = { reply: [{ text: state }] };
        await place.commit(turn, { epoch, state, view, then: { do: "end" } });
        ended.push(await place.turn(turn));
      }
      await place.run({ contextId: "another" });
      const last = await place.begin();
      const queued = await place.begin();
      assert.deepEqual(await place.store.loadEarlier(last, 10), ended);
      assert.deepEqual(await place.store.loadEarlier(queued, 2), ended.slice(1), "the last ones, oldest first");
      assert.deepEqual(await place.store.loadEarlier(ended[1]!, 10), ended.slice(0, 1));
      assert.deepEqual(await place.store.loadEarlier(ended[0]!, 10), []);
    });
  });

  describe("a turn that somebody else ends (E16)", () => {
    const canceled = { state: "canceled", then: { do: "end", graceMs: 1000 } } as const;

    it("while it waits in line is taken out of it; the others keep their order", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const [second, third, fourth] = [await place.begin(), await place.begin(), await place.begin()];
      await place.commit(third, canceled);
      assert.equal(await place.state(third), "canceled");
      assert.equal(await place.state(turn), "running");
      await place.commit(turn, { epoch, entries: [entry(1)] });
      const end = { do: "end", claim: { leaseMs } } as const;
      const { next } = await place.commit(turn, { epoch, state: "completed", then: end });
      assert.equal(next?.turn.turn, second.turn);
      const { next: last } = await place.commit(second, { epoch: next.epoch, state: "completed", then: end });
      assert.equal(last?.turn.turn, fourth.turn);
    });

    it("while it is parked makes room at once", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park({}, dawn + 50_000);
      const second = await place.begin();
      place.heard();
      await place.commit(turn, canceled);
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`, "due"]);
      assert.deepEqual(turnsOf(await place.claim()), [second.turn]);
      const { turn: lonely } = await place.park({ contextId: "walk" }, dawn + 50_000);
      await place.commit(lonely, canceled);
      assert.equal(await place.due(), undefined);
      assert.equal((await place.begin({ contextId: "walk", whenBusy: "reject" })).state, "running");
    });

    it("while it runs is fenced off from its runner at once, and makes room when that has settled", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const second = await place.begin();
      await place.commit(turn, canceled);
      assert.deepEqual(await place.store.commit({ key: turn, length: 0, epoch, state: "completed" }), {
        kind: "fenced",
        state: "canceled",
      });
      assert.deepEqual(await place.store.renew([{ context: turn.context, epoch }], leaseMs), [turn.context]);
      assert.deepEqual(await place.claim(), [], "it has its grace");
      assert.equal((await place.begin()).state, "queued");
      place.heard();
      await place.store.drained(turn);
      assert.deepEqual(place.heard(), ["due"]);
      const claims = await place.claim();
      assert.deepEqual(turnsOf(claims), [second.turn]);
      assert.ok(claims[0]!.epoch > epoch);
      assert.equal(claims[0]!.turn.deaths, 0);
    });

    it("and does not settle makes room after its grace", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      const second = await place.begin();
      await place.commit(turn, canceled);
      place.now += 999;
      assert.deepEqual(await place.claim(), []);
      place.now += 1;
      assert.deepEqual(turnsOf(await place.claim()), [second.turn]);
      assert.equal((await place.turn(second)).deaths, 0);
      await place.store.drained(turn);
      assert.equal(await place.state(second), "running");
      assert.deepEqual(await place.claim(), [], "it comes too late to matter");
    });

    it("is idle after its grace when nothing waits", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      await place.commit(turn, canceled);
      place.now += 1000;
      assert.deepEqual(await place.claim(), []);
      assert.equal(await place.due(), undefined);
      assert.equal((await place.begin({ whenBusy: "reject" })).state, "running");
    });

    it("is settled once; what has not ended is not", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      const [second, third] = [await place.begin(), await place.begin()];
      await place.store.drained(turn);
      await place.store.drained(second);
      assert.deepEqual([await place.state(turn), await place.state(second)], ["running", "queued"]);
      assert.deepEqual(await place.claim(), []);
      await place.commit(turn, canceled);
      await place.store.drained(turn);
      await place.store.drained(turn);
      assert.deepEqual([await place.state(second), await place.state(third)], ["running", "queued"]);
      assert.deepEqual(turnsOf(await place.claim()), [second.turn]);
    });
  });
}
