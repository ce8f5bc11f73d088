/** A home that is exported: what becomes of it, and what is said of it. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { nylorun } from "../../../../test/crash/nylorun.ts";

describe("a home that is exported", () => {
  it("is served no more, and is whole in the file; an import says which database it needs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nylorun-move-"));
    try {
      const home = join(folder, "home");
      const file = join(folder, "all");
      assert.match((await nylorun(home, "export", file)).stderr, /There is no home/);
      assert.equal((await nylorun(home, "keys", "add", "--subject", "ada")).code, 0);
      const exported = await nylorun(home, "export", file);
      assert.equal(exported.code, 0, exported.stderr);
      assert.ok(existsSync(file));
      for (const command of [
        ["keys", "list"],
        ["export", join(folder, "again")],
      ]) {
        const refused = await nylorun(home, ...command);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /was exported, to go on elsewhere/);
      }
      const taken = await nylorun(join(folder, "other"), "keys", "add", "--subject", "ada");
      assert.equal(taken.code, 0);
      const nowhere = await nylorun(join(folder, "other"), "export", join(folder, "no", "such", "file"));
      assert.match(nowhere.stderr, /^nylorun: The export was not written: [^\n]+ The home is as it was\.\n$/);
      assert.equal((await nylorun(join(folder, "other"), "keys", "list")).code, 0);
      const imported = await nylorun(home, "import", file);
      assert.equal(imported.code, 1);
      assert.match(imported.stderr, /NYLORUN_DATABASE_URL/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
