/** A database that is not there, or holds something else: one sentence, and no stack. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Place } from "./nylorun.ts";

describe("a PostgreSQL that does not answer", () => {
  it("is named in one sentence by every command that needs it, without its password", async () => {
    await using place = new Place();
    const agent = place.agent("echo");
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, "nowhere.invalid"]) {
      const env = { NYLORUN_DATABASE_URL: `postgres://nylorun:hush@${host}/nylorun` };
      for (const command of [
        ["serve", agent, "--port", "0"],
        ["keys", "add", "--subject", "ada"],
        ["replay-check", agent],
      ]) {
        const { code, stdout, stderr } = await place.run(command, env);
        assert.deepEqual([code, stdout], [1, ""], `${command[0]} ${host}`);
        assert.match(stderr, /^nylorun: The database of \S+ cannot be used: .+\.\n$/, `${command[0]} ${host}`);
        assert.ok(!stderr.includes("hush") && stderr.split("\n").length === 2, stderr);
      }
    }
  });
});

describe("a file that is no database", () => {
  it("is imported in one sentence that says so", async () => {
    await using place = new Place();
    const env = { NYLORUN_DATABASE_URL: "postgres://nylorun@127.0.0.1:9/nylorun" };
    place.write("text", "no database at all, but as long as one ".repeat(200));
    mkdirSync(join(place.folder, "folder"));
    writeFileSync(join(place.folder, "empty"), "");
    for (const name of ["text", "folder", "empty", "missing"]) {
      const { code, stderr } = await place.run(["import", name], env);
      assert.equal(code, 1, name);
      assert.match(stderr, /^nylorun: [^\n]+\n$/, name);
      assert.ok(!stderr.includes("should not happen"), stderr);
    }
  });
});
