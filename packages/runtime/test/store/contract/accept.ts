import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { dawn, leaseMs, Place, turnsOf } from "../place.ts";
import type { Open } from "../place.ts";

export function acceptContract(open: Open): void {
  describe("a message that begins a turn", () => {
    it("makes a turn of what came, and a context with a new id when none is named", async () => {
      await using place = await Place.open(open);
      const message = {
        messageId: "m-1",
        parts: [{ text: "Hello" }, { data: { a: [1, null, "ä"] } }],
        metadata: { mood: "good" },
        extensions: ["urn:x"],
        referenceTaskIds: ["t-0"],
        extensionData: { "urn:x": { approved: true } },
      };
      const accepted = await place.accept({ contextId: undefined, message });
      assert.ok(accepted.kind === "accepted");
      const { turn } = accepted;
      assert.deepEqual(turn, {
        context: turn.context,
        turn: turn.turn,
        subject: "ada",
        agent: "echo",
        contextId: turn.contextId,
        state: "running",
        statusAt: dawn,
        createdAt: dawn,
        length: 0,
        revision: 0,
        deaths: 0,
        agentVersion: "1.0.0",
        traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
        message,
        view: {},
      });
      assert.deepEqual(await place.turn(turn), turn, "it is read back as it was told");
      assert.deepEqual(await place.store.loadJournal(turn, 0), []);
      const other = await place.begin({ contextId: undefined });
      assert.notEqual(other.contextId, turn.contextId);
      assert.notEqual(other.context, turn.context);
      assert.match(turn.contextId, /^[!-~]{8,200}$/);
    });

    it("goes on in the context of its subject, agent and name, and in no other", async () => {
      await using place = await Place.open(open);
      const first = await place.run();
      await place.commit(first.turn, { epoch: first.epoch, state: "completed", then: { do: "end" } });
      const second = await place.begin();
      assert.equal(second.context, first.turn.context);
      assert.equal(second.state, "running");
      assert.ok(second.turn > first.turn.turn, "later turns have higher keys");
      const others = [
        await place.begin({ contextId: "walk" }),
        await place.begin({ subject: "bob" }),
        await place.begin({ agent: "other" }),
      ];
      const contexts = [second, ...others].map(({ context }) => context);
      assert.equal(new Set(contexts).size, 4);
      assert.deepEqual(
        others.map(({ contextId, state }) => [contextId, state]),
        [
          ["walk", "running"],
          ["talk", "running"],
          ["talk", "running"],
        ],
      );
    });

    it("is due at once, or claimed at once by whom it came to", async () => {
      await using place = await Place.open(open);
      const unclaimed = await place.accept({ contextId: "a" });
      assert.ok(unclaimed.kind === "accepted" && unclaimed.claim === undefined);
      assert.deepEqual(place.heard(), [`turn ${unclaimed.turn.turn}`, "due"]);
      assert.equal(await place.due(), dawn);

      const { turn, epoch, journal, first } = await place.run({ contextId: "b" });
      assert.deepEqual([turn.state, epoch > 0, journal, first], ["running", true, [], true]);
      assert.deepEqual(place.heard(), [`turn ${turn.turn}`]);
      assert.deepEqual(turnsOf(await place.claim()), [unclaimed.turn.turn], "what is claimed is not claimed again");
    });

    it("says of a claim whether the context is new, so that nobody looks for earlier turns", async () => {
      await using place = await Place.open(open);
      const claim = await place.run();
      await place.commit(claim.turn, { epoch: claim.epoch, state: "completed", then: { do: "end" } });
      const next = await place.run();
      assert.equal(next.first, false);
      assert.ok(next.epoch > claim.epoch, "each claim of a context has a higher epoch");
    });
  });

  describe("a message to a busy context", () => {
    it("waits in line, unclaimed, and its turn begins when the ones before have ended", async () => {
      await using place = await Place.open(open);
      const first = await place.run();
      const second = await place.accept({ claim: true });
      assert.ok(second.kind === "accepted");
      assert.deepEqual([second.turn.state, second.claim], ["queued", undefined]);
      const third = await place.begin();
      assert.ok(!place.heard().includes("due"));
      let claim = first;
      for (const turn of [second.turn, third]) {
        assert.equal(await place.state(turn), "queued");
        place.now += 10;
        const end = { do: "end", claim: { leaseMs } } as const;
        const { next } = await place.commit(claim.turn, { epoch: claim.epoch, state: "completed", then: end });
        assert.ok(next);
        claim = next;
        assert.equal(claim.turn.turn, turn.turn);
        assert.deepEqual([claim.turn.state, claim.turn.statusAt], ["running", place.now]);
        assert.deepEqual(await place.turn(turn), claim.turn);
      }
    });

    it("is refused when it may not wait, and leaves no trace", async () => {
      await using place = await Place.open(open);
      await place.begin();
      assert.deepEqual(await place.accept({ messageId: "m-x", whenBusy: "reject" }), { kind: "busy" });
      const key = { subject: "ada", agent: "echo", contextId: "talk", messageId: "m-x" };
      assert.equal(await place.store.findMessage(key), undefined);
      assert.equal((await place.store.listTurns({ subject: "ada", agent: "echo", limit: 10 })).total, 1);
      assert.equal((await place.accept({ contextId: "idle", whenBusy: "reject" })).kind, "accepted");
    });

    it("is refused when as many wait as may, until one of them has begun or is gone", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const queued = [await place.begin(), await place.begin()];
      const accept = () => place.accept({ queueDepth: 2, messageId: "m-x" });
      assert.deepEqual(await accept(), { kind: "queueFull" });
      await place.commit(queued[1]!, { state: "canceled", then: { do: "end" } });
      assert.equal((await accept()).kind, "accepted");
      assert.equal((await place.accept({ queueDepth: 2 })).kind, "queueFull");
      await place.commit(turn, { epoch, state: "completed", then: { do: "end" } });
      assert.equal((await place.accept({ queueDepth: 2 })).kind, "accepted");
      assert.equal((await place.accept({ queueDepth: 0, contextId: "idle" })).kind, "accepted", "it need not wait");
    });
  });

  describe("what the store is given", () => {
    it("is a copy: who changes it afterwards, or changes what was read, changes nothing", async () => {
      await using place = await Place.open(open);
      const message = { messageId: "m-1", parts: [{ text: "Hello" }] };
      const accepting = place.accept({ message, claim: true });
      message.parts[0]!.text = "Bye";
      const accepted = await accepting;
      assert.ok(accepted.kind === "accepted" && accepted.claim);
      const view = { said: { by: "agent" as const, id: "s", parts: [{ text: "one" }] } };
      const entries = [{ kind: "used" as const, usage: { tokens: 1 } }];
      const committing = place.commit(accepted.turn, { epoch: accepted.claim.epoch, view, entries, length: 0 });
      view.said.parts[0]!.text = "two";
      entries[0]!.usage.tokens = 2;
      await committing;
      const read = await place.turn(accepted.turn);
      assert.equal(read.message.parts[0]?.text, "Hello");
      assert.equal(read.view.said?.parts[0]?.text, "one");
      (read.message.parts as { text: string }[])[0]!.text = "Bye";
      const journal = await place.store.loadJournal(read, 0);
      assert.deepEqual(journal, [{ kind: "used", usage: { tokens: 1 } }]);
      (journal[0] as { usage: { tokens: number } }).usage.tokens = 2;
      assert.equal((await place.turn(accepted.turn)).message.parts[0]?.text, "Hello");
      assert.deepEqual(await place.store.loadJournal(read, 0), [{ kind: "used", usage: { tokens: 1 } }]);
    });
  });
}
