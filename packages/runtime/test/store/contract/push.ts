import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { mostPushConfigs } from "../../../src/store/push.ts";
import type { Delivery, PushTarget } from "../../../src/store/push.ts";
import type { Commit } from "../../../src/store/store.ts";
import type { Change, TurnKey } from "../../../src/turn/record.ts";
import { dawn, leaseMs, Place } from "../place.ts";
import type { Open } from "../place.ts";

const origin = "https://hooks.example";
const say = (id: string) => ({ by: "agent" as const, id, parts: [{ text: id }] });
const plan = (note: string) => [{ label: "Only one", state: "active" as const, note }];
const artifact = (text: string) => ({ artifactId: "output", parts: [{ text }] });

function target(id: string, at = origin): PushTarget {
  return { id, url: `${at}/${id}`, origin: at, token: "a token", extensions: ["https://example.com/an-extension"] };
}

/** What a config has been told, attempt by attempt, each of them delivered. */
async function told(place: Place): Promise<Change[]> {
  const changes: Change[] = [];
  for (;;) {
    const claimed = await claim(place);
    if (claimed.length === 0) return changes;
    for (const delivery of claimed) {
      changes.push(delivery.change);
      assert.ok(await place.store.push.settle(delivery, { kind: "delivered" }));
    }
  }
}

function claim(place: Place, options: { limit?: number; room?: number; rooms?: Map<string, number> } = {}) {
  return place.store.push.claim({ limit: 1000, leaseMs, room: 1000, rooms: new Map(), ...options });
}

async function claimOne(place: Place): Promise<Delivery> {
  const [delivery, ...others] = await claim(place);
  assert.ok(delivery, "nothing is due");
  assert.equal(others.length, 0);
  return delivery;
}

function wordsOf(changes: readonly Change[]): string[] {
  return changes.map((change): string => {
    if (change.kind === "artifact") return `artifact ${change.artifact.parts[0]?.text}`;
    if (change.kind === "reply") return `reply ${change.parts[0]?.text}`;
    if (change.kind === "task") return `task ${change.state}`;
    return `${change.state} ${change.view.status?.id ?? change.view.plan?.[0]?.note ?? ""}`.trim();
  });
}

/** A turn that runs, with a config. */
async function listened(place: Place, id = "one", at = origin) {
  const claimed = await place.run({ contextId: `talk-${id}-${at}`, push: target(id, at) });
  const { turn, epoch } = claimed;
  return { turn, epoch, commit: (change: Partial<Commit>) => place.commit(turn, { epoch, ...change }) };
}

const limits = { queued: 1000, bytes: 1_000_000 };

export function pushContract(open: Open): void {
  describe("a push config", () => {
    it("is kept as it was given, oldest first, and changed by another with its id (A29)", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run();
      const { push } = place.store;
      const first: PushTarget = { ...target("one"), authentication: { scheme: "Bearer", credentials: "secret" } };
      assert.equal(await push.put(turn, first), "put");
      place.now += 5;
      assert.equal(await push.put(turn, target("two")), "put");
      assert.deepEqual(await push.list(turn), [
        { ...first, createdAt: dawn },
        { ...target("two"), createdAt: dawn + 5 },
      ]);
      assert.equal(await push.put(turn, { ...target("one"), url: `${origin}/moved` }), "put");
      assert.deepEqual(
        (await push.list(turn)).map(({ id, url }) => [id, url]),
        [
          ["one", `${origin}/moved`],
          ["two", `${origin}/two`],
        ],
      );
      assert.equal(await push.remove(turn, "one"), true);
      assert.equal(await push.remove(turn, "one"), false);
      assert.deepEqual(
        (await push.list(turn)).map(({ id }) => id),
        ["two"],
      );
    });

    it("belongs to one turn, which must be there (I7)", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.run({ contextId: "a" });
      const other = await place.run({ contextId: "b" });
      const { push } = place.store;
      await push.put(turn, target("one"));
      assert.deepEqual(await push.list(other.turn), []);
      assert.equal(await push.remove(other.turn, "one"), false);
      const mixed: TurnKey = { context: other.turn.context, turn: turn.turn };
      assert.equal(await push.put(mixed, target("two")), "unknown");
      assert.equal(await push.remove(mixed, "one"), false);
      assert.deepEqual(await push.list(mixed), []);
      await push.put(other.turn, target("one"));
      assert.equal((await push.list(turn)).length, 1);
    });

    it(`is one of ${mostPushConfigs} at most, however many come at once (A29)`, async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      const put = await Promise.all(Array.from({ length: 40 }, (_, n) => place.store.push.put(turn, target(`c${n}`))));
      assert.equal(put.filter((one) => one === "put").length, mostPushConfigs);
      assert.equal(put.filter((one) => one === "full").length, 40 - mostPushConfigs);
      assert.equal(await place.store.push.put(turn, target("c0")), "put", "that one is there");
      const { length } = await place.turn(turn);
      const change: Commit = { key: turn, length, epoch, state: "completed", push: target("more") };
      assert.deepEqual(await place.store.commit(change), { kind: "pushFull" });
      assert.equal(await place.state(turn), "running", "nothing of the change is stored");
    });

    it("comes with a message, once however often that is sent", async () => {
      await using place = await Place.open(open);
      const begin = { messageId: "m", push: target("one") };
      const { turn } = await place.run(begin);
      assert.equal((await place.accept({ ...begin, push: target("two") })).kind, "duplicate");
      assert.deepEqual(
        (await place.store.push.list(turn)).map(({ id }) => id),
        ["one"],
      );
      assert.deepEqual(await claim(place), [], "its caller has been told");
    });

    it("comes with a reply, and hears what comes after it", async () => {
      await using place = await Place.open(open);
      const { turn } = await place.park();
      const message = {
        key: { subject: "ada", agent: "echo", contextId: "talk", messageId: "r" },
        contentHash: "r",
        dedupeMs: 1000,
      };
      const answer: Partial<Commit> = {
        state: "running",
        view: {},
        then: { do: "wake" },
        message,
        push: target("one"),
      };
      await place.commit(turn, answer);
      assert.deepEqual(await place.store.commit({ ...answer, key: turn, length: 0, push: target("two") }), {
        kind: "duplicate",
      });
      assert.deepEqual(
        (await place.store.push.list(turn)).map(({ id }) => id),
        ["one"],
      );
      assert.deepEqual(await told(place), []);
      await place.commit(turn, { state: "completed", view: {} });
      assert.deepEqual(wordsOf(await told(place)), ["completed"]);
    });

    it("hears at once of a turn that has ended or waits for its caller, as it is then; of others when they change", async () => {
      await using place = await Place.open(open);
      const { push } = place.store;
      const parked = await place.park({ contextId: "parked" });
      const running = await place.run({ contextId: "running" });
      const asleep = await place.run({ contextId: "asleep" });
      await place.commit(asleep.turn, {
        epoch: asleep.epoch,
        state: "waiting",
        view: {},
        then: { do: "park", dueAt: undefined },
      });
      const ended = await place.run({ contextId: "ended" });
      const view = { artifacts: [artifact("done")] };
      await place.commit(ended.turn, { epoch: ended.epoch, state: "completed", view, then: { do: "end" } });
      for (const { turn } of [parked, running, asleep, ended]) await push.put(turn, target("one"));
      await place.commit(parked.turn, { state: "running", view: {}, then: { do: "wake" } });
      const changes = await told(place);
      assert.deepEqual(wordsOf(changes).toSorted(), ["running", "task completed", "task waiting"]);
      const snapshot = changes.find((change) => change.kind === "task" && change.state === "completed");
      assert.deepEqual(snapshot, {
        kind: "task",
        state: "completed",
        statusAt: (await place.turn(ended.turn)).statusAt,
        view,
      });
      await push.put(ended.turn, target("one", "https://other.example"));
      assert.deepEqual(await told(place), [], "a config that is changed has heard of it");
    });

    it("is gone with its turn, and so is what it had not heard", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place);
      await commit({ state: "completed", view: {}, then: { do: "end" } });
      const delivery = await claimOne(place);
      await place.store.erase({ what: "turn", key: turn });
      assert.equal(await place.store.push.settle(delivery, { kind: "failed", error: "500", retryAt: dawn }), false);
      assert.deepEqual(await claim(place), []);
      const { deliveries } = await place.store.measure();
      assert.deepEqual(deliveries, { waiting: 0, since: undefined, givenUp: 0 });
    });

    it("counts as its subject's, with what it has not heard, until it is gone", async () => {
      await using place = await Place.open(open);
      const isFull = async () => (await place.accept({ contextId: "new", limits })).kind === "subjectFull";
      const { turn, epoch } = await place.run({ limits });
      await place.store.push.put(turn, target("one"));
      await place.commit(turn, { epoch, view: { artifacts: [artifact("x".repeat(600_000))] } });
      assert.equal(await isFull(), true, "a delivery is as large as what it tells of");
      assert.equal(await place.store.push.remove(turn, "one"), true);
      assert.equal(await isFull(), false);
    });
  });

  describe("a change that others hear of (I8)", () => {
    it("is each state, interaction, lost effect, artifact version and reply; what a turn made comes before its end", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      const view = { artifacts: [artifact("v1")] };
      const prompt = {
        ...say("ask"),
        interaction: { interactionId: "ask", kind: "approval" as const, prompt: "May I?" },
      };
      const lost = [{ of: 0, id: "e1", name: "pay", why: "died" as const, at: dawn }];
      await commit({ view });
      await commit({ view: { ...view, ranMs: 7 } });
      await commit({ state: "waiting", view: { ...view, status: prompt, waitsFor: "approval" } });
      await commit({
        state: "waiting",
        view: { ...view, status: prompt, waitsFor: "approval", heard: 1, history: [say("h")] },
      });
      await commit({
        state: "waiting",
        view: {
          ...view,
          status: { ...prompt, id: "ask2", interaction: { ...prompt.interaction, interactionId: "ask2" } },
          waitsFor: "approval",
        },
      });
      await commit({ state: "running", view });
      await commit({ state: "uncertain", view: { ...view, lost } });
      await commit({ state: "running", view });
      await commit({
        state: "completed",
        view: { artifacts: [artifact("v2")], reply: [{ text: "Done" }] },
        then: { do: "end" },
      });
      const changes = await told(place);
      assert.deepEqual(wordsOf(changes), [
        "artifact v1",
        "waiting ask",
        "waiting ask2",
        "running",
        "uncertain",
        "running",
        "artifact v2",
        "reply Done",
        "completed",
      ]);
      const uncertain = changes.find((change) => change.kind === "status" && change.state === "uncertain");
      assert.deepEqual(uncertain?.kind === "status" && uncertain.view.lost, lost);
      assert.equal(JSON.stringify(changes).includes("soft"), false);
    });

    it("is the plan and the step text too, of which a newer one takes the place of those that have not been tried", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      await commit({ view: { plan: plan("1") } });
      await commit({ view: { plan: plan("2") } });
      const tried = await claimOne(place);
      assert.deepEqual(wordsOf([tried.change]), ["running 2"]);
      await commit({ view: { plan: plan("3") } });
      await commit({ view: { plan: plan("3"), artifacts: [artifact("made")] } });
      await commit({ view: { plan: plan("3"), artifacts: [artifact("made")], said: say("s"), status: say("s") } });
      await commit({ view: { plan: plan("4"), artifacts: [artifact("made")], said: say("s"), status: say("s") } });
      await place.store.push.settle(tried, { kind: "failed", error: "500", retryAt: place.now });
      const changes = await told(place);
      assert.deepEqual(wordsOf(changes), ["running 2", "artifact made", "running s"]);
      const last = changes.at(-1);
      assert.deepEqual(last?.kind === "status" && last.view, { plan: plan("4"), status: say("s") });
    });

    it("is that a turn which waited in line begins, whoever lets it", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await place.run();
      await place.begin({ push: target("one") });
      assert.deepEqual(await claim(place), []);
      await place.commit(turn, { epoch, state: "completed", view: {}, then: { do: "end" } });
      assert.deepEqual(wordsOf(await told(place)), ["running"]);
    });

    it("is told to each config, and to those that came before it alone", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place, "one");
      await commit({ view: { artifacts: [artifact("v1")] } });
      await place.store.push.put(turn, target("two"));
      await commit({ view: { artifacts: [artifact("v2")] } });
      const deliveries: string[] = [];
      for (let n = 0; n < 2; n++) {
        for (const delivery of await claim(place)) {
          deliveries.push(`${delivery.target.id}: ${wordsOf([delivery.change]).join()}`);
          await place.store.push.settle(delivery, { kind: "delivered" });
        }
      }
      assert.deepEqual(deliveries.toSorted(), ["one: artifact v1", "one: artifact v2", "two: artifact v2"]);
    });

    it("is signalled, once it is stored", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place);
      place.heard();
      await commit({ view: { plan: plan("1") } });
      assert.deepEqual(place.heard().toSorted(), ["announced", `turn ${turn.turn}`]);
      const other = await place.run({ contextId: "nobody listens" });
      place.heard();
      await place.commit(other.turn, { epoch: other.epoch, view: { plan: plan("1") } });
      assert.deepEqual(place.heard(), [`turn ${other.turn.turn}`]);
    });

    it("that is refused is told to nobody", async () => {
      await using place = await Place.open(open);
      const { turn, epoch } = await listened(place);
      const refused = await place.store.commit({ key: turn, length: 7, epoch, state: "completed", view: {} });
      assert.equal(refused.kind, "behind");
      assert.equal(
        (await place.store.commit({ key: turn, length: 0, epoch: epoch + 1, state: "completed" })).kind,
        "fenced",
      );
      assert.deepEqual(await claim(place), []);
    });
  });

  describe("a delivery", () => {
    it("is claimed with all that it takes to make it", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place);
      place.now += 1000;
      await commit({ view: { artifacts: [artifact("v1")] } });
      const { id, ...delivery } = await claimOne(place);
      assert.match(id, /^msg_[0-9a-f]{32}$/);
      assert.deepEqual(delivery, {
        ...delivery,
        target: target("one"),
        turn: await place.turn(turn),
        change: { kind: "artifact", artifact: artifact("v1") },
        createdAt: dawn + 1000,
        attempts: 1,
        failures: 0,
      });
    });

    it("waits for the one before it, and is one at a time (A27)", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      for (const text of ["v1", "v2", "v3"]) await commit({ view: { artifacts: [artifact(text)] } });
      const first = await claimOne(place);
      assert.deepEqual(await claim(place), [], "while one is tried, the next one is not");
      assert.deepEqual(wordsOf([first.change]), ["artifact v1"]);
      await place.store.push.settle(first, { kind: "failed", error: "500", retryAt: place.now + 100 });
      assert.deepEqual(await claim(place), []);
      assert.equal(await place.store.push.nextDue(place.now), place.now + 100);
      place.now += 100;
      const again = await claimOne(place);
      assert.deepEqual([again.id, again.attempts, again.failures], [first.id, 2, 1]);
      assert.ok(again.epoch > first.epoch);
      await place.store.push.settle(again, { kind: "delivered" });
      const second = await claimOne(place);
      assert.deepEqual([wordsOf([second.change]), second.failures], [["artifact v2"], 0]);
      assert.notEqual(second.id, first.id);
    });

    it("comes again when its lease is over, and the old attempt says nothing any more", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      await commit({ state: "completed", view: {} });
      const first = await claimOne(place);
      assert.deepEqual(await claim(place), []);
      assert.equal(await place.store.push.nextDue(place.now), place.now + leaseMs);
      place.now += leaseMs;
      const second = await claimOne(place);
      assert.equal(second.id, first.id);
      for (const kind of ["delivered", "gone"] as const)
        assert.equal(await place.store.push.settle(first, { kind }), false);
      assert.equal(await place.store.push.settle(second, { kind: "delivered" }), true);
      assert.equal(
        await place.store.push.settle(second, { kind: "delivered" }),
        false,
        "a claim is good for one answer",
      );
      assert.deepEqual(await claim(place), []);
      assert.equal(await place.store.push.nextDue(place.now), undefined);
    });

    it("comes again when the process that tried it is no more, and all that waited is there (A25)", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      await commit({ view: { artifacts: [artifact("v1")] } });
      await commit({ state: "completed", view: { artifacts: [artifact("v1")] }, then: { do: "end" } });
      const { id } = await claimOne(place);
      await place.reopen();
      const again = await claimOne(place);
      assert.equal(again.id, id);
      await place.store.push.settle(again, { kind: "delivered" });
      assert.deepEqual(wordsOf(await told(place)), ["completed"]);
    });

    it("that is given up is kept and makes room for the next; it can be sent again, before what came after it", async () => {
      await using place = await Place.open(open);
      const { push } = place.store;
      const { turn, commit } = await listened(place);
      for (const text of ["v1", "v2", "v3"]) await commit({ view: { artifacts: [artifact(text)] } });
      const first = await claimOne(place);
      place.now += 1000;
      await push.settle(first, { kind: "givenUp", error: "ECONNREFUSED" });
      const { createdAt, ...givenUp } = (await push.deliveries({ givenUp: true, limit: 10 }))[0]!;
      assert.equal(createdAt, dawn);
      assert.deepEqual(givenUp, {
        delivery: first.delivery,
        id: first.id,
        kind: "artifact",
        attempts: 1,
        turn: { context: turn.context, turn: turn.turn, subject: "ada", agent: "echo", contextId: turn.contextId },
        configId: "one",
        url: `${origin}/one`,
        error: "ECONNREFUSED",
        givenUpAt: dawn + 1000,
      });
      assert.deepEqual((await place.store.measure()).deliveries, { waiting: 2, since: dawn, givenUp: 1 });
      const second = await claimOne(place);
      assert.deepEqual([wordsOf([second.change]), second.failures], [["artifact v2"], 1]);
      assert.equal(await push.resend(second.delivery), false, "it is not given up");
      assert.equal(await push.resend(first.delivery), true);
      assert.equal(await push.resend(first.delivery), false);
      assert.deepEqual(await claim(place), [], "one at a time");
      await push.settle(second, { kind: "failed", error: "500", retryAt: place.now });
      const again = await claimOne(place);
      assert.deepEqual([again.id, again.attempts, again.createdAt], [first.id, 1, dawn + 1000]);
      await push.settle(again, { kind: "delivered" });
      assert.deepEqual(wordsOf(await told(place)), ["artifact v2", "artifact v3"]);
      assert.deepEqual(await push.deliveries({ givenUp: true, limit: 10 }), []);
    });

    it("that was given up is forgotten in its time, and what waits is not", async () => {
      await using place = await Place.open(open);
      const { push } = place.store;
      const { commit } = await listened(place);
      for (const text of ["v1", "v2", "v3"]) await commit({ view: { artifacts: [artifact(text)] } });
      for (let n = 0; n < 2; n++) {
        await push.settle(await claimOne(place), { kind: "givenUp", error: "410" });
        place.now += 1000;
      }
      const forget = (before: number) => place.store.forget({ what: "giveUps", before, limit: 10 });
      assert.deepEqual(await forget(dawn), { count: 0, next: undefined });
      assert.deepEqual(await forget(dawn + 1), { count: 1, next: undefined });
      assert.deepEqual((await place.store.measure()).deliveries, { waiting: 1, since: dawn, givenUp: 1 });
      assert.deepEqual(wordsOf(await told(place)), ["artifact v3"]);
    });

    it("that waits keeps its turn from being forgotten, until it is made or given up", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place);
      await commit({ state: "completed", view: {}, then: { do: "end" } });
      const forget = async () =>
        (await place.store.forget({ what: "turns", before: dawn + 1_000_000, limit: 10 })).count;
      assert.equal(await forget(), 0);
      const delivery = await claimOne(place);
      assert.equal(await forget(), 0);
      await place.store.push.settle(delivery, { kind: "givenUp", error: "500" });
      assert.equal(await forget(), 1);
      assert.equal(await place.store.loadTurn(turn), undefined);
      assert.deepEqual(await place.store.push.deliveries({ givenUp: true, limit: 10 }), []);
    });

    it("that has not been made when its config is deleted is not made", async () => {
      await using place = await Place.open(open);
      const { turn, commit } = await listened(place);
      await commit({ view: { artifacts: [artifact("v1")] } });
      await commit({ view: { artifacts: [artifact("v2")] } });
      const delivery = await claimOne(place);
      await place.store.push.remove(turn, "one");
      assert.equal(
        await place.store.push.settle(delivery, { kind: "failed", error: "500", retryAt: place.now }),
        false,
      );
      await commit({ view: { artifacts: [artifact("v3")] } });
      assert.deepEqual(await claim(place), []);
      assert.equal(await place.store.push.nextDue(0), undefined);
    });

    it("goes to where its config leads at each attempt, and a config that changed is not gone with where it led", async () => {
      await using place = await Place.open(open);
      const { push } = place.store;
      const { turn, commit } = await listened(place);
      await commit({ view: { artifacts: [artifact("v1")] } });
      await push.settle(await claimOne(place), { kind: "failed", error: "500", retryAt: place.now + 99_999 });
      const moved = target("one", "https://moved.example");
      await push.put(turn, moved);
      const again = await claimOne(place);
      assert.deepEqual([again.target, again.failures], [moved, 0], "nothing has failed there yet");
      await push.put(turn, target("one"));
      assert.deepEqual(await claim(place), [], "one at a time");
      await push.settle(again, { kind: "gone" });
      const last = await claimOne(place);
      assert.deepEqual(last.target, target("one"));
      await push.settle(last, { kind: "gone" });
      assert.deepEqual(await push.list(turn), []);
      assert.deepEqual(await claim(place), []);
    });

    it("of one origin waits for room alone, and those of others do not wait for it", async () => {
      await using place = await Place.open(open);
      const dead = "https://dead.example";
      for (let n = 0; n < 60; n++)
        await (await listened(place, `d${n}`, dead)).commit({ state: "completed", view: {} });
      place.now += 10;
      const others = ["https://a.example", "https://b.example", "https://c.example"];
      for (const at of others)
        for (const id of ["x", "y"]) await (await listened(place, id, at)).commit({ state: "completed", view: {} });
      const originsOf = (deliveries: readonly Delivery[]) => deliveries.map((one) => one.target.origin);
      const first = await claim(place, { limit: 5, room: 1 });
      assert.deepEqual(originsOf(first).toSorted(), [...others, dead]);
      const rooms = new Map([
        [dead, 0],
        [others[0]!, 5],
      ]);
      const second = await claim(place, { limit: 100, room: 0, rooms });
      assert.deepEqual(originsOf(second), [others[0]]);
      const third = await claim(place, { limit: 100, room: 9, rooms: new Map([[dead, 2]]) });
      assert.equal(third.filter((one) => one.target.origin === dead).length, 2);
      assert.deepEqual(
        originsOf(third)
          .filter((at) => at !== dead)
          .toSorted(),
        others.slice(1),
      );
      assert.equal((await claim(place, { limit: 100, room: 100 })).length, 66 - 4 - 1 - 4);
    });

    it("of one origin lets those of others go first, once it has had its turn", async () => {
      await using place = await Place.open(open);
      const [big, small] = ["https://big.example", "https://small.example"];
      for (let n = 0; n < 20; n++) await (await listened(place, `b${n}`, big)).commit({ state: "completed", view: {} });
      place.now += 10;
      const served: string[] = [];
      for (let n = 0; n < 4; n++) {
        if (n === 1) await (await listened(place, "s", small)).commit({ state: "completed", view: {} });
        served.push(...(await claim(place, { limit: 2 })).map((one) => one.target.origin));
        place.now += 10;
      }
      // One round at most goes by that was in line before it.
      assert.ok(served.includes(small), served.join(" "));
    });

    it("is listed while it waits, oldest first", async () => {
      await using place = await Place.open(open);
      const { commit } = await listened(place);
      for (const text of ["v1", "v2", "v3"]) await commit({ view: { artifacts: [artifact(text)] } });
      const first = await claimOne(place);
      await place.store.push.settle(first, { kind: "failed", error: "503", retryAt: place.now + 5000 });
      const listed = await place.store.push.deliveries({ givenUp: false, limit: 2 });
      assert.deepEqual(
        listed.map(({ delivery, attempts, error, givenUpAt }) => ({ delivery, attempts, error, givenUpAt })),
        [
          { delivery: first.delivery, attempts: 1, error: "503", givenUpAt: undefined },
          { delivery: listed[1]!.delivery, attempts: 0, error: undefined, givenUpAt: undefined },
        ],
      );
      assert.ok(listed[1]!.delivery > first.delivery);
    });
  });

  describe("secrets", () => {
    it("are found by how their names begin, oldest first", async () => {
      await using place = await Place.open(open);
      const bytes = (byte: number) => () => new Uint8Array([byte, byte]);
      await place.store.secret("webhook-key.b", bytes(1));
      place.now += 5;
      await place.store.secret("webhook-key.a", bytes(2));
      await place.store.secret("webhook_key.c", bytes(3));
      const found = await place.store.secrets("webhook-key.");
      assert.deepEqual(
        found.map(({ name, value, createdAt }) => [name, [...value], createdAt]),
        [
          ["webhook-key.b", [1, 1], dawn],
          ["webhook-key.a", [2, 2], dawn + 5],
        ],
      );
      assert.deepEqual(await place.store.secrets("none"), []);
    });
  });
}
