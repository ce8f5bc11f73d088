import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { entry, leaseMs, Place } from "../place.ts";
import type { Open } from "../place.ts";

export function crowdContract(open: Open): void {
  describe("many at once", () => {
    it("begin, append, answer and end turns of a few contexts, one after another in each, and none is lost", async () => {
      await using place = await Place.open(open);
      const contexts = 7;
      const ids = 36 * contexts;
      const messages = ids + 48; // The last ones came before, in the same context.
      const accepted = await Promise.all(
        Array.from({ length: messages }, (_, n) =>
          place.accept({ contextId: `c-${n % contexts}`, messageId: `m-${n % ids}`, queueDepth: 1000 }),
        ),
      );
      const kinds = Object.groupBy(accepted, ({ kind }) => kind);
      assert.equal(kinds.accepted?.length, ids);
      assert.equal(kinds.duplicate?.length, messages - ids);

      const order = new Map<number, number[]>();
      const work = async () => {
        let claims = await place.claim(3);
        while (claims.length > 0) {
          const nexts = await Promise.all(
            claims.map(async ({ turn, epoch }) => {
              order.set(turn.context, [...(order.get(turn.context) ?? []), turn.turn]);
              const commits = [0, 1, 2].map((length) =>
                place.store.commit({ key: turn, length, epoch, entries: [entry(length)] }),
              );
              for (const result of await Promise.all(commits)) assert.equal(result.kind, "committed");
              const then = { do: "end", claim: { leaseMs } } as const;
              const { next } = await place.commit(turn, { epoch, length: 3, state: "completed", then });
              return next === undefined ? [] : [next];
            }),
          );
          claims = nexts.flat();
        }
      };
      while ((await place.due()) !== undefined) await Promise.all([work(), work(), work()]);

      assert.equal([...order.values()].flat().length, ids);
      for (const turns of order.values())
        assert.deepEqual(
          turns,
          turns.toSorted((a, b) => a - b),
        );
      const { total } = await place.store.listTurns({
        subject: "ada",
        agent: "echo",
        status: "TASK_STATE_COMPLETED",
        limit: 1,
      });
      assert.equal(total, ids);
    });
  });
}
