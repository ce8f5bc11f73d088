import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";

import { leftoverMs } from "../../../src/store/files.ts";
import type { Blob, Held, Hold } from "../../../src/store/files.ts";
import type { TurnKey } from "../../../src/turn/record.ts";
import { entry, Place } from "../place.ts";
import type { Open } from "../place.ts";
import { forgetAll } from "./totals.ts";

const noLimits = { total: Number.MAX_SAFE_INTEGER, subject: Number.MAX_SAFE_INTEGER };

function bytesOf(text: string): { readonly sha256: string; readonly size: number } {
  return { sha256: createHash("sha256").update(text).digest("hex"), size: text.length };
}

function tryHold(place: Place, key: TurnKey, text: string, more: Partial<Hold> = {}): Promise<Held> {
  return place.store.files.hold({ key, of: 0, anew: true, bytes: [bytesOf(text)], limits: noLimits, ...more });
}

async function hold(place: Place, key: TurnKey, text: string, more: Partial<Hold> = {}): Promise<Blob> {
  const held = await tryHold(place, key, text, more);
  if (held.kind !== "held") assert.fail(`it is ${held.kind}`);
  return held.blobs[0]!;
}

/** What may be removed now, in the order in which it came to be free. */
async function garbage(place: Place): Promise<readonly number[]> {
  return (await place.store.files.condemn(1000)).map(({ blob }) => blob);
}

export function fileContract(open: Open): void {
  describe("files", () => {
    it("are held by a turn, once for equal bytes, and found by it alone (I7)", async () => {
      await using place = await Place.open(open);
      const { turn: ada } = await place.run({ contextId: "a" });
      const { turn: bob } = await place.run({ contextId: "b", subject: "bob" });
      const blob = await hold(place, ada, "report");
      assert.deepEqual(blob, { ...bytesOf("report"), blob: blob.blob });
      assert.equal((await hold(place, ada, "report", { of: 1 })).blob, blob.blob);
      assert.deepEqual(await place.store.files.find(ada, blob.sha256), blob);
      assert.equal(await place.store.files.find(bob, blob.sha256), undefined);
      assert.equal(await place.store.files.find({ ...ada, context: ada.context + 1 }, blob.sha256), undefined);
      assert.equal(await place.store.files.find(ada, bytesOf("other").sha256), undefined);
      assert.equal((await hold(place, bob, "report")).blob, blob.blob);
      assert.equal((await place.store.measure()).fileBytes, 6);
    });

    it("are held many at once, or not at all", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      const texts = Array.from({ length: 1000 }, (_, n) => `text ${n % 900}`);
      const bytes = texts.map(bytesOf);
      const size = bytes.slice(0, 900).reduce((sum, one) => sum + one.size, 0);
      const limits = { ...noLimits, total: size - 1 };
      assert.deepEqual(await tryHold(place, turn, "", { bytes, limits }), { kind: "full" });
      assert.equal(await place.store.files.find(turn, bytes[0]!.sha256), undefined);
      assert.equal((await place.store.measure()).fileBytes, 0);
      const held = await tryHold(place, turn, "", { bytes, limits: { ...noLimits, total: size } });
      assert.ok(held.kind === "held");
      assert.equal(new Set(held.blobs.map(({ blob }) => blob)).size, 900);
      assert.deepEqual(
        held.blobs.map(({ sha256 }) => sha256),
        bytes.map(({ sha256 }) => sha256),
      );
      assert.equal((await place.store.measure()).fileBytes, size);
    });

    it("are within the limit of all, and of their subject, whose messages they are counted with", async () => {
      await using place = await Place.open(open);
      const { turn: ada } = await place.run({ contextId: "a" });
      const { turn: bob } = await place.run({ contextId: "b", subject: "bob" });
      await hold(place, ada, "x".repeat(600));
      const limits = { ...noLimits, total: 1000 };
      assert.deepEqual(await tryHold(place, bob, "y".repeat(600), { limits }), { kind: "full" });
      // What is there already takes nothing more.
      assert.equal((await tryHold(place, bob, "x".repeat(600), { limits })).kind, "held");
      const own = { ...noLimits, subject: 10_000 };
      assert.equal((await tryHold(place, ada, "z".repeat(5000), { limits: own, of: 1 })).kind, "held");
      assert.deepEqual(await tryHold(place, ada, "v".repeat(5000), { limits: own, of: 2 }), { kind: "subjectFull" });
      const full = await place.accept({ contextId: "c", limits: { queued: 100, bytes: 5600 } });
      assert.equal(full.kind, "subjectFull");
      await place.commit(ada, { state: "failed", then: { do: "end" } });
      assert.equal((await place.accept({ contextId: "c", limits: { queued: 100, bytes: 5600 } })).kind, "accepted");
    });

    it("that became outputs stay with their turn; what else it held is let go when it ends", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const input = await hold(place, turn, "input", { of: 0 });
      const report = await hold(place, turn, "report", { of: 1 });
      const outputs = [{ of: 1, path: "report.md", version: 1 }];
      await place.commit(turn, { epoch, entries: [entry(0), entry(1)], outputs });
      assert.deepEqual(await garbage(place), []);
      await place.commit(turn, { epoch, state: "completed", view: {}, then: { do: "end" } });
      assert.deepEqual(await place.store.files.find(turn, report.sha256), report);
      assert.equal(await place.store.files.find(turn, input.sha256), undefined);
      assert.deepEqual(await garbage(place), [], "a function that nobody waits for may still be at work on it");
      place.now += leftoverMs;
      assert.deepEqual(await garbage(place), [input.blob]);
    });

    it("begin anew with the attempt that writes them anew", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const first = await hold(place, turn, "one thing");
      const second = await hold(place, turn, "another");
      const third = await hold(place, turn, "a third", { anew: false });
      await place.commit(turn, { epoch, entries: [entry(0)], outputs: [{ of: 0, path: "a", version: 1 }] });
      place.now += leftoverMs;
      assert.deepEqual(await garbage(place), [first.blob]);
      for (const { sha256 } of [second, third]) assert.ok(await place.store.files.find(turn, sha256));
    });

    it("are not held by a turn that has ended, or that there is not", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      await place.commit(turn, { state: "canceled", then: { do: "end" } });
      assert.deepEqual(await tryHold(place, turn, "late"), { kind: "ended" });
      assert.deepEqual(await tryHold(place, { ...turn, turn: turn.turn + 1 }, "late"), { kind: "ended" });
      assert.equal((await place.store.measure()).fileBytes, 0);
    });

    it("have versions in their context that go up, in every turn, and not down again when some are erased", async () => {
      await using place = await Place.open(open);
      const last = () => place.store.files.lastVersion(one.turn.context, "a/b.txt");
      const one = await place.run({ contextId: "talk" });
      assert.equal(await last(), 0);
      await place.commit(one.turn, { epoch: one.epoch, outputs: [{ path: "a/b.txt", version: 1 }] });
      await place.commit(one.turn, { epoch: one.epoch, state: "completed", then: { do: "end" } });
      const two = await place.run({ contextId: "talk" });
      await place.commit(two.turn, { epoch: two.epoch, outputs: [{ path: "a/b.txt", version: 2 }] });
      assert.equal(await last(), 2);
      for (const path of ["a/B.txt", "a", "a/b", ""]) {
        assert.equal(await place.store.files.lastVersion(one.turn.context, path), 0, path);
      }
      const other = await place.run({ contextId: "other" });
      assert.equal(await place.store.files.lastVersion(other.turn.context, "a/b.txt"), 0);
      await place.commit(two.turn, { epoch: two.epoch, state: "completed", then: { do: "end" } });
      assert.equal((await place.store.erase({ what: "turn", key: two.turn })).kind, "erased");
      assert.equal(await last(), 2);
      // With the last turn the context goes, and all of its own with it.
      assert.equal((await place.store.erase({ what: "turn", key: one.turn })).kind, "erased");
      assert.equal(await last(), 0);
    });

    it("are there with the change that made them, or not at all", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const blob = await hold(place, turn, "report");
      const outputs = [{ of: 0, path: "report.md", version: 1 }];
      const lost = await place.store.commit({ key: turn, length: 0, epoch: epoch + 1, outputs });
      assert.equal(lost.kind, "fenced");
      const behind = await place.store.commit({ key: turn, length: 7, epoch, outputs });
      assert.equal(behind.kind, "behind");
      assert.equal(await place.store.files.lastVersion(turn.context, "report.md"), 0);
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.equal(await place.store.files.find(turn, blob.sha256), undefined);
    });

    it("go when nobody needs them any more, and stay as long as anybody does", async () => {
      await using place = await Place.open(open);
      const keep = async (contextId: string) => {
        const { turn, epoch } = await place.run({ contextId });
        const blob = await hold(place, turn, "shared");
        await place.commit(turn, { epoch, entries: [entry(0)], outputs: [{ of: 0, path: "a", version: 1 }] });
        await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
        return { turn, blob };
      };
      const [one, two] = [await keep("one"), await keep("two")];
      assert.equal(one.blob.blob, two.blob.blob);
      await place.store.erase({ what: "turn", key: one.turn });
      assert.deepEqual(await garbage(place), []);
      assert.ok(await place.store.files.find(two.turn, two.blob.sha256));
      place.now += 1000;
      await forgetAll(place, "turns", place.now);
      assert.equal(await place.store.files.find(two.turn, two.blob.sha256), undefined);
      assert.deepEqual(await garbage(place), [two.blob.blob]);
      // Until somebody says that they are gone: a collector that dies begins again.
      assert.deepEqual(await garbage(place), [two.blob.blob]);
      assert.equal((await place.store.measure()).fileBytes, 6);
      await place.store.files.gone([two.blob.blob, two.blob.blob]);
      await place.store.files.gone([two.blob.blob]);
      assert.deepEqual(await garbage(place), []);
      assert.equal((await place.store.measure()).fileBytes, 0);
    });

    it("that are being removed are nobody's: who holds such bytes gets them under another key, and keeps them", async () => {
      await using place = await Place.open(open);
      const one = await place.run({ contextId: "one" });
      const old = await hold(place, one.turn, "bytes");
      await place.commit(one.turn, { epoch: one.epoch, state: "failed", then: { do: "end" } });
      place.now += leftoverMs;
      assert.deepEqual(await garbage(place), [old.blob]);
      const two = await place.run({ contextId: "two" });
      const fresh = await hold(place, two.turn, "bytes");
      assert.notEqual(fresh.blob, old.blob);
      assert.deepEqual(await place.store.files.find(two.turn, fresh.sha256), fresh);
      await place.store.files.gone([old.blob]);
      assert.deepEqual(await garbage(place), []);
      assert.deepEqual(await place.store.files.find(two.turn, fresh.sha256), fresh);
      await place.store.files.gone([fresh.blob]);
      assert.deepEqual(await place.store.files.find(two.turn, fresh.sha256), fresh, "only what is condemned goes");
    });

    it("that somebody needs again, before they were condemned, stay", async () => {
      await using place = await Place.open(open);
      const one = await place.run({ contextId: "one" });
      const blob = await hold(place, one.turn, "bytes");
      await place.commit(one.turn, { epoch: one.epoch, state: "failed", then: { do: "end" } });
      const two = await place.run({ contextId: "two" });
      assert.equal((await hold(place, two.turn, "bytes")).blob, blob.blob);
      place.now += leftoverMs;
      assert.deepEqual(await garbage(place), []);
    });

    it("of a folder of ten thousand go with their turn, however many there are", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const texts = Array.from({ length: 10_000 }, (_, n) => bytesOf(`file ${n}`));
      for (let from = 0; from < texts.length; from += 1000) {
        await tryHold(place, turn, "", { anew: from === 0, bytes: texts.slice(from, from + 1000) });
      }
      await place.commit(turn, { epoch, entries: [entry(0)], outputs: [{ of: 0, path: "site", version: 1 }] });
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.ok(await place.store.files.find(turn, texts[9999]!.sha256));
      assert.deepEqual(await place.store.erase({ what: "turn", key: turn }), { kind: "erased", turns: 1 });
      let gone = 0;
      for (let blobs = await garbage(place); blobs.length > 0; blobs = await garbage(place)) {
        gone += blobs.length;
        await place.store.files.gone(blobs);
      }
      assert.equal(gone, 10_000);
      assert.equal((await place.store.measure()).fileBytes, 0);
    });

    it("are still held after the process has ended, and what was condemned is still to be removed", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run({ contextId: "one" });
      const blob = await hold(place, turn, "report");
      const other = await place.run({ contextId: "other" });
      const left = await hold(place, other.turn, "left");
      await place.commit(other.turn, { epoch: other.epoch, state: "failed", then: { do: "end" } });
      place.now += leftoverMs;
      await garbage(place);
      await place.reopen();
      assert.deepEqual(await place.store.files.find(turn, blob.sha256), blob);
      assert.deepEqual(await garbage(place), [left.blob]);
      assert.notEqual((await hold(place, turn, "left", { of: 1 })).blob, left.blob);
    });
  });
}
