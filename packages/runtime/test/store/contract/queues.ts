/** Contexts in which messages wait, for operators. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Queue } from "../../../src/store/store.ts";
import { dawn, Place } from "../place.ts";
import type { Open } from "../place.ts";

export function queueContract(open: Open): void {
  describe("the contexts in which messages wait", () => {
    const list = (place: Place, limit = 100): Promise<readonly Queue[]> => place.store.listQueues(limit);
    const short = async (place: Place, limit?: number) =>
      (await list(place, limit)).map(({ contextId, waiting, since }) => [contextId, waiting, since - dawn]);

    it("are those of everybody, the longest waiting first, with what is waited for", async () => {
      await using place = await Place.open(open);
      assert.deepEqual(await list(place), [], "there are none");
      const one = await place.run({ contextId: "one" });
      const two = await place.park({ contextId: "two", subject: "bob", agent: "other" });
      await place.run({ contextId: "three" });
      assert.deepEqual(await list(place), [], "nothing waits");

      place.now += 10;
      await place.begin({ contextId: "two", subject: "bob", agent: "other" });
      place.now += 10;
      await place.begin({ contextId: "one" });
      await place.begin({ contextId: "two", subject: "bob", agent: "other" });
      const active = async ({ turn }: typeof one, state: string, status: string) => {
        const { context, turn: key, statusAt } = await place.turn(turn);
        return { context, turn: key, state, status, statusAt };
      };
      assert.deepEqual(await list(place), [
        {
          ...{ subject: "bob", agent: "other", contextId: "two", waiting: 2, since: dawn + 10 },
          active: await active(two, "waiting", "TASK_STATE_INPUT_REQUIRED"),
        },
        {
          ...{ subject: "ada", agent: "echo", contextId: "one", waiting: 1, since: dawn + 20 },
          active: await active(one, "running", "TASK_STATE_WORKING"),
        },
      ]);
      assert.deepEqual(await short(place, 1), [["two", 2, 10]]);
    });

    it("are so until what waits has begun, was cancelled, or is no more; the next one is the oldest then", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run({ contextId: "one" });
      const waiting = [];
      for (let n = 0; n < 4; n++) {
        place.now += 10;
        waiting.push(await place.begin({ contextId: "one" }));
      }
      assert.deepEqual(await short(place), [["one", 4, 10]]);
      await place.commit(waiting[0]!, { state: "canceled", then: { do: "end" } });
      assert.deepEqual(await short(place), [["one", 3, 20]]);
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.deepEqual(await short(place), [["one", 2, 30]]);
      assert.equal((await list(place))[0]?.active.turn, waiting[1]!.turn);
      await place.reopen();
      assert.deepEqual(await short(place), [["one", 2, 30]]);
      await place.store.erase({ what: "turn", key: waiting[2]! });
      assert.deepEqual(await short(place), [["one", 1, 40]]);
      await place.store.erase({ what: "turn", key: waiting[3]! });
      assert.deepEqual(await short(place), []);
    });

    it("are found past one with many, and no more of them than are asked for", async () => {
      await using place = await Place.open(open);
      for (const contextId of ["many", "few", "late"]) await place.run({ contextId });
      for (let n = 0; n < 50; n++) await place.begin({ contextId: "many" });
      place.now += 1;
      for (const contextId of ["few", "late", "many"]) await place.begin({ contextId });
      assert.deepEqual(await short(place), [
        ["many", 51, 0],
        ["few", 1, 1],
        ["late", 1, 1],
      ]);
      assert.equal((await list(place, 2)).length, 2);
    });
  });
}
