import assert from "node:assert/strict";
import { test } from "node:test";

import { filesApart, filesNeeded } from "../../src/cli/files-apart.ts";

test("what files take is said in two digits or whole numbers, and nothing of none", () => {
  for (const [bytes, text] of [
    [1, "1 byte"],
    [999, "999 bytes"],
    [1000, "1.0 kB"],
    [9_960, "10 kB"],
    [99_700, "100 kB"],
    [3_140_000, "3.1 MB"],
    [250_000_000, "250 MB"],
    [12_345_000_000, "12 GB"],
  ] as const)
    assert.equal(
      filesApart({ bytes, place: "/blobs" }),
      `The files of its tasks, ${text}, are not in it: they are in /blobs.\n`,
    );
  assert.equal(filesApart({ bytes: 0, place: "/blobs" }) + filesNeeded({ bytes: 0, place: undefined }), "");
});
