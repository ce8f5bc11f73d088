import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Turnstile } from "../../src/files/turnstile.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a turnstile", () => {
  it("lets through as many as each count allows, the others in order as those leave", async () => {
    const turnstile = new Turnstile();
    const entered: string[] = [];
    const inside = new Map<string, Disposable>();
    const enter = (name: string, host: string): void => {
      const counts = [
        { of: "all", most: 3 },
        { of: host, most: 2 },
      ];
      void turnstile.enter(counts, never).then((pass) => {
        entered.push(name);
        inside.set(name, pass);
      });
    };
    for (const [name, host] of [
      ["a1", "a"],
      ["a2", "a"],
      ["a3", "a"],
      ["b1", "b"],
      ["b2", "b"],
    ] as const) {
      enter(name, host);
    }
    await settled();
    assert.deepEqual(entered, ["a1", "a2", "b1"], "a3 waits for its host, and holds up nobody");
    inside.get("b1")![Symbol.dispose]();
    await settled();
    assert.deepEqual(entered, ["a1", "a2", "b1", "b2"]);
    inside.get("a1")![Symbol.dispose]();
    inside.get("a1")![Symbol.dispose]();
    await settled();
    assert.deepEqual(entered, ["a1", "a2", "b1", "b2", "a3"], "leaving twice makes no room twice");
    enter("c1", "c");
    await settled();
    assert.equal(entered.length, 5, "three are inside");
  });

  it("lets nobody in who has stopped waiting, and keeps their place for nobody", async () => {
    const turnstile = new Turnstile();
    const counts = [{ of: "x", most: 1 }];
    const first = await turnstile.enter(counts, never);
    const stop = new AbortController();
    const second = turnstile.enter(counts, stop.signal);
    const third = turnstile.enter(counts, never);
    stop.abort(new Error("No more."));
    await assert.rejects(second, /No more/);
    await assert.rejects(turnstile.enter(counts, stop.signal), /No more/);
    first[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    (await turnstile.enter(counts, never))[Symbol.dispose]();
  });
});
