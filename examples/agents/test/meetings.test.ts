import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { answer, approve, assertDurable, testAgent } from "@nylorun/runtime/testing";
import type { Script } from "@nylorun/runtime/testing";

import { meetings } from "../meetings.ts";
import { Calendars } from "../meetings/calendars.ts";

const owner = "ada";
const slot = "2026-01-02 14:00 UTC";

describe("meetings", () => {
  const folder = mkdtempSync(join(tmpdir(), "nylorun-meetings-"));
  const calendars = new Calendars(folder);
  const agent = meetings(calendars);
  after(() => {
    calendars.close();
    rmSync(folder, { recursive: true });
  });

  /** New calendars for each run; afterwards, what is in them. */
  function world({ connected }: { readonly connected: boolean }): Script {
    return {
      subject: owner,
      message: "Meet Grace",
      now: new Date("2026-01-01T09:00:00Z"),
      prepare() {
        calendars.reset();
        if (connected) calendars.connect(owner);
      },
      world: () => calendars.meetings(owner),
    };
  }

  test("a time that was chosen is booked, two seconds later", async () => {
    const run = await testAgent(agent, { ...world({ connected: true }), answers: [answer(slot)] });
    assert.equal(run.output, `You meet Grace at ${slot}.`);
    assert.deepEqual(run.interactions[0]?.detail, {
      choices: ["2026-01-02 10:00 UTC", "2026-01-02 14:00 UTC", "2026-01-05 10:00 UTC"],
    });
    const booked = run.effects.find(({ name }) => name === "book");
    assert.equal(booked?.at.toISOString(), "2026-01-01T09:00:02.000Z");
    assert.deepEqual(
      run.plan?.map(({ state }) => state),
      ["done", "done", "done"],
    );
  });

  test("whatever dies at whichever moment, there is one meeting, and no operator is asked", async () => {
    const script: Script = { ...world({ connected: true }), answers: [answer(slot)] };
    assert.deepEqual((await assertDurable(agent, script)).uncertain, []);
    assert.equal(calendars.meetings(owner).length, 1);
  });

  test("a calendar that is not connected is asked for, and seen once it is there", async () => {
    const run = await testAgent(agent, {
      ...world({ connected: false }),
      answers: [approve(), answer(slot)],
      // The person connects it before saying so.
      effects: {
        "example-calendar": () => {
          calendars.connect(owner);
          return true;
        },
      },
    });
    assert.deepEqual(
      run.interactions.map(({ kind }) => kind),
      ["connection", "question"],
    );
    assert.equal(run.output, `You meet Grace at ${slot}.`);
  });

  test("who declines to connect, or says no name, is refused", async () => {
    const declined = await testAgent(agent, { ...world({ connected: false }), answers: [approve(false)] });
    assert.equal(declined.status, "Without your calendar I cannot find a time.");
    const nameless = await testAgent(agent, { ...world({ connected: true }), message: "Hello!" });
    assert.equal(nameless.status, 'Say whom: "Meet Grace".');
  });

  test("a time that is taken meanwhile is not booked; another one is asked for", async () => {
    const taken: Script = {
      ...world({ connected: true }),
      answers: [answer(slot), answer("2026-01-02 10:00 UTC")],
      effects: {
        book({ key }) {
          const at = calendars.meetings(owner).length === 0 ? slot : "2026-01-02 10:00 UTC";
          if (at === slot) calendars.book({ key: "somebody else", owner, slot, guest: "Linus" });
          return calendars.book({ key, owner, slot: at, guest: "Grace" });
        },
      },
    };
    const run = await testAgent(agent, taken);
    assert.equal(run.output, "You meet Grace at 2026-01-02 10:00 UTC.");
    assert.equal(run.interactions.length, 2);
  });
});
