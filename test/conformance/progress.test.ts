/** What the progress protocol promises for as long as `proto` is 1. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";

import { FOLDER_VARIABLE, sinkFolder } from "@nylorun/progress";
import { isProgressEvent } from "@nylorun/protocol";

const EVENT = {
  proto: 1,
  task_id: "claude:summarize-report",
  percent: 42,
  eta_seconds: 30,
  stage: "Reasoning",
  status: "running",
  timestamp: "2026-10-14T02:00:00.000Z",
  agent: "claude",
  message: "reading section 3 of 7",
} as const;

describe("the event of proto 1", () => {
  // keeps: progress-compatibility-frozen
  it("has these fields, of which these must be there, as when it was published", () => {
    const path = resolve(import.meta.dirname, "../../protocol/schema.json");
    const { properties, required } = JSON.parse(readFileSync(path, "utf8")) as {
      properties: Readonly<Record<string, unknown>>;
      required: readonly string[];
    };
    for (const name of Object.keys(EVENT)) assert.ok(name in properties, `${name} is gone`);
    const { agent: _, message: __, ...needed } = EVENT;
    assert.deepEqual(required.toSorted(), Object.keys(needed).toSorted());
  });

  // keeps: progress-compatibility-unknown, progress-event-schema
  it("is one with fields that nobody knows, and none without a field that it must have", () => {
    assert.ok(isProgressEvent(EVENT));
    assert.ok(isProgressEvent({ ...EVENT, colour: "blue", nested: { anything: [null] } }));
    assert.ok(isProgressEvent({ ...EVENT, eta_seconds: null }));
    const { agent: _, message: __, ...needed } = EVENT;
    assert.ok(isProgressEvent(needed));
    for (const name of Object.keys(needed)) {
      assert.ok(!isProgressEvent(Object.fromEntries(Object.entries(EVENT).filter(([key]) => key !== name))), name);
    }
  });
});

describe("the sink", () => {
  // keeps: progress-sink-place
  it("is in the user's own folder, unless AGENT_PROGRESS_EVENTS_DIR says where", () => {
    assert.equal(FOLDER_VARIABLE, "AGENT_PROGRESS_EVENTS_DIR");
    assert.equal(sinkFolder({}), join(homedir(), ".agent-progress"));
    assert.equal(sinkFolder({ AGENT_PROGRESS_EVENTS_DIR: "" }), join(homedir(), ".agent-progress"));
    assert.equal(sinkFolder({ AGENT_PROGRESS_EVENTS_DIR: "/srv/events" }), "/srv/events");
  });
});
