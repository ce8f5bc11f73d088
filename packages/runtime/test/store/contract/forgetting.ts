import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { dawn, entry, Place } from "../place.ts";
import type { Open } from "../place.ts";
import { forgetAll } from "./totals.ts";

const day = 86_400_000;

/** A turn with a journal of one entry that has ended. */
async function end(place: Place, contextId: string): Promise<{ readonly context: number; readonly turn: number }> {
  const { turn, epoch } = await place.run({ contextId });
  await place.commit(turn, { epoch, entries: [entry(1)] });
  await place.commit(turn, { epoch, state: "completed", view: {}, then: { do: "end" } });
  return turn;
}

export function forgettingContract(open: Open): void {
  describe("what is past its time", () => {
    it("is forgotten: message ids when they say so", async () => {
      await using place = await Place.open(open);
      for (let n = 0; n < 250; n++) await place.begin({ contextId: `c-${n}`, messageId: `m-${n}`, dedupeMs: 1000 });
      await place.begin({ contextId: "other", messageId: "m-0", dedupeMs: 2000 });
      place.now += 1500;
      assert.equal(await forgetAll(place, "messages", place.now), 250);
      assert.equal((await place.accept({ contextId: "other", messageId: "m-0" })).kind, "duplicate");
      assert.equal(await forgetAll(place, "messages", place.now), 0);
    });

    it("is forgotten: journals of turns that ended before, and none of any other", async () => {
      await using place = await Place.open(open);
      const old = await end(place, "a");
      const waits = await place.park({ contextId: "b" });
      await place.commit(waits.turn, { entries: [entry(1)] });
      place.now += day;
      const recent = await end(place, "c");
      assert.equal(await forgetAll(place, "journals", dawn + day), 1);
      assert.deepEqual(await place.store.loadJournal(old, 0), []);
      assert.equal((await place.turn(old)).state, "completed", "what callers see stays");
      for (const turn of [waits.turn, recent]) assert.equal((await place.store.loadJournal(turn, 0)).length, 1);
    });

    it("is forgotten: turns that ended before, with their contexts; not those that wait, nor what an operator must see", async () => {
      await using place = await Place.open(open);
      const old = await end(place, "a");
      const waits = await place.park({ contextId: "b" });
      const { turn: lost, epoch } = await place.run({ contextId: "lost" });
      const view = { lost: [{ of: 0, id: "e", name: "pay", why: "died", at: dawn }] } as const;
      await place.commit(lost, { epoch, state: "canceled", view, then: { do: "end" } });
      // Its context is in use: its next turns may look at it.
      const used = await end(place, "used");
      place.now += day;
      const user = await place.run({ contextId: "used" });
      const recent = await end(place, "a");
      assert.equal(await forgetAll(place, "turns", place.now), 1);
      assert.equal(await place.store.loadTurn(old), undefined);
      for (const turn of [waits.turn, lost, used, recent]) assert.ok(await place.store.loadTurn(turn));
      await place.commit(user.turn, { epoch: user.epoch, state: "completed", then: { do: "end" } });
      place.now += day;
      await forgetAll(place, "turns", place.now);
      assert.deepEqual(
        (await place.store.listTurns({ subject: "ada", agent: "echo", limit: 10 })).turns.map(({ turn }) => turn),
        [lost.turn, waits.turn.turn],
      );
      // A context of that name begins anew, under another key.
      const anew = await place.begin({ contextId: "a", messageId: "anew" });
      assert.notEqual(anew.context, old.context);
    });

    it("a message whose turn is gone was never seen", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run({ messageId: "m" });
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      place.now += 1000;
      await forgetAll(place, "turns", place.now);
      const key = { subject: "ada", agent: "echo", contextId: "talk", messageId: "m" };
      assert.equal(await place.store.findMessage(key), undefined);
      const again = await place.accept({ messageId: "m" });
      assert.ok(again.kind === "accepted" && again.turn.turn !== turn.turn);
    });
  });

  describe("what is erased", () => {
    it("is a turn with all of its own; the rest of its context stays", async () => {
      await using place = await Place.open(open);
      const [first, second] = [await end(place, "talk"), await end(place, "talk")];
      assert.deepEqual(await place.store.erase({ what: "turn", key: first }), { kind: "erased", turns: 1 });
      assert.equal(await place.store.loadTurn(first), undefined);
      assert.deepEqual(await place.store.loadJournal(first, 0), []);
      assert.ok(await place.store.loadTurn(second));
      assert.deepEqual(await place.store.erase({ what: "turn", key: first }), { kind: "unknown" });
      const elsewhere = { context: second.context + 1, turn: second.turn };
      assert.deepEqual(await place.store.erase({ what: "turn", key: elsewhere }), { kind: "unknown" });
    });

    it("is no turn that runs, or is about to", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run({ contextId: "a" });
      const ready = await place.begin({ contextId: "b" });
      for (const key of [turn, ready])
        assert.deepEqual(await place.store.erase({ what: "turn", key }), { kind: "running", turns: 0 });
      const context = { what: "context", subject: "ada", agent: "echo" } as const;
      for (const contextId of ["a", "b"])
        assert.deepEqual(await place.store.erase({ ...context, contextId }), { kind: "running", turns: 0 });
      assert.deepEqual(await place.store.erase({ what: "subject", subject: "ada" }), { kind: "running", turns: 0 });
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 1 })).total, 2);
      // A cancelled turn whose function has not settled yet runs, too.
      await place.commit(turn, { state: "canceled", then: { do: "end", graceMs: 1000 } });
      assert.equal((await place.store.erase({ what: "turn", key: turn })).kind, "running");
      await place.store.drained(turn);
      assert.equal((await place.store.erase({ what: "turn", key: turn })).kind, "erased");
    });

    it("is a turn that waits, in line or for somebody: the next one of its context begins", async () => {
      await using place = await Place.open(open);
      const { turn: waits } = await place.park();
      const [queued, next] = [await place.begin(), await place.begin()];
      assert.equal((await place.store.erase({ what: "turn", key: queued })).kind, "erased");
      assert.equal((await place.store.erase({ what: "turn", key: waits })).kind, "erased");
      assert.equal(await place.state(next), "running");
      assert.deepEqual(
        (await place.claim()).map(({ turn }) => turn.turn),
        [next.turn],
      );
    });

    it("is a whole context, however large, and everything of a subject, its keys too; and nothing of anybody else", async () => {
      await using place = await Place.open(open);
      for (let n = 0; n < 450; n++) await end(place, "large");
      await place.park({ contextId: "large" });
      for (let n = 0; n < 20; n++) await place.begin({ contextId: "large" });
      const kept = await end(place, "other");
      const bobs = await place.begin({ subject: "bob", contextId: "large" });
      const key = await place.store.keys.add({ hash: "h", holder: { role: "subject", subject: "ada" } });
      await place.store.keys.add({ hash: "i", holder: { role: "operator" } });

      const context = { what: "context", subject: "ada", agent: "echo", contextId: "large" } as const;
      assert.deepEqual(await place.store.erase(context), { kind: "erased", turns: 471 });
      assert.deepEqual(await place.store.erase(context), { kind: "unknown" });
      assert.ok(await place.store.loadTurn(kept));
      assert.deepEqual(await place.store.erase({ what: "subject", subject: "ada" }), { kind: "erased", turns: 1 });
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 1 })).total, 0);
      assert.deepEqual(
        (await place.store.keys.list()).map(({ holder }) => holder.role),
        ["operator"],
      );
      assert.deepEqual(await place.store.erase({ what: "subject", subject: "ada" }), { kind: "unknown" });
      assert.equal((await place.turn(bobs)).state, "running");
      const anew = await place.store.keys.add({ hash: "h", holder: { role: "subject", subject: "ada" } });
      assert.notEqual(anew.id, key.id);
      assert.equal((await place.begin({ contextId: "large" })).subject, "ada");
    });
  });
}
