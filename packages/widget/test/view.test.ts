import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { viewOf } from "../src/view.ts";
import type { LooseEvent } from "../src/view.ts";
import { ENGLISH } from "../src/words.ts";

const NOW = Date.parse("2026-10-14T02:00:00.000Z");

function view(event: LooseEvent, now?: number) {
  return viewOf(
    { timestamp: "2026-10-14T02:00:00.000Z", status: "running", ...event },
    { words: ENGLISH, now, label: "" },
  );
}

test("times are short to look at and whole to listen to", () => {
  const left = (seconds: number) => [
    view({ eta_seconds: seconds }).time,
    view({ eta_seconds: seconds }).spoken.split(", ").at(-1),
  ];
  assert.deepEqual(left(0), ["0 s left", "0 seconds left"]);
  assert.deepEqual(left(0.2), ["1 s left", "1 second left"]);
  assert.deepEqual(left(59), ["59 s left", "59 seconds left"]);
  assert.deepEqual(left(60), ["1:00 left", "1 minute left"]);
  assert.deepEqual(left(250), ["4:10 left", "4 minutes 10 seconds left"]);
  assert.deepEqual(left(3600), ["1:00:00 left", "1 hour left"]);
  assert.deepEqual(left(7505), ["2:05:05 left", "2 hours 5 minutes left"]);
  assert.deepEqual(left(172_800), ["2 days left", "2 days left"]);
  assert.deepEqual(left(1e300), ["more than 999 days left", "more than 999 days left"]);
});

test("P1: no ETA is invented, whatever came", () => {
  for (const eta_seconds of [null, undefined, NaN, Infinity, -Infinity, -1, "30", {}]) {
    assert.equal(view({ eta_seconds }).time, "estimating…");
  }
});

test("P4: a clock that jumps makes no absurd durations", () => {
  for (const now of [NOW - 1e12, NOW - 1, NaN, Infinity, -Infinity]) {
    assert.doesNotMatch(view({ eta_seconds: 30 }, now).time, /-|NaN|Infinity/, String(now));
  }
  assert.equal(view({ eta_seconds: 30, timestamp: "yesterday" }, NOW).time, "30 s left");
});

test("a silence shows only where an event is due", () => {
  const after = NOW + 250_000;
  assert.deepEqual(
    (["started", "running", "paused", "done", "error"] as const).map((status) => view({ status }, after).stale),
    [true, true, false, false, false],
  );
  assert.equal(view({}, NOW + 59_999).stale, false);
  assert.equal(view({}, NOW + 60_000).time, "no update for 1:00");
});

test("of any event at all there is a view of plain texts and possible numbers", () => {
  const loose = fc.record(
    Object.fromEntries(
      ["percent", "eta_seconds", "stage", "status", "message", "agent", "task_id", "timestamp"].map((field) => [
        field,
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.double(),
          fc.constantFrom("started", "running", "paused", "done", "error", "2026-10-14T02:00:00Z"),
          fc.anything({ withNullPrototype: true }),
        ),
      ]),
    ),
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(loose, fc.option(fc.double(), { nil: undefined }), (event, now) => {
      const { percent, fill, ...texts } = viewOf(event, { words: ENGLISH, now, label: "" });
      assert.ok(
        percent === undefined ||
          (Number.isInteger(percent) && percent >= 0 && percent <= 100 && !Object.is(percent, -0)),
      );
      assert.ok(fill >= 0 && fill <= 100);
      for (const text of Object.values(texts)) {
        if (typeof text !== "string") continue;
        // oxlint-disable-next-line no-control-regex -- what must not be there
        assert.doesNotMatch(text, /[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/u);
        assert.ok(text.isWellFormed());
      }
      assert.ok(texts.name !== "" && texts.time !== "" && texts.stage + texts.alert !== "");
    }),
    { numRuns: 2000 },
  );
});
