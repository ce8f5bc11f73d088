import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { problemsIn } from "./licences.ts";
import type { Locked } from "./licences.ts";

const good: Locked = {
  version: "1.0.0",
  integrity: "sha512-AAAA",
  license: "MIT",
};
const problems = (locked: Locked): string[] =>
  problemsIn({ packages: { "": {}, "packages/own": {}, "node_modules/x": locked } });

describe("the packages that we stand on", () => {
  it("may be under a licence that leaves everybody free", () => assert.deepEqual(problems(good), []));

  it("are found when they are under another one, or under none", () => {
    for (const license of ["GPL-3.0", "AGPL-3.0-only", "SEE LICENSE IN LICENSE", "MPL-2.0", undefined]) {
      assert.match(problems({ ...good, license } as Locked)[0] ?? "", /^x 1\.0\.0 is under/);
    }
  });

  it("may ask for changes back where they only build and test", () => {
    assert.deepEqual(problems({ ...good, license: "MPL-2.0", dev: true }), []);
    assert.match(problems({ ...good, license: "GPL-3.0", dev: true })[0] ?? "", /is under GPL-3.0/);
  });

  it("come from the registry, with a hash of what is installed", () => {
    assert.match(problems({ ...good, resolved: "https://evil.example/x.tgz" })[0] ?? "", /comes from https:\/\/evil/);
    assert.match(problems({ ...good, resolved: "git+ssh://git@evil.example/x.git" })[0] ?? "", /comes from git/);
    assert.match(problems({ ...good, integrity: "sha1-AAAA" })[0] ?? "", /no SHA-512/);
  });

  it("are read by their own name, wherever they lie, and links to our own are none", () => {
    const packages = {
      "packages/a/node_modules/@b/c": { ...good, license: "GPL-3.0" },
      "node_modules/@nylorun/agents": { link: true },
    };
    assert.deepEqual(
      problemsIn({ packages }).map((one) => one.split(" ", 1)[0]),
      ["@b/c"],
    );
  });
});
