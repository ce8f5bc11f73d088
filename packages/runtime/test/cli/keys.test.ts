import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { Place } from "./nylorun.ts";

const KEY = /^nyl_[0-9A-Za-z]{43}\n$/;
const CONNECTED = ["alone", "through the process that serves"] as const;

for (const how of CONNECTED) {
  describe(`keys, ${how}`, () => {
    const place = new Place();
    after(() => place[Symbol.asyncDispose]());
    before(async () => {
      const agent = place.agent("echo");
      if (how !== "alone") await place.serve([agent]);
    });

    it("are printed alone on stdout, so that a script can keep one", async () => {
      const { code, stdout, stderr } = await place.run(["keys", "add", "--subject", "ada"]);
      assert.deepEqual([code, stderr], [0, "Key 1, of ada. It is not shown again.\n"]);
      assert.match(stdout, KEY);
      const operator = await place.run(["keys", "add", "--operator"]);
      assert.deepEqual([operator.code, operator.stderr], [0, "Key 2, of an operator. It is not shown again.\n"]);
      assert.match(operator.stdout, KEY);
      assert.notEqual(operator.stdout, stdout);
    });

    it("are listed without the keys themselves", async () => {
      const { code, stdout } = await place.run(["keys", "list"]);
      assert.equal(code, 0);
      const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;
      assert.match(
        stdout,
        new RegExp(
          `^ID  HOLDER       MADE                  REVOKED\n1   ada          ${time}  -\n2   an operator  ${time}  -\n$`,
        ),
      );
      const { stdout: json } = await place.run(["keys", "list", "--json"]);
      const records = JSON.parse(json) as { id: string; holder: unknown; createdAt: number; revokedAt?: number }[];
      assert.deepEqual(
        records.map(({ id, holder }) => [id, holder]),
        [
          ["1", { role: "subject", subject: "ada" }],
          ["2", { role: "operator" }],
        ],
      );
      assert.ok(records.every(({ createdAt }) => Math.abs(createdAt - Date.now()) < 60_000));
      assert.ok(!json.includes("nyl_") && !json.includes("hash"));
    });

    it("are stored as hashes: no file of the home holds one", async () => {
      const key = await place.addKey("--subject", "grace");
      const digest = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(key))).toString("base64url");
      const files = readdirSync(place.home).map((name) => join(place.home, name));
      const contents = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, "latin1"));
      assert.ok(
        contents.some((content) => content.includes(digest)),
        "the hash is there",
      );
      for (const content of contents) assert.ok(!content.includes(key) && !content.includes(key.slice(4)));
    });

    it("are revoked once; what is no key is refused", async () => {
      const { code, stdout, stderr } = await place.run(["keys", "revoke", "2"]);
      assert.deepEqual([code, stdout, stderr], [0, "", "Key 2 is revoked.\n"]);
      assert.match((await place.run(["keys", "list"])).stdout, /^2   an operator  \S+ \S+Z  \S+ \S+Z$/m);
      for (const id of ["2", "99", "nyl_x", "../1"]) {
        const again = await place.run(["keys", "revoke", id]);
        assert.deepEqual(again, {
          code: 1,
          stdout: "",
          stderr: `nylorun: There is no key ${id} that is not revoked; "nylorun keys list" shows them.\n`,
        });
      }
    });

    it("are refused for what is no subject", async () => {
      const { code, stdout, stderr } = await place.run(["keys", "add", "--subject", "ada lovelace"]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(
        stderr,
        'nylorun: A subject must be 1-200 visible ASCII characters, such as "ada" or "team/ada"; character 4 is a blank.\n',
      );
    });
  });
}

describe("keys", () => {
  it("open what their subject may use, and nothing from the moment they are revoked", async () => {
    await using place = new Place();
    const serving = await place.serve([place.agent("echo")]);
    const key = await place.addKey("--subject", "ada");
    assert.equal((await serving.send(key, "echo", "Hello")).result?.task.status.state, "TASK_STATE_COMPLETED");
    await place.run(["keys", "revoke", "1"]);
    assert.equal((await serving.send(key, "echo", "Hello")).status, 401);
    assert.equal((await serving.send(`${key.slice(0, -1)}~`, "echo", "Hello")).status, 401);
  });

  it("ask for a holder, and one only", async () => {
    await using place = new Place();
    const neither = await place.run(["keys", "add"]);
    assert.deepEqual(neither, {
      code: 1,
      stdout: "",
      stderr: "nylorun: Say whom the key is for: --subject NAME, or --operator.\n",
    });
    const both = await place.run(["keys", "add", "--operator", "--subject", "ada"]);
    assert.deepEqual([both.code, both.stderr.split("\n").length], [1, 2]);
    assert.ok(!existsSync(place.home), "a wrong command makes no home");
  });

  it("are not looked for where there is no home, nor is one made", async () => {
    await using place = new Place();
    const { code, stderr } = await place.run(["keys", "list"]);
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `nylorun: There is no home at ${place.home}. Do this in the folder where you serve, or name the home with --home.\n`,
      ],
    );
    assert.ok(!existsSync(place.home));
  });

  it("can be added by many commands at once", async () => {
    await using place = new Place();
    const added = await Promise.all(
      ["a", "b", "c", "d"].map((subject) => place.run(["keys", "add", "--subject", subject])),
    );
    assert.deepEqual(
      added.map(({ code, stderr }) => [code, stderr.replace(/^Key \d, of .\. It is not shown again\.\n$/, "")]),
      [
        [0, ""],
        [0, ""],
        [0, ""],
        [0, ""],
      ],
    );
    assert.equal((await place.run(["keys", "list"])).stdout.trim().split("\n").length, 5);
  });
});
