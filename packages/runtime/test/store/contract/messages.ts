import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { entry, Place } from "../place.ts";
import type { Open } from "../place.ts";

const key = { subject: "ada", agent: "echo", contextId: "talk", messageId: "m-1" };

export function messageContract(open: Open): void {
  describe("a message id (I3)", () => {
    it("that came before is the same turn with the same content, whatever became of it, and an error with other content", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run({ messageId: "m-1" });
      const again = { kind: "duplicate", key: { context: turn.context, turn: turn.turn } };
      // Before everything else that a second message would meet: a busy context, a full queue.
      assert.deepEqual(await place.accept({ messageId: "m-1", whenBusy: "reject" }), again);
      assert.deepEqual(await place.accept({ messageId: "m-1", queueDepth: 0 }), again);
      assert.deepEqual(await place.accept({ messageId: "m-1", contentHash: "another" }), { kind: "reused" });
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.deepEqual(await place.accept({ messageId: "m-1" }), again);
      const queued = await place.begin({ messageId: "m-2" });
      assert.deepEqual(await place.accept({ messageId: "m-2" }), {
        kind: "duplicate",
        key: { context: queued.context, turn: queued.turn },
      });
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 10 })).total, 2);
    });

    it("is one of its subject, agent and context; none given is a context of its own", async () => {
      await using place = await Place.open(open);
      const first = await place.begin({ messageId: "m-1" });
      const others = [{ subject: "bob" }, { agent: "other" }, { contextId: "walk" }, { contextId: undefined }] as const;
      for (const other of others) {
        const turn = await place.begin({ messageId: "m-1", ...other });
        assert.notEqual(turn.context, first.context);
        assert.deepEqual(await place.accept({ messageId: "m-1", ...other }), {
          kind: "duplicate",
          key: { context: turn.context, turn: turn.turn },
        });
      }
      // A name that reads like another one's parts put together is not that other one.
      await place.begin({ subject: "ada echo", contextId: "x", messageId: "m-1" });
      assert.equal((await place.accept({ subject: "ada", contextId: "echo x", messageId: "m-1" })).kind, "accepted");
    });

    it("is remembered for as long as it was asked to be, to the millisecond", async () => {
      await using place = await Place.open(open);
      const first = await place.begin({ messageId: "m-1", dedupeMs: 1000 });
      const seen = { context: first.context, turn: first.turn, contentHash: "a hash" };
      place.now += 999;
      assert.deepEqual(await place.store.findMessage(key), seen);
      assert.equal((await place.accept({ messageId: "m-1", dedupeMs: 1000 })).kind, "duplicate");
      place.now += 1;
      assert.equal(await place.store.findMessage(key), undefined);
      const second = await place.begin({ messageId: "m-1", dedupeMs: 1000, contentHash: "another" });
      assert.notEqual(second.turn, first.turn);
      assert.equal((await place.store.findMessage(key))?.turn, second.turn);
      assert.equal((await place.accept({ messageId: "m-1", dedupeMs: 1000 })).kind, "reused");
    });

    it("is not remembered at all for 0 milliseconds", async () => {
      await using place = await Place.open(open);
      const first = await place.begin({ messageId: "m-1", dedupeMs: 0 });
      const second = await place.begin({ messageId: "m-1", dedupeMs: 0 });
      assert.notEqual(first.turn, second.turn);
      assert.equal(await place.store.findMessage(key), undefined);
    });

    it("of a reply is remembered with the change it made, and makes none a second time (E14)", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park();
      const message = { key, contentHash: "an answer", dedupeMs: 1000 };
      const answer = { entries: [entry(1)], state: "running", then: { do: "wake" }, message } as const;
      await place.commit(turn, answer);
      assert.deepEqual(await place.store.findMessage(key), {
        context: turn.context,
        turn: turn.turn,
        contentHash: "an answer",
      });
      // Before everything that the second one would fail at: the length, the state.
      const again = { ...answer, key: turn, length: 0, from: ["waiting"] } as const;
      assert.deepEqual(await place.store.commit(again), { kind: "duplicate" });
      const other = { ...again, message: { ...message, contentHash: "another" } };
      assert.deepEqual(await place.store.commit(other), { kind: "reused" });
      assert.equal((await place.turn(turn)).length, 1);
      assert.deepEqual((await place.accept({ messageId: "m-1", contentHash: "an answer" })).kind, "duplicate");

      place.now += 1000;
      assert.equal((await place.store.commit({ ...again, length: 1, from: ["running"] })).kind, "committed");
      const forgotten = { ...message, key: { ...key, messageId: "m-0" }, dedupeMs: 0 };
      await place.commit(turn, { message: forgotten, entries: [entry(3)] });
      await place.commit(turn, { message: forgotten, entries: [entry(4)] });
      assert.equal((await place.turn(turn)).length, 4);
    });

    it("of a reply that is refused is not remembered", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park();
      const message = { key, contentHash: "an answer", dedupeMs: 1000 };
      const late = await place.store.commit({ key: turn, length: 7, entries: [entry(1)], message });
      assert.equal(late.kind, "behind");
      assert.equal(await place.store.findMessage(key), undefined);
    });
  });
}
