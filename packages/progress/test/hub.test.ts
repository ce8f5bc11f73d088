import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { nextShown } from "@nylorun/protocol";
import type { ProgressEvent } from "@nylorun/protocol";
import fc from "fast-check";

import { Hub } from "../src/hub.ts";
import type { HubEvent, Published } from "../src/hub.ts";
import { record } from "./events.ts";

const event = (task_id: string, fields: Partial<ProgressEvent> = {}): ProgressEvent => ({
  ...record({ task_id, ...fields }),
});
const seen = (published: readonly Published[]): string[] =>
  published.map(({ event: { task_id, status, percent } }) => `${task_id} ${status} ${percent}`);

describe("The hub", () => {
  it("holds the latest event of each task, the newest first, whatever tasks are called (P25)", () => {
    const hub = new Hub();
    for (const id of ["10", "constructor", "9", "__proto__", "10"]) hub.publish("ada", event(id));
    assert.deepEqual(seen(hub.latest({ subject: "ada" }, 10)), [
      "10 running 50",
      "__proto__ running 50",
      "9 running 50",
      "constructor running 50",
    ]);
    assert.equal(hub.latest({ subject: "ada" }, 2).length, 2);
    assert.deepEqual(seen(hub.latest({ subject: "ada", taskId: "constructor" }, 10)), ["constructor running 50"]);
  });

  it("forgets a task, a subject's, or all of them, and has their room again", () => {
    const hub = new Hub({ tasksPerSubject: 3, tasks: 5 });
    for (const subject of ["ada", "bob"])
      for (const id of ["1", "2"]) hub.publish(subject, event(id, { status: id === "1" ? "done" : "running" }));
    assert.deepEqual([hub.roomFor("ada"), hub.roomFor("eve"), hub.roomFor()], [1, 3, 1]);
    hub.forget({ subject: "ada", taskId: "1" });
    hub.forget({ subject: "ada", taskId: "unknown" });
    hub.forget({ subject: "eve" });
    assert.deepEqual(seen(hub.latest({ subject: "ada" }, 10)), ["2 running 50"]);
    assert.deepEqual(seen(hub.since(0, { subject: "ada" })), ["2 running 50"]);
    hub.forget({ subject: "bob" });
    assert.deepEqual([hub.latest({}, 10).length, hub.roomFor("bob"), hub.roomFor()], [1, 3, 4]);
    hub.forget({});
    assert.deepEqual([hub.latest({}, 10), hub.roomFor()], [[], 5]);
    for (let id = 0; id < 9; id++) hub.publish("ada", event(`${id}`));
    assert.equal(hub.latest({}, 10).length, 3);
  });

  it("shows a subject its own tasks alone, and everything to who asks for everything (I7)", () => {
    const hub = new Hub();
    const heard: Record<"ada" | "bob" | "all" | "one", Published[]> = { ada: [], bob: [], all: [], one: [] };
    hub.subscribe({ subject: "ada" }, (published) => heard.ada.push(published));
    hub.subscribe({ subject: "bob" }, (published) => heard.bob.push(published));
    hub.subscribe({}, (published) => heard.all.push(published));
    hub.subscribe({ subject: "ada", taskId: "x:2" }, (published) => heard.one.push(published));
    hub.publish("ada", event("x:1", { percent: 1 }));
    hub.publish("bob", event("x:1", { percent: 2 }));
    hub.publish("ada", event("x:2", { percent: 3 }));
    const percents = (published: readonly Published[]) => published.map((one) => one.event.percent);
    assert.deepEqual(percents(heard.ada), [1, 3]);
    assert.deepEqual(percents(heard.bob), [2]);
    assert.deepEqual(percents(heard.all), [1, 2, 3]);
    assert.deepEqual(percents(heard.one), [3]);
    assert.deepEqual(percents(hub.latest({ subject: "ada" }, 9)), [3, 1]);
    assert.deepEqual(percents(hub.latest({ subject: "bob" }, 9)), [2]);
    assert.deepEqual(percents(hub.since(0, {})), [1, 2, 3]);
    assert.deepEqual(hub.latest({ subject: "eve" }, 9), []);
  });

  it("tells nobody who has stopped listening", () => {
    const hub = new Hub();
    let count = 0;
    const subscription = hub.subscribe({ subject: "ada" }, () => count++);
    hub.publish("ada", event("x"));
    subscription[Symbol.dispose]();
    subscription[Symbol.dispose]();
    hub.publish("ada", event("x"));
    assert.equal(count, 1);
  });

  it("keeps a bounded number of tasks: the ended ones that were heard of least recently go first", () => {
    const hub = new Hub({ tasksPerSubject: 3, tasks: 5 });
    hub.publish("ada", event("a"));
    hub.publish("ada", event("b", { status: "done" }));
    hub.publish("ada", event("c", { status: "error" }));
    hub.publish("ada", event("d"));
    const ids = (subject: string) => hub.latest({ subject }, 99).map(({ event: { task_id } }) => task_id);
    assert.deepEqual(ids("ada"), ["d", "c", "a"]);
    hub.publish("ada", event("e"));
    hub.publish("ada", event("a", { percent: 51 }));
    hub.publish("ada", event("f"));
    assert.deepEqual(ids("ada"), ["f", "a", "e"]);
    for (const subject of ["bob", "bob", "cyd"]) hub.publish(subject, event(`${subject}:${hub.seq}`));
    // Ada is the one who was heard of least recently.
    assert.deepEqual(ids("ada"), ["f", "a"]);
    assert.equal(hub.latest({}, 99).length, 5);
  });

  it("brings a view that was away to what a view shows that saw everything (P8)", () => {
    const statuses = fc.constantFrom("started", "running", "paused", "done", "error");
    const events = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), statuses), { maxLength: 40 });
    fc.assert(
      fc.property(events, fc.nat({ max: 40 }), (all, away) => {
        const hub = new Hub();
        const [present, absent] = [new Map<string, HubEvent>(), new Map<string, HubEvent>()];
        const show = (view: Map<string, HubEvent>, shown: HubEvent) =>
          view.set(shown.task_id, nextShown(view.get(shown.task_id), shown) as HubEvent);
        let last = 0;
        for (const [index, [task, status]] of all.entries()) {
          const published = hub.publish("ada", event(task, { status }));
          show(present, published);
          if (index < away) {
            show(absent, published);
            last = published.seq;
          }
        }
        const missed = hub.since(last, { subject: "ada" });
        assert.ok(missed.length <= 9);
        for (const published of missed) show(absent, published.event);
        assert.deepEqual(absent, present);
      }),
    );
  });
});
