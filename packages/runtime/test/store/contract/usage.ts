/** What turns used, by agent and day: for the subject, and of all together. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { dayMs } from "../../../src/store/store.ts";
import type { TurnView } from "../../../src/turn/record.ts";
import { dawn, Place } from "../place.ts";
import type { Begin, Open } from "../place.ts";

export function usageContract(open: Open): void {
  describe("what turns used", () => {
    let turns = 0;
    /** A turn that begins, and ends with these totals. */
    const live = async (place: Place, begin: Begin, totals?: TurnView["totals"]) => {
      const accepted = await place.accept({
        contextId: `c-${++turns}`,
        messageId: `m-${turns}`,
        claim: true,
        ...begin,
      });
      assert.ok(accepted.kind === "accepted" && accepted.claim !== undefined);
      const committed = await place.store.commit({
        key: accepted.turn,
        length: 0,
        epoch: accepted.claim.epoch,
        view: { ...(totals && { totals }) },
        state: "completed",
        then: { do: "end" },
      });
      assert.equal(committed.kind, "committed");
      return accepted.turn;
    };
    const sums = async (place: Place, subject: string | undefined, from = dawn) =>
      (await place.store.usage({ subjects: subject?.split(" and "), from })).map(({ agent, day, ...rest }) => [
        agent,
        (day - dawn) / dayMs,
        rest,
      ]);

    it("is added up by agent and day, each subject's own and all together, and is absent where nobody reported any", async () => {
      await using place = await Place.open(open);
      await live(place, { subject: "ada" }, { steps: 2, tokens: 100, costUsd: 0.25 });
      await live(place, { subject: "ada" }, { steps: 1 });
      await live(place, { subject: "bob" }, { steps: 1, tokens: 0 });
      await live(place, { subject: "ada", agent: "other" }, { steps: 0, costUsd: 1 });
      place.now += dayMs;
      await live(place, { subject: "ada" }, { steps: 1, tokens: 7 });
      const echo = { turns: 2, tokens: 100, costUsd: 0.25 };
      assert.deepEqual(await sums(place, "ada"), [
        ["echo", 0, echo],
        ["other", 0, { turns: 1, tokens: undefined, costUsd: 1 }],
        ["echo", 1, { turns: 1, tokens: 7, costUsd: undefined }],
      ]);
      assert.deepEqual(await sums(place, "bob"), [["echo", 0, { turns: 1, tokens: 0, costUsd: undefined }]]);
      assert.deepEqual(await sums(place, undefined), [
        ["echo", 0, { ...echo, turns: 3 }],
        ["other", 0, { turns: 1, tokens: undefined, costUsd: 1 }],
        ["echo", 1, { turns: 1, tokens: 7, costUsd: undefined }],
      ]);
      assert.deepEqual(await sums(place, "ada and bob and eve"), await sums(place, undefined), "of some together");
      assert.deepEqual(await sums(place, "bob and eve"), await sums(place, "bob"));
      assert.deepEqual(await sums(place, "eve"), [], "who used nothing, and nobody else's either");
      assert.equal((await sums(place, "ada", dawn + dayMs)).length, 1);
      await place.reopen();
      assert.equal((await sums(place, "ada", dawn + dayMs - 1)).length, 3, "the whole day of the moment");
    });

    it("is told when it has grown beyond what is exact", async () => {
      await using place = await Place.open(open);
      const tokens = Number.MAX_SAFE_INTEGER;
      for (let turn = 0; turn < 4; turn++) await live(place, { subject: "ada" }, { steps: 0, tokens, costUsd: 1e12 });
      assert.deepEqual(await sums(place, "ada"), [["echo", 0, { turns: 4, tokens: 4 * tokens, costUsd: 4e12 }]]);
    });

    it("counts a turn that ends once, with what it had used until then", async () => {
      await using place = await Place.open(open);
      const accepted = await place.accept({ subject: "ada", claim: true });
      assert.ok(accepted.kind === "accepted");
      const key = accepted.turn;
      const view = { totals: { steps: 1, costUsd: 0.5 } };
      await place.store.commit({ key, length: 0, view, state: "waiting", then: { do: "park", dueAt: undefined } });
      assert.deepEqual(await sums(place, "ada"), [], "it has not ended");
      await place.store.commit({ key, length: 0, state: "canceled", then: { do: "end" } });
      const once = [["echo", 0, { turns: 1, tokens: undefined, costUsd: 0.5 }]];
      assert.deepEqual(await sums(place, "ada"), once);
      // What is noted after the end (a late outcome, E16) is no second one.
      await place.store.commit({ key, length: 0, view: { totals: { steps: 2, costUsd: 9 } }, from: ["canceled"] });
      assert.deepEqual(await sums(place, "ada"), once);
    });

    it("is counted whatever else the view says: text that no database likes", async () => {
      await using place = await Place.open(open);
      const said = { by: "agent", id: "s", parts: [{ text: "\u0000 \ud800 \uffff" }] } as const;
      const { turn, epoch } = await place.run({
        push: { id: "p", url: "https://a.example/", origin: "https://a.example", extensions: [] },
      });
      const queued = await place.begin();
      const view = { said, status: said, totals: { steps: 1, tokens: 1e21, costUsd: 1e-9 } };
      await place.commit(turn, { epoch, view });
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.deepEqual((await place.turn(turn)).view, view);
      assert.equal(await place.state(queued), "running");
      assert.deepEqual(await sums(place, "ada"), [["echo", 0, { turns: 1, tokens: 1e21, costUsd: 1e-9 }]]);
    });

    it("outlives the turns, goes with its subject, and is forgotten by the day", async () => {
      await using place = await Place.open(open);
      const turn = await live(place, { subject: "ada" }, { steps: 1, tokens: 5 });
      await live(place, { subject: "bob" }, { steps: 1, tokens: 5 });
      const five = [["echo", 0, { turns: 1, tokens: 5, costUsd: undefined }]];
      assert.deepEqual(await place.store.erase({ what: "turn", key: turn }), { kind: "erased", turns: 1 });
      assert.deepEqual(await sums(place, "ada"), five);
      await place.store.erase({ what: "subject", subject: "ada" });
      await place.store.erase({ what: "subject", subject: "ada" });
      assert.deepEqual(await sums(place, "ada"), []);
      assert.deepEqual(await sums(place, "bob"), five);
      const all = [["echo", 0, { turns: 2, tokens: 10, costUsd: undefined }]];
      assert.deepEqual(await sums(place, undefined), all, "nobody is named in it");

      const forget = (before: number) => place.store.forget({ what: "usage", before, limit: 1 });
      assert.deepEqual(await forget(dawn + dayMs - 1), { count: 0, next: undefined });
      assert.equal((await forget(dawn + dayMs)).count, 1);
      assert.equal((await forget(dawn + dayMs)).count, 1);
      assert.equal((await forget(dawn + dayMs)).count, 0);
      assert.deepEqual(await sums(place, undefined), []);
    });
  });
}
