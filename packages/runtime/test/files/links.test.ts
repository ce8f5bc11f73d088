import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createFileLinks, keyPeriodMs } from "../../src/files/links.ts";
import type { FileLinks, Linked } from "../../src/files/links.ts";

const minute = 60_000;
const linked: Linked = {
  taskId: "AAAAAAAAAAAAAAAAAAAAAA",
  sha256: "a".repeat(64),
  name: "Übersicht 1/2.csv",
  mediaType: "text/csv",
};

/** As a store keeps them. */
class Rows {
  readonly all = new Map<string, Uint8Array>();
  now = 1_000 * keyPeriodMs;

  links(publicUrl = "https://example.com/agents"): FileLinks {
    return createFileLinks({
      secret: async (name, make) => {
        if (!this.all.has(name)) this.all.set(name, make());
        return this.all.get(name)!;
      },
      now: () => this.now,
      ms: 5 * minute,
      publicUrl,
    });
  }
}

function tokenOf(url: string): string {
  return url.split("/")[6]!;
}

describe("a link to a file", () => {
  it("leads to one content of one task, below where the Runtime is", async () => {
    const links = new Rows().links();
    const url = await links.make(linked);
    assert.ok(url.startsWith("https://example.com/agents/v1/files/"), url);
    assert.ok(url.endsWith("/%C3%9Cbersicht%201%2F2.csv"), url);
    assert.deepEqual(await links.open(tokenOf(url)), linked);
    const folder = { ...linked, isFolder: true } as const;
    assert.deepEqual(await links.open(tokenOf(await links.make(folder))), folder);
  });

  // keeps: files-link-fresh, files-link-forged
  it("is good for its time and not longer; another is made each time", async () => {
    const rows = new Rows();
    const links = rows.links();
    const token = tokenOf(await links.make(linked));
    rows.now += 5 * minute - 1;
    assert.deepEqual(await links.open(token), linked);
    const later = tokenOf(await links.make(linked));
    rows.now += 1001;
    assert.equal(await links.open(token), "expired");
    assert.deepEqual(await links.open(later), linked);
  });

  // keeps: files-link-forged
  it("that was altered anywhere is none, whatever its time", async () => {
    const rows = new Rows();
    const links = rows.links();
    const token = tokenOf(await links.make(linked));
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      const altered = `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
      // The last letter of a part may have bits that mean nothing.
      const found = await links.open(altered);
      if (found !== undefined) assert.deepEqual(found, linked, `at ${at}`);
    }
    rows.now += 10 * minute;
    const [header, , signature] = token.split(".") as [string, string, string];
    const payload = (claims: object) => Buffer.from(JSON.stringify(claims)).toString("base64url");
    const forged = payload({ ...linked, sub: linked.taskId, iss: "nylorun", aud: "files", exp: rows.now / 1000 + 60 });
    assert.equal(await links.open(`${header}.${forged}.${signature}`), undefined);
    const none = payload({ alg: "none" });
    for (const nonsense of [
      "",
      "x",
      "..",
      `${none}.${forged}.`,
      `${header}.${forged}`,
      token.slice(0, -5),
      `${token}.x`,
    ])
      assert.equal(await links.open(nonsense), undefined, nonsense);
  });

  it("of another Runtime is none; one of another node on the same store is", async () => {
    const rows = new Rows();
    const token = tokenOf(await rows.links().make(linked));
    assert.deepEqual(await rows.links().open(token), linked);
    assert.equal(await new Rows().links().open(token), undefined);
  });

  it("is signed with a key that changes by itself, and taken over the change", async () => {
    const rows = new Rows();
    const links = rows.links();
    rows.now += keyPeriodMs - minute;
    const old = tokenOf(await links.make(linked));
    rows.now += 2 * minute;
    const young = tokenOf(await links.make(linked));
    assert.equal(rows.all.size, 2);
    assert.notEqual(old.split(".")[0], young.split(".")[0], "they name their keys");
    for (const token of [old, young]) assert.deepEqual(await links.open(token), linked);
    // A node whose clock is behind sees the next key's links, too.
    rows.now -= 2 * minute;
    assert.deepEqual(await rows.links().open(young), linked);
    // A key that is out of use is not looked for, whatever a link says.
    rows.now += 3 * keyPeriodMs;
    assert.equal(await links.open(old), undefined);
    assert.equal(rows.all.size, 2);
  });

  it("is made when the store can say the key again", async () => {
    const rows = new Rows();
    let fails = true;
    const links = createFileLinks({
      secret: async () => {
        if (fails) throw new Error("down");
        return new Uint8Array(32);
      },
      now: () => rows.now,
      ms: minute,
      publicUrl: "http://127.0.0.1",
    });
    await assert.rejects(links.make(linked), /down/);
    fails = false;
    assert.ok(await links.make(linked));
  });
});
