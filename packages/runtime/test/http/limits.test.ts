import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as macrotask } from "node:timers/promises";

import { Refused } from "../../src/http/answer.ts";
import { createLimits } from "../../src/http/limits.ts";
import { Sluice } from "../../src/http/sluice.ts";

const MIB = 1024 * 1024;
const settings = { subjectRequestsPerSecond: 10, subjectOpenWaits: 3, bodyBytes: MIB };

function codeOf(code: () => unknown): string {
  try {
    code();
    return "taken";
  } catch (error) {
    assert.ok(error instanceof Refused);
    return error.refusal.code;
  }
}

describe("the limits of a subject", () => {
  it("let requests through at their rate, with a second's worth at once", () => {
    let now = 0;
    const limits = createLimits(settings, () => now);
    const taken = (subject: string) => {
      let count = 0;
      while (count < 100 && codeOf(() => limits.request(subject)) === "taken") count++;
      return count;
    };
    assert.equal(taken("ada"), 10);
    assert.equal(taken("bob"), 10, "each has its own");
    now += 500;
    assert.equal(taken("ada"), 5);
    now += 3_600_000;
    assert.equal(taken("ada"), 10, "no more than a second's worth is saved up");
  });

  it("count calls that wait, until they say that they do no more, once", () => {
    const limits = createLimits(settings);
    const over = [limits.wait("ada"), limits.wait("ada"), limits.wait("ada")];
    assert.equal(
      codeOf(() => limits.wait("ada")),
      "limit.waits",
    );
    assert.equal(
      codeOf(() => limits.wait("bob")),
      "taken",
    );
    assert.equal(limits.waits, 4);
    over[0]!();
    over[0]!();
    assert.equal(limits.waits, 3);
    assert.equal(
      codeOf(() => limits.wait("ada")),
      "taken",
    );
    assert.equal(
      codeOf(() => limits.wait("ada")),
      "limit.waits",
    );
  });

  it("leave a quarter of the room for bodies to others, and give it back", () => {
    const limits = createLimits({ ...settings, subjectOpenWaits: 100 });
    const rooms: Disposable[] = [];
    const take = (subject: string) =>
      codeOf(() => {
        const room = limits.body(subject);
        rooms.push(room);
        room.take(MIB);
      });
    const count = (subject: string) => {
      let taken = 0;
      while (taken < 100 && take(subject) === "taken") taken++;
      return taken;
    };
    assert.equal(count("ada"), 12);
    assert.equal(count("bob"), 3, "of what is left, in the same way");
    assert.equal(take("carol"), "taken", "whoever has none yet finds room");
    assert.equal(take("dan"), "limit.bodies");
    for (const room of rooms) {
      room[Symbol.dispose]();
      room[Symbol.dispose]();
    }
    assert.equal(count("dan"), 12);
  });

  it("count a body as a call that waits while it comes in, and no longer", async () => {
    const limits = createLimits(settings);
    const rooms = Array.from({ length: 3 }, () => limits.body("ada"));
    for (const room of rooms) room.take(10);
    assert.equal(
      codeOf(() => limits.body("ada").take(10)),
      "limit.waits",
    );
    await rooms[0]!.arrived();
    assert.equal(
      codeOf(() => limits.body("ada").take(10)),
      "taken",
    );
    assert.equal(
      codeOf(() => limits.body("ada").take(10)),
      "limit.waits",
    );
  });
});

describe("a sluice", () => {
  it("lets through what fits, in order, and one that is larger than all of it alone", async () => {
    const sluice = new Sluice(10);
    const inside: string[] = [];
    const enter = async (name: string, bytes: number) => {
      const leave = await sluice.enter(bytes);
      inside.push(name);
      return () => {
        inside.splice(inside.indexOf(name), 1);
        leave();
      };
    };
    const [a, b, large, c, d] = [enter("a", 6), enter("b", 4), enter("large", 50), enter("c", 1), enter("d", 9)];
    await macrotask();
    assert.deepEqual(inside, ["a", "b"]);
    (await a)();
    await macrotask();
    assert.deepEqual(inside, ["b"], "what came first goes first");
    (await b)();
    await macrotask();
    assert.deepEqual(inside, ["large"]);
    (await large)();
    await macrotask();
    assert.deepEqual(inside, ["c", "d"]);
    (await c)();
    (await d)();
    assert.equal(typeof (await sluice.enter(10)), "function");
  });
});
