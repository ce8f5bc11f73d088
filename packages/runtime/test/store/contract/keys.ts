import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { StoreError } from "../../../src/store/errors.ts";
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
