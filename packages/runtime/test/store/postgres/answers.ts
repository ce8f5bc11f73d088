/** What becomes of writes whose answers are lost on their way, and of those that find nobody to ask. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { openLossyLine } from "../../../../../test/postgres/lossy-line.ts";
import type { LossyLine } from "../../../../../test/postgres/lossy-line.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { entry, leaseMs, Place } from "../place.ts";
import type { Open } from "../place.ts";

export interface Database {
  readonly url: string;
  /** A schema that nobody else has. */
  readonly schema: () => string;
}

/** A place whose first node is at the end of a lossy line, and whose others are not. */
async function lossy({ url, schema }: Database): Promise<{ place: Place; line: LossyLine }> {
  const line = await openLossyLine(url);
  const name = schema();
  const nodes: Store[] = [];
  const open: Open = async (options) => {
    const node = async (at: string) => {
      const store = await openPostgresStore({ url: at, schema: name, connections: 2, patienceMs: 300, ...options });
      nodes.push(store);
      return store;
    };
    return {
      store: await node(line.url),
      join: () => node(url),
      reopen: () => assert.fail(),
      async [Symbol.asyncDispose]() {
        line.up();
        for (const store of nodes) await store[Symbol.asyncDispose]();
        await line[Symbol.asyncDispose]();
      },
    };
  };
  return { place: await Place.open(open), line };
}

const words = (text: string) => ({ messageId: text, parts: [{ text }] });
const isUnavailable = (error: unknown) => error instanceof StoreError && error.code === "store.unavailable";

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 20_000; !(await condition()); await delay(20))
    assert.ok(Date.now() < deadline, "it did not come to that in 20 s");
}

export function lostAnswers(database: () => Database): void {
  describe("an answer of PostgreSQL that is lost", () => {
    it("to a message is asked for again: it was accepted once, and claimed (I3)", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      for (const dedupeMs of [1000, 0]) {
        for (const contextId of ["talk", undefined]) {
          const text = `lose-${dedupeMs}-${contextId}`;
          line.loseAnswerTo(text);
          const { turn, epoch, first } = await place.run({ contextId, message: words(text), dedupeMs });
          assert.equal(turn.message.messageId, text);
          await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
          assert.equal(first, contextId === undefined || dedupeMs > 0);
        }
      }
      assert.equal(line.lost, 4);
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 1 })).total, 4);
    });

    it("to a message for a busy context is asked for again: it waits in line once", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      await place.run();
      line.loseAnswerTo("lose this");
      assert.equal((await place.begin({ message: words("lose this"), dedupeMs: 0 })).state, "queued");
      assert.equal(line.lost, 1);
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 1 })).total, 2);
    });

    it("to a change is asked for again: it was made once, whatever others did meanwhile (I5)", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      const other = await place.join();
      const { turn, epoch } = await place.run();
      const said = { kind: "said", id: "lose this", text: "Hm", after: 0 } as const;
      line.loseAnswerTo("lose this");
      const committing = place.store.commit({ key: turn, length: 0, epoch, entries: [said, entry(1)] });
      await until(async () => (await other.loadTurn(turn))?.length === 2);
      await other.commit({ key: turn, length: 2, entries: [entry(2)] });
      assert.deepEqual(await committing, { kind: "committed", length: 2, next: undefined });
      assert.equal(line.lost, 1);
      assert.deepEqual(await place.store.loadJournal(turn, 0), [said, entry(1), entry(2)]);
    });

    it("to an end is asked for again: the next turn of the context is this node's, and nobody else's", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      const other = await place.join();
      const { turn, epoch } = await place.run();
      const second = await place.begin();
      line.loseAnswerTo("lose this");
      const view = { reply: [{ text: "lose this" }] };
      const then = { do: "end", claim: { leaseMs } } as const;
      const { next } = await place.commit(turn, { epoch, view, state: "completed", then });
      assert.equal(line.lost, 1);
      assert.equal(next?.turn.turn, second.turn);
      assert.deepEqual(await other.claimDue({ limit: 10, leaseMs }), []);
      await place.commit(second, { epoch: next.epoch, state: "completed", then: { do: "end" } });
    });

    it("to a claim is asked for again: what was claimed is handed over", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      for (const contextId of ["a", "b", "c"]) await place.begin({ contextId });
      line.loseAnswerTo("lose this");
      const share = { room: 100, most: 100, running: new Map([["lose this", 1]]) };
      const claims = await place.store.claimDue({ limit: 10, leaseMs, share });
      assert.equal(line.lost, 1);
      assert.equal(claims.length, 3);
      for (const { turn, epoch } of claims) await place.commit(turn, { epoch, entries: [entry(1)] });
    });
  });

  describe("a PostgreSQL that does not answer", () => {
    it("makes callers wait no longer than they would, and what was claimed for them is let go", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      const other = await place.join();
      line.loseAnswerTo("lose this", "down");
      await assert.rejects(place.accept({ message: words("lose this"), claim: true }), isUnavailable);
      assert.equal((await other.listTurns({ subject: "ada", agent: "echo", limit: 1 })).total, 1);
      line.up();
      // By a lease of its own it would be this node's for 30 s by a clock that stands still here.
      let claims = await other.claimDue({ limit: 10, leaseMs });
      await until(async () => claims.length > 0 || (claims = await other.claimDue({ limit: 10, leaseMs })).length > 0);
      assert.equal(claims[0]!.turn.deaths, 0);
      assert.equal((await place.accept({ message: words("lose this"), claim: true })).kind, "duplicate");
    });

    it("makes what runs wait until it does, and go on", async () => {
      const { place, line } = await lossy(database());
      await using _ = place;
      const { turn, epoch } = await place.run();
      line.down();
      const committing = place.store.commit({ key: turn, length: 0, epoch, entries: [entry(1)] });
      const began = performance.now();
      await assert.rejects(place.store.loadTurn(turn), isUnavailable);
      await assert.rejects(place.accept({ contextId: "other" }), isUnavailable);
      await assert.rejects(place.store.nextDue(), isUnavailable, "which is what /ready asks");
      assert.ok(performance.now() - began < 10_000);
      line.up();
      assert.equal((await committing).kind, "committed");
      assert.equal((await place.turn(turn)).length, 1);
    });

    it("lets the store be closed all the same", async () => {
      const { place, line } = await lossy(database());
      const { turn, epoch } = await place.run();
      line.down();
      const committing = place.store.commit({ key: turn, length: 0, epoch, entries: [entry(1)] });
      committing.catch(() => undefined);
      await place.store[Symbol.asyncDispose]();
      await assert.rejects(committing, isUnavailable);
      await place[Symbol.asyncDispose]();
    });
  });
}
