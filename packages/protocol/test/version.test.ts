import assert from "node:assert/strict";
import { test } from "node:test";

import { A2aError, negotiateVersion } from "../src/index.ts";

test("1.0 is spoken, whatever its patch version, from the header or else from the query", () => {
  for (const [header, query] of [
    ["1.0"],
    [" 1.0 "],
    ["1.0.7"],
    [undefined, "1.0"],
    [null, "1.0.0"],
    ["", "1.0"],
    ["1.0", "0.3"],
  ] as const) {
    assert.equal(negotiateVersion(header, query), "1.0");
  }
});

test("anything else is -32009 and says what is supported; absent or empty is 0.3 (A2A 3.6.2)", () => {
  for (const [header, query, requested] of [
    [undefined, undefined, "0.3"],
    [null, null, "0.3"],
    ["", "", "0.3"],
    ["  ", undefined, "0.3"],
    ["0.3", "1.0", "0.3"],
    ["0.3.1", undefined, "0.3"],
    ["1.1", undefined, "1.1"],
    ["1", undefined, "1"],
    ["v1.0", undefined, "v1.0"],
    ["1.0, 1.0", undefined, "1.0, 1.0"],
    ["1.0-beta", undefined, "1.0-beta"],
    ["11.0", undefined, "11.0"],
    [undefined, "2.0", "2.0"],
  ] as const) {
    assert.throws(
      () => negotiateVersion(header, query),
      (error) => {
        assert.ok(error instanceof A2aError);
        assert.equal(error.code, -32009);
        assert.deepEqual(error.metadata, { requestedVersion: requested, supportedVersions: "1.0" });
        return true;
      },
    );
  }
});
