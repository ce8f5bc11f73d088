import assert from "node:assert/strict";
import { test } from "node:test";

import { matchesMode, mediaTypeOf } from "../src/index.ts";

test("a part without a media type has its kind's", () => {
  assert.equal(mediaTypeOf({ text: "" }), "text/plain");
  assert.equal(mediaTypeOf({ data: null }), "application/json");
  assert.equal(mediaTypeOf({ raw: "" }), "application/octet-stream");
  assert.equal(mediaTypeOf({ url: "https://example.com/a.csv" }), "application/octet-stream");
  assert.equal(mediaTypeOf({ text: "a,b", mediaType: "text/csv" }), "text/csv");
});

test("modes match with wildcards, without parameters and without regard to case", () => {
  for (const [type, modes, matches] of [
    ["text/plain", ["text/plain"], true],
    ["Text/PLAIN; charset=utf-8", ["text/plain"], true],
    ["text/plain", ["TEXT/plain; charset=us-ascii"], true],
    ["text/csv", ["text/*"], true],
    ["image/png", ["text/plain", "*/*"], true],
    ["text/csv", ["text/plain"], false],
    ["textual/plain", ["text/*"], false],
    ["text", ["text/*"], false],
    ["image/png", [], false],
    ["text/*", ["text/plain"], false],
    ["*/*", ["text/plain"], false],
  ] as const) {
    assert.equal(matchesMode(type, modes), matches, `${type} in ${modes.join(", ")}`);
  }
});
