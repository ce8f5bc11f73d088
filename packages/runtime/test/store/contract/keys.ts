import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { StoreError } from "../../../src/store/errors.ts";
import type { Session } from "../../../src/store/store.ts";
import { dawn, Place } from "../place.ts";
import type { Open } from "../place.ts";

export function keyContract(open: Open): void {
  describe("API keys", () => {
    it("are found by their hash until they are revoked, and listed for ever, oldest first", async () => {
      await using place = await Place.open(open);
      const { keys } = place.store;
      const ada = await keys.add({ hash: "h-1", holder: { role: "subject", subject: "ada" } });
      place.now += 10;
      const operator = await keys.add({ hash: "h-2", holder: { role: "operator" } });
      assert.deepEqual(ada, {
        id: ada.id,
        holder: { role: "subject", subject: "ada" },
        createdAt: dawn,
        revokedAt: undefined,
      });
      assert.deepEqual(operator.holder, { role: "operator" });
      assert.deepEqual(await keys.list(), [ada, operator]);
      assert.deepEqual(await keys.find("h-1"), ada);
      assert.equal(await keys.find("h-3"), undefined);
      assert.ok(!JSON.stringify(await keys.list()).includes("h-1"), "not even hashes are shown");

      assert.equal(await keys.revoke(ada.id), true);
      assert.equal(await keys.revoke(ada.id), false);
      assert.equal(await keys.find("h-1"), undefined);
      assert.deepEqual(await keys.list(), [{ ...ada, revokedAt: dawn + 10 }, operator]);
      assert.deepEqual(await keys.find("h-2"), operator);
      for (const id of ["999", "", "1e3", "-1", "x", "1 OR 1"]) assert.equal(await keys.revoke(id), false, id);
    });

    it("have one holder each: a hash is not added twice", async () => {
      await using place = await Place.open(open);
      const { keys } = place.store;
      await keys.add({ hash: "h-1", holder: { role: "subject", subject: "ada" } });
      const adding = keys.add({ hash: "h-1", holder: { role: "operator" } });
      await assert.rejects(adding, (error) => error instanceof StoreError && error.code === "store.failed");
      assert.equal((await keys.find("h-1"))?.holder.role, "subject");
    });
  });

  describe("sessions of browsers", () => {
    const session = (hash: string, ms: number) => ({
      hash,
      sealed: new Uint8Array([1, 2, 3, hash.length]),
      expiresAt: dawn + ms,
    });
    const plain = (found: Session | undefined) => found && { ...found, sealed: new Uint8Array(found.sealed) };

    it("are found until they are over or removed, in the next process too", async () => {
      await using place = await Place.open(open);
      await place.store.sessions.add(session("s-1", 1_000));
      await place.store.sessions.add(session("s-22", 2_000));
      assert.deepEqual(plain(await place.store.sessions.find("s-1")), session("s-1", 1_000));
      assert.equal(await place.store.sessions.find("s-3"), undefined);
      await place.reopen();
      assert.deepEqual(plain(await place.store.sessions.find("s-22")), session("s-22", 2_000));
      place.now = dawn + 1_000;
      assert.equal(await place.store.sessions.find("s-1"), undefined, "it is over");
      assert.deepEqual(plain(await place.store.sessions.find("s-22")), session("s-22", 2_000));
      assert.equal(await place.store.sessions.remove("s-22"), true);
      assert.equal(await place.store.sessions.remove("s-22"), false);
      assert.equal(await place.store.sessions.find("s-22"), undefined);
    });

    it("have one token each, and those that are over make room", async () => {
      await using place = await Place.open(open);
      await place.store.sessions.add(session("s-1", 1_000));
      const adding = place.store.sessions.add(session("s-1", 9_000));
      await assert.rejects(adding, (error) => error instanceof StoreError && error.code === "store.failed");
      assert.equal((await place.store.sessions.find("s-1"))?.expiresAt, dawn + 1_000);
      place.now = dawn + 5_000;
      await place.store.sessions.add(session("s-2", 9_000));
      // The clock goes back only in here: what was over is not there any more.
      place.now = dawn;
      assert.equal(await place.store.sessions.find("s-1"), undefined);
      assert.deepEqual(plain(await place.store.sessions.find("s-2")), session("s-2", 9_000));
    });
  });

  describe("secrets of the Runtime", () => {
    it("are made at the first call ever, and are the same from then on, whoever asks", async () => {
      await using place = await Place.open(open);
      const make = (byte: number) => () => new Uint8Array(32).fill(byte);
      const all = await Promise.all([1, 2, 3].map((byte) => place.store.secret("a", make(byte))));
      for (const secret of all) assert.deepEqual(new Uint8Array(secret), new Uint8Array(all[0]!));
      const again = await place.store.secret("a", () => assert.fail("it is there already"));
      assert.deepEqual(new Uint8Array(again), new Uint8Array(all[0]!));
      assert.deepEqual(new Uint8Array(await place.store.secret("b", make(9))), make(9)());
      await place.reopen();
      assert.deepEqual(new Uint8Array(await place.store.secret("a", make(8))), new Uint8Array(all[0]!));
    });
  });

  describe("a store that was closed", () => {
    it("has done what it was asked to before, and takes nothing more", async () => {
      await using place = await Place.open(open);
      const accepting = place.accept();
      await place.store[Symbol.asyncDispose]();
      assert.equal((await accepting).kind, "accepted");
      await assert.rejects(place.accept(), (error) => error instanceof StoreError && error.code === "store.closed");
      await place.store[Symbol.asyncDispose]();
    });
  });
}
