import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HostList } from "../../src/dial/host-list.ts";

function trust(entries: readonly string[], url: string) {
  return HostList.parse(entries)!.trustOf(new URL(url));
}

describe("a list of hosts", () => {
  it("names a host with TLS on its own port", () => {
    assert.equal(trust(["example.com"], "https://example.com/hook"), "named");
    assert.equal(trust(["example.com"], "https://EXAMPLE.com.:443/hook"), "named");
    for (const other of [
      "http://example.com/",
      "https://example.com:8443/",
      "https://www.example.com/",
      "https://example.org/",
      "https://badexample.com/",
    ])
      assert.equal(trust(["example.com"], other), undefined, other);
  });

  it("takes a pattern for all names below, whose addresses must be public", () => {
    assert.equal(trust(["*.example.com"], "https://a.b.example.com/"), "public");
    for (const other of [
      "https://example.com/",
      "https://.example.com/",
      "https://example.com.evil.test/",
      "https://aexample.com/",
    ])
      assert.equal(URL.canParse(other) ? trust(["*.example.com"], other) : undefined, undefined, other);
    assert.equal(trust(["*.example.com", "a.example.com"], "https://a.example.com/"), "named");
  });

  it("takes a port, or any", () => {
    assert.equal(trust(["example.com:8443"], "https://example.com:8443/"), "named");
    assert.equal(trust(["example.com:8443"], "https://example.com/"), undefined);
    assert.equal(trust(["example.com:443"], "https://example.com/"), "named");
    assert.equal(trust(["http://localhost:*"], "http://localhost:1234/"), "named");
    assert.equal(trust(["http://localhost:*"], "http://localhost/"), "named");
    assert.equal(trust(["http://localhost:*"], "https://localhost:1234/"), undefined);
  });

  it("knows an address however a URL spells it", () => {
    for (const url of [
      "https://127.0.0.1/",
      "https://0x7f.1/",
      "https://2130706433/",
      "https://127.1/",
      "https://0177.0.0.1/",
      "https://①②⑦.0.0.1/",
    ])
      assert.equal(trust(["127.0.0.1"], url), "literal", url);
    assert.equal(trust(["[::1]:*"], "https://[0:0:0:0:0:0:0:1]:9/"), "literal");
    assert.equal(trust(["[::1]"], "https://[::ffff:127.0.0.1]/"), undefined);
    assert.equal(trust(["127.0.0.1"], "https://[::ffff:127.0.0.1]/"), undefined);
  });

  it("takes names as URLs write them", () => {
    assert.equal(trust(["bücher.example"], "https://xn--bcher-kva.example/"), "named");
  });

  it("is refused with anything in it that could be read in two ways", () => {
    for (const entry of [
      "",
      " ",
      "*",
      "*.",
      "*.*.example.com",
      "a.*.example.com",
      "https://*",
      "ftp://example.com",
      "example.com/path",
      "example.com?x",
      "user@example.com",
      "example.com:99999",
      "example.com:",
      "example.com:**",
      "*.127.0.0.1",
      "*.[::1]",
      "::1",
      "a b.example",
      "https://",
    ])
      assert.equal(HostList.parse([entry]), undefined, JSON.stringify(entry));
  });
});
