import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { EXTENSIONS } from "@nylorun/protocol";

import { interactionOf } from "../../src/turn/view.ts";
import { agent, Stage } from "./stage.ts";

/**
 * A runner shows what an effect says without an entry. Who changes the turn meanwhile by what it was before must not put that back
 * (E18).
 */
it("keeps what is shown while an answer is taken", async () => {
  await using stage = new Stage();
  const go = Promise.withResolvers<undefined>();
  const end = Promise.withResolvers<undefined>();
  const node = await stage.start(
    agent(async (turn) => {
      const approval = turn.approve({ prompt: "Sure?" });
      await turn.effect("work", async ({ say }) => {
        await go.promise;
        say("Half of it.");
        await end.promise;
      });
      return approval;
    }),
  );
  const turn = await node.interrupted(await node.send());
  const shown = Promise.withResolvers<undefined>();
  node.faulty.faults = {
    async before({ commit }) {
      if (commit?.message === undefined) return;
      // The answer has been judged by the turn as it was: meanwhile something is shown.
      go.resolve(undefined);
      await shown.promise;
    },
    after({ commit }) {
      if (commit?.epoch !== undefined && commit.entries === undefined) shown.resolve(undefined);
    },
  };
  const open = interactionOf((await node.load(turn)).view)!;
  await node.send("(approved)", {
    taskId: node.taskId(turn),
    metadata: { [EXTENSIONS.interactions]: { interactionId: open.id, approved: true } },
    extensions: [EXTENSIONS.interactions],
  });
  await delay(20);
  end.resolve(undefined);
  const { view, state } = await node.ended(turn);
  assert.equal(state, "completed");
  const texts = view.history?.map(({ parts }) => parts[0]?.text);
  assert.ok(texts?.includes("Half of it."), JSON.stringify(texts));
});
