import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { dawn, entry, leaseMs, Place, turnsOf } from "../place.ts";
import type { Open } from "../place.ts";

export function reopenContract(open: Open): void {
  describe("the next process", () => {
    it("finds everything that was told to be stored (I1)", async () => {
      await using place = await Place.open(open);
      const running = await place.run({ contextId: "a", messageId: "m-a" });
      await place.commit(running.turn, { epoch: running.epoch, entries: [entry(1), entry(2)] });
      const parked = await place.park({ contextId: "b" }, dawn + 70_000);
      const queued = [await place.begin({ contextId: "a" }), await place.begin({ contextId: "a" })];
      const ended = await place.run({ contextId: "c" });
      await place.commit(ended.turn, { epoch: ended.epoch, state: "completed", then: { do: "end" } });
      const key = await place.store.keys.add({ hash: "h", holder: { role: "operator" } });
      const before = await place.store.listTurns({ subject: "ada", agent: "echo", limit: 100 });

      await place.reopen();
      assert.deepEqual(await place.store.listTurns({ subject: "ada", agent: "echo", limit: 100 }), before);
      assert.deepEqual(await place.store.loadJournal(running.turn, 0), [entry(1), entry(2)]);
      assert.equal((await place.accept({ contextId: "a", messageId: "m-a" })).kind, "duplicate");
      assert.deepEqual(await place.store.keys.list(), [key]);
      assert.deepEqual(await place.state(parked.turn), "waiting");
      assert.deepEqual(await place.state(queued[0]!), "queued");
    });

    it("runs what the last one ran, under a claim that fences it off; the rest is due when it was (E9, E18)", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run({ contextId: "a" });
      const parked = await place.park({ contextId: "b" }, dawn + 70_000);
      await place.park({ contextId: "c" });
      const last = place.store;
      await place.reopen();
      assert.equal(await place.due(), dawn, "a lease does not outlive the process that held it");
      const claims = await place.claim();
      assert.deepEqual(turnsOf(claims), [turn.turn]);
      assert.ok(claims[0]!.epoch > epoch);
      assert.equal(await place.due(), dawn + 70_000);
      place.now = dawn + 70_000;
      assert.deepEqual(turnsOf(await place.claim()), [parked.turn.turn]);
      await last[Symbol.asyncDispose]();
    });

    it("lets the context of a turn that was ended while it ran go on", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      const second = await place.begin();
      await place.commit(turn, { state: "canceled", then: { do: "end", graceMs: leaseMs } });
      await place.reopen();
      assert.deepEqual(turnsOf(await place.claim()), [second.turn]);
      assert.equal((await place.turn(second)).deaths, 0);
    });

    it("gives keys that were never given before", async () => {
      await using place = await Place.open(open);
      const turns: number[] = [];
      const contexts: number[] = [];
      for (let process = 0; process < 4; process++) {
        for (let n = 0; n < 3; n++) {
          const turn = await place.begin({ contextId: undefined });
          turns.push(turn.turn);
          contexts.push(turn.context);
        }
        await place.reopen();
      }
      for (const keys of [turns, contexts]) {
        assert.equal(new Set(keys).size, keys.length);
        assert.deepEqual(
          keys,
          keys.toSorted((a, b) => a - b),
          "later ones are higher",
        );
      }
    });
  });
}
