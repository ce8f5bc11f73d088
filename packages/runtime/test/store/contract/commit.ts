import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TurnState } from "@nylorun/protocol";

import { dawn, entry, Place } from "../place.ts";
import type { Open } from "../place.ts";

export function commitContract(open: Open): void {
  describe("a change of a turn", () => {
    it("appends entries, and sets the view and the state, in one", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const view = { waitsFor: "question", history: [{ by: "user", id: "u", parts: [{ text: "?" }] }] } as const;
      place.heard();
      place.now += 10;
      const entries = [entry(1), entry(2)];
      const committed = await place.commit(turn, { epoch, entries, view, state: "waiting" });
      assert.deepEqual(committed, { kind: "committed", length: 2, next: undefined });
      assert.deepEqual(await place.turn(turn), {
        ...turn,
        length: 2,
        revision: 1,
        view,
        state: "waiting",
        statusAt: dawn + 10,
      });
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`]);
      assert.equal((await place.commit(turn, { epoch, entries: [entry(3)] })).length, 3);
      assert.deepEqual(await place.store.loadJournal(turn, 0), [entry(1), entry(2), entry(3)]);
      assert.deepEqual(await place.store.loadJournal(turn, 2), [entry(3)]);
      assert.deepEqual(await place.store.loadJournal(turn, 3), []);
    });

    it("leaves what it does not name, and moves the status's time only when what callers see changes", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const view = { progress: { percent: 5 } };
      await place.commit(turn, { epoch, view });
      place.now += 10;
      await place.commit(turn, { epoch, entries: [entry(1)] });
      assert.deepEqual(await place.turn(turn), { ...turn, view, length: 1, revision: 2 });
      await place.commit(turn, { epoch, state: "running" });
      assert.equal((await place.turn(turn)).statusAt, dawn, "the same state is no change");
      await place.commit(turn, { epoch, state: "waiting" });
      assert.equal((await place.turn(turn)).statusAt, dawn, "to callers a turn that sleeps is at work");
      await place.commit(turn, { epoch, view: {}, statusChanged: true });
      assert.equal((await place.turn(turn)).statusAt, dawn + 10);
      place.now += 10;
      await place.commit(turn, { epoch, view: { waitsFor: "question" } });
      assert.equal((await place.turn(turn)).statusAt, dawn + 20);
    });

    it("that was made for another length of the journal is behind, and changes nothing", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      await place.commit(turn, { epoch, entries: [entry(1), entry(2)] });
      const before = await place.turn(turn);
      place.heard();
      for (const length of [0, 1, 3]) {
        const change = { key: turn, length, epoch, entries: [entry(9)], state: "failed", then: { do: "end" } } as const;
        assert.deepEqual(await place.store.commit(change), { kind: "behind", length: 2 });
      }
      assert.deepEqual(await place.turn(turn), before);
      assert.deepEqual(await place.store.loadJournal(turn, 0), [entry(1), entry(2)]);
      assert.deepEqual(place.heard(), []);
    });

    it("that was made from another view is behind too, though nothing was appended, and changes nothing", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const { revision } = turn;
      const shown = { progress: { percent: 50 } };
      await place.commit(turn, { epoch, view: shown });
      const answer = { key: turn, length: 0, view: {}, entries: [entry(1)] };
      assert.deepEqual(await place.store.commit({ ...answer, revision }), { kind: "behind", length: 0 });
      const now = await place.turn(turn);
      assert.deepEqual([now.view, now.length], [shown, 0]);
      assert.equal((await place.store.commit({ ...answer, revision: now.revision })).kind, "committed");
    });

    it("of two that were made for the same length, is only the first", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const commit = (tokens: number) => place.store.commit({ key: turn, length: 0, epoch, entries: [entry(tokens)] });
      const results = await Promise.all([commit(1), commit(2), commit(3)]);
      assert.deepEqual(
        results.map(({ kind }) => kind),
        ["committed", "behind", "behind"],
      );
      assert.deepEqual(await place.store.loadJournal(turn, 0), [entry(1)]);
    });

    it("under another claim than the last is fenced, whatever the length (I5)", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const queued = await place.begin();
      for (const [key, wrong] of [
        [turn, epoch + 1],
        [turn, epoch - 1],
        [queued, epoch],
      ] as const) {
        const change = { key, length: 0, epoch: wrong, entries: [entry(1)], state: "completed" } as const;
        assert.deepEqual(await place.store.commit(change), { kind: "fenced", state: await place.state(key) });
        assert.equal((await place.turn(key)).length, 0);
      }
    });

    it("of a turn that has ended is fenced, unless it says that it is about one (I5)", async () => {
      await using place = await Place.open(open);
      for (const state of ["completed", "failed", "rejected", "canceled"] as const) {
        const { turn, epoch } = await place.run({ contextId: state });
        await place.commit(turn, { epoch, state, then: { do: "end" } });
        const change = { key: turn, length: 0, entries: [entry(1)] };
        assert.deepEqual(await place.store.commit({ ...change, state: "running" }), { kind: "fenced", state });
        assert.deepEqual(await place.store.commit({ ...change, epoch }), { kind: "fenced", state });
        assert.equal(await place.state(turn), state);
        const evidence = await place.store.commit({ ...change, from: [state] });
        assert.equal(evidence.kind, "committed");
        assert.deepEqual([await place.state(turn), (await place.turn(turn)).length], [state, 1]);
      }
    });

    it("from a state that it does not take is fenced, and told the state", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park();
      const change = { key: turn, length: 0, state: "running" } as const;
      const refused: TurnState[] = ["running", "held", "uncertain", "queued", "canceled"];
      assert.deepEqual(await place.store.commit({ ...change, from: refused }), { kind: "fenced", state: "waiting" });
      assert.equal((await place.store.commit({ ...change, from: ["waiting"] })).kind, "committed");
    });

    it("of a turn that is not there, or in another context, is fenced", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      for (const key of [
        { context: turn.context + 1, turn: turn.turn },
        { context: turn.context, turn: turn.turn + 1 },
      ]) {
        assert.equal((await place.store.commit({ key, length: 0, state: "failed" })).kind, "fenced");
        assert.equal(await place.store.loadTurn(key), undefined);
      }
      assert.equal(await place.state(turn), "running");
    });

    it("by others than its runner needs no claim: the length and the state are compared", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      await place.commit(turn, { entries: [entry(1)] });
      const runner = await place.store.commit({ key: turn, length: 0, epoch, entries: [entry(2)] });
      assert.deepEqual(runner, { kind: "behind", length: 1 }, "the runner finds out by the length (E18)");
    });
  });
}
