import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { Origins } from "../../src/push/origins.ts";

/** How many attempts of an origin may begin now, were nothing else due. */
function roomOf(origins: Origins, name: string): number {
  const rooms = origins.claims().map(({ limit, room, rooms: named }) => Math.min(limit, named.get(name) ?? room));
  return rooms.reduce((sum, room) => sum + room, 0);
}

describe("an origin", () => {
  it("that answers may have twice as many attempts under way, up to 16; one that does not, one", () => {
    const origins = new Origins(64);
    const grown: number[] = [];
    for (let n = 0; n < 6; n++) {
      grown.push(roomOf(origins, "a"));
      origins.begin("a");
      origins.end("a", true);
    }
    assert.deepEqual(grown, [1, 2, 4, 8, 16, 16]);
    origins.begin("a");
    assert.equal(roomOf(origins, "a"), 15);
    origins.end("a", false);
    assert.equal(roomOf(origins, "a"), 1);
    origins.begin("a");
    assert.equal(roomOf(origins, "a"), 0);
    origins.end("a", true);
    assert.equal(roomOf(origins, "a"), 2);
  });

  it("that is new or down shares half of the workers with all that are, whatever happens", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.boolean(), fc.boolean()), { maxLength: 300 }), (steps) => {
        const workers = 10;
        const origins = new Origins(workers);
        const underWay = new Map<string, number>();
        const isUp = new Map<string, boolean>();
        const total = () => [...underWay.values()].reduce((sum, n) => sum + n, 0);
        for (const [n, begins, answers] of steps) {
          const name = `o${n}`;
          const has = underWay.get(name) ?? 0;
          if (begins) {
            // As the store would: what fits one of the claims.
            const fits = origins.claims().some(({ limit, room, rooms }) => limit > 0 && (rooms.get(name) ?? room) > 0);
            if (!fits) continue;
            const unproven = [...underWay].reduce((sum, [one, count]) => sum + (isUp.get(one) === true ? 0 : count), 0);
            if (isUp.get(name) !== true) assert.ok(unproven < workers / 2, `${unproven} are under way`);
            origins.begin(name);
            underWay.set(name, has + 1);
          } else if (has > 0) {
            origins.end(name, answers);
            underWay.set(name, has - 1);
            isUp.set(name, answers);
          }
          assert.ok(total() <= workers);
          assert.equal(origins.underWay, total());
        }
        for (const [name, count] of underWay) for (let n = 0; n < count; n++) origins.end(name, true);
        assert.equal(
          origins.claims().reduce((sum, { limit }) => sum + limit, 0),
          workers,
        );
      }),
    );
  });

  it("is forgotten when there are very many, unless an attempt is under way", () => {
    const origins = new Origins(100_000);
    origins.begin("kept");
    for (let n = 0; n < 25_000; n++) {
      origins.begin(`o${n}`);
      origins.end(`o${n}`, false);
    }
    const named = origins.claims().reduce((sum, { rooms }) => sum + rooms.size, 0);
    assert.ok(named < 20_000, `${named}`);
    assert.equal(roomOf(origins, "kept"), 0);
  });
});
