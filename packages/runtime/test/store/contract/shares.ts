import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hasShare } from "../../../src/store/store.ts";
import { leaseMs, Place } from "../place.ts";
import type { Open } from "../place.ts";

const running = (entries: readonly (readonly [string, number])[] = []) => new Map(entries);

export function shareContract(open: Open): void {
  describe("a node that many want", () => {
    const subjectsOf = async (
      place: Place,
      options: { limit: number; room: number; most?: number; has?: [string, number][] },
    ) => {
      const { limit, room, most = 1000, has } = options;
      const claims = await place.store.claimDue({ limit, leaseMs, share: { room, most, running: running(has) } });
      return claims.map(({ turn }) => turn.subject).join(" ");
    };
    const crowd = async (place: Place, sizes: Readonly<Record<string, number>>) => {
      for (const [subject, size] of Object.entries(sizes)) {
        for (let n = 0; n < size; n++) await place.begin({ subject, contextId: `${subject}-${n}`, messageId: `${n}` });
      }
    };

    it("is given to one subject after the other, however many of one's turns came first", async () => {
      await using place = await Place.open(open);
      await crowd(place, { hog: 20, ada: 2, bob: 1 });
      assert.equal(await subjectsOf(place, { limit: 4, room: 100 }), "hog ada bob hog");
      assert.equal(await subjectsOf(place, { limit: 3, room: 100 }), "ada hog hog");
    });

    it("goes on where it stopped: who was served last stands at the end", async () => {
      await using place = await Place.open(open);
      await crowd(place, { hog: 20 });
      assert.equal(await subjectsOf(place, { limit: 5, room: 100 }), "hog hog hog hog hog");
      await crowd(place, { ada: 2 });
      const next = [await subjectsOf(place, { limit: 1, room: 100 }), await subjectsOf(place, { limit: 1, room: 100 })];
      assert.deepEqual(next.toSorted(), ["ada", "hog"]);
      assert.equal(await subjectsOf(place, { limit: 1, room: 100 }), next[0]);
    });

    it("keeps room for who comes next: nobody has more than three times what is free", async () => {
      await using place = await Place.open(open);
      await crowd(place, { hog: 20 });
      assert.equal((await subjectsOf(place, { limit: 8, room: 8 })).split(" ").length, 6);
      assert.equal(await subjectsOf(place, { limit: 2, room: 2, has: [["hog", 6]] }), "");
      await crowd(place, { ada: 9 });
      assert.equal(await subjectsOf(place, { limit: 2, room: 2, has: [["hog", 6]] }), "ada ada");
      assert.ok(hasShare(0, 1, 1000), "whoever has nothing has the last place");
      assert.ok(!hasShare(1, 0, 1000));
      assert.ok(!hasShare(3, 1, 1000));
      assert.ok(hasShare(2, 1, 1000));
    });

    it("runs so many turns of a subject as are set, and passes over those who have them", async () => {
      await using place = await Place.open(open);
      await crowd(place, { hog: 5, ada: 5 });
      assert.equal(await subjectsOf(place, { limit: 10, room: 100, most: 2, has: [["hog", 1]] }), "hog ada ada");
      assert.equal(
        await subjectsOf(place, {
          limit: 10,
          room: 100,
          most: 2,
          has: [
            ["hog", 2],
            ["ada", 2],
          ],
        }),
        "",
      );
      assert.equal(await place.store.nextDue().then(({ at }) => at), place.now, "they are due all the same");
      assert.equal(await place.store.nextDue(place.now).then(({ at }) => at), undefined);
    });

    it("counts what was woken, let go, or left by a process that died like what has just come", async () => {
      await using place = await Place.open(open);
      await crowd(place, { hog: 3 });
      const woken = await place.park({ subject: "ada", contextId: "woken" });
      const slept = await place.park({ subject: "bob", contextId: "slept" }, place.now + 10);
      await place.run({ subject: "eve", contextId: "left" });
      await place.commit(woken.turn, { state: "running", then: { do: "wake" } });
      place.now += 10;
      await place.reopen();
      const order = (await subjectsOf(place, { limit: 10, room: 100 })).split(" ");
      assert.deepEqual(order.slice(0, 4).toSorted(), ["ada", "bob", "eve", "hog"]);
      assert.equal((await place.turn(slept.turn)).deaths, 0);
    });

    it("forgets whose turn was cancelled in line", async () => {
      await using place = await Place.open(open);
      const turn = await place.begin({ subject: "ada" });
      await place.commit(turn, { state: "canceled", then: { do: "end" } });
      assert.equal(await subjectsOf(place, { limit: 10, room: 100 }), "");
      assert.deepEqual(await place.store.nextDue(), { at: undefined, suspect: false });
      await place.begin({ subject: "ada", contextId: "next" });
      assert.equal(await subjectsOf(place, { limit: 10, room: 100 }), "ada");
    });
  });

  describe("the limits of a subject", () => {
    const no = { queued: 1e9, bytes: 1e9 };

    it("are of all its turns that have not begun, whichever agent or context they are for", async () => {
      await using place = await Place.open(open);
      const limits = { ...no, queued: 3 };
      await place.begin({ contextId: "a", limits });
      await place.begin({ contextId: "a", limits });
      await place.begin({ agent: "other", limits });
      assert.deepEqual(await place.accept({ contextId: "b", limits }), { kind: "subjectQueueFull" });
      assert.equal((await place.accept({ subject: "bob", contextId: "b", limits })).kind, "accepted");
      // What is claimed has begun, and what is cancelled has ended.
      await place.claim(1);
      assert.equal((await place.accept({ contextId: "b", limits })).kind, "accepted");
      assert.deepEqual(await place.accept({ contextId: "c", limits }), { kind: "subjectQueueFull" });
      const { turns } = await place.store.listTurns({ subject: "ada", agent: "echo", contextId: "b", limit: 1 });
      await place.commit(turns[0]!, { state: "canceled", then: { do: "end" } });
      assert.equal((await place.accept({ contextId: "c", limits })).kind, "accepted");
    });

    it("come after what is the same message again, and take nothing", async () => {
      await using place = await Place.open(open);
      const limits = { queued: 1, bytes: 1e9 };
      const { turn } = await place.begin({ messageId: "m", limits });
      const again = await place.accept({ messageId: "m", limits });
      assert.ok(again.kind === "duplicate" && again.key.turn === turn);
      assert.deepEqual(await place.accept({ messageId: "n", limits }), { kind: "subjectQueueFull" });
      await place.claim(1);
      assert.equal((await place.accept({ messageId: "n", limits })).kind, "accepted", "it was not remembered");
    });

    it("are of the bytes of messages, views and journals; what is erased is no more", async () => {
      await using place = await Place.open(open);
      const limits = { ...no, bytes: 3000 };
      const message = (id: string, size: number) => ({ messageId: id, parts: [{ text: "x".repeat(size) }] });
      const claim = await place.run({ message: message("a", 1000), limits });
      const text = "y".repeat(1000);
      await place.commit(claim.turn, {
        epoch: claim.epoch,
        entries: [{ kind: "said", id: "s", text, after: 0 }],
        view: { said: { by: "agent", id: "s", parts: [{ text: "z".repeat(500) }] } },
      });
      const next = { contextId: "b", limits };
      assert.deepEqual(await place.accept({ ...next, message: message("b", 500) }), { kind: "subjectFull" });
      assert.equal((await place.accept({ ...next, subject: "bob", message: message("b", 500) })).kind, "accepted");
      await place.commit(claim.turn, { epoch: claim.epoch, view: {}, state: "completed", then: { do: "end" } });
      assert.equal((await place.accept({ ...next, message: message("b", 500) })).kind, "accepted");
      assert.deepEqual(await place.accept({ ...next, message: message("c", 1000) }), { kind: "subjectFull" });
      assert.equal((await place.store.erase({ what: "turn", key: claim.turn })).kind, "erased");
      assert.equal((await place.accept({ ...next, message: message("c", 1000) })).kind, "accepted");
    });
  });
}
