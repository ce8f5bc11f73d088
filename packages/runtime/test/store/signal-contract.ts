/** What every Signal promises (signal.ts): hints that reach who listens, on every node there is, and nobody else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Signal } from "../../src/store/signal.ts";
import type { Erase } from "../../src/store/store.ts";

/** Opens the signal of one node, or of several that hear each other. */
export type OpenSignal = (nodes: number) => Promise<readonly Signal[]>;

const key = { context: 1, turn: 2 };

/** @param nodes How many hear each other, at most. */
export function signalContract(name: string, open: OpenSignal, { nodes }: { readonly nodes: number }): void {
  /** Calls `body` once with each pair of a speaker and a listener that there is. */
  const between = async (body: (speaker: Signal, listener: Signal) => Promise<void>) => {
    for (let count = 1; count <= nodes; count++) {
      const signals = await open(count);
      try {
        await body(signals[0]!, signals.at(-1)!);
      } finally {
        for (const signal of signals) await signal[Symbol.asyncDispose]();
      }
    }
  };

  describe(`the signal ${name}`, () => {
    it("tells of each change of a turn to who listens for that turn, until they stop", () =>
      between(async (speaker, listener) => {
        const heard: string[] = [];
        const stop = listener.onTurn(key, () => heard.push("one"));
        listener.onTurn(key, () => heard.push("other"));
        listener.onTurn({ context: 1, turn: 3 }, () => assert.fail("another turn changed"));
        speaker.turnChanged(key);
        await until(() => heard.length === 2);
        assert.deepEqual(heard.toSorted(), ["one", "other"]);
        stop();
        stop();
        speaker.turnChanged(key);
        await until(() => heard.length === 3);
        assert.equal(heard[2], "other");
      }));

    it("tells who listens for all turns which one it is", () =>
      between(async (speaker, listener) => {
        const heard: unknown[] = [];
        const stop = listener.onTurns((changed) => heard.push({ ...changed }));
        listener.onTurn(key, () => undefined);
        speaker.turnChanged({ context: 7, turn: 9 });
        speaker.turnChanged(key);
        await until(() => heard.length === 2);
        assert.deepEqual(heard, [{ context: 7, turn: 9 }, key]);
        stop();
        speaker.turnChanged(key);
        await delay(5);
        assert.equal(heard.length, 2);
      }));

    it("tells that something is due", () =>
      between(async (speaker, listener) => {
        let heard = 0;
        listener.onTurns(() => assert.fail("no turn changed"));
        const stop = listener.onDue(() => heard++);
        speaker.due();
        await until(() => heard === 1);
        stop();
        speaker.due();
        await delay(5);
        assert.equal(heard, 1);
      }));

    it("tells what was erased, before it closes if need be, until one stops listening", () =>
      between(async (speaker, listener) => {
        const heard: unknown[] = [];
        const stop = listener.onErased((what) => heard.push(what));
        const told: readonly Erase[] = [
          { what: "turn", key },
          { what: "context", subject: "\\".repeat(200), agent: "a".repeat(64), contextId: '"'.repeat(200) },
          { what: "subject", subject: "ada" },
        ];
        speaker.turnChanged(key);
        for (const what of told) speaker.erased(what);
        if (speaker !== listener) await speaker[Symbol.asyncDispose]();
        await until(() => heard.length === told.length);
        assert.deepEqual(heard, told);
        stop();
        listener.erased(told[0]!);
        assert.equal(heard.length, told.length);
      }));

    it("lets listeners come and go while it tells", () =>
      between(async (speaker, listener) => {
        const heard: string[] = [];
        const stops: (() => void)[] = [];
        stops.push(
          listener.onTurn(key, () => {
            heard.push("first");
            for (const stop of stops) stop();
            listener.onTurn(key, () => heard.push("late"));
          }),
        );
        listener.onTurn(key, () => heard.push("second"));
        speaker.turnChanged(key);
        await until(() => heard.includes("second"));
        assert.equal(heard.filter((who) => who === "first").length, 1);
        heard.length = 0;
        speaker.turnChanged(key);
        await until(() => heard.length >= 2);
        assert.deepEqual(heard.toSorted(), ["late", "second"]);
      }));

    it("tells nobody any more once it is closed", () =>
      between(async (speaker, listener) => {
        listener.onTurn(key, () => assert.fail("it is closed"));
        listener.onTurns(() => assert.fail("it is closed"));
        listener.onDue(() => assert.fail("it is closed"));
        await listener[Symbol.asyncDispose]();
        if (speaker !== listener) speaker.turnChanged(key);
        else listener.turnChanged(key);
        listener.due();
        await delay(5);
      }));
  });
}

async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; !done(); tries++) {
    assert.ok(tries < 2000, "nothing was heard");
    await delay(5);
  }
}
