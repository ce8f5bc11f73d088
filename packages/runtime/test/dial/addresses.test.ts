import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import ipaddr from "ipaddr.js";

import { mayDial, REFUSED_RANGES } from "../../src/dial/addresses.ts";

/** The first and the last address of a range, and those right before and behind it. */
function edgesOf(cidr: string) {
  const [range, bits] = ipaddr.parseCIDR(cidr);
  const size = range.kind() === "ipv4" ? 32n : 128n;
  const first =
    range.toByteArray().reduce((all, byte) => all * 256n + BigInt(byte), 0n) & ~((1n << (size - BigInt(bits))) - 1n);
  const last = first + (1n << (size - BigInt(bits))) - 1n;
  const text = (number: bigint) => {
    const bytes = Array.from({ length: Number(size / 8n) }, (_, at) =>
      Number((number >> (size - 8n - BigInt(at) * 8n)) & 255n),
    );
    return ipaddr.fromByteArray(bytes).toString();
  };
  return {
    first: text(first),
    last: text(last),
    before: first === 0n ? undefined : text(first - 1n),
    after: text((last + 1n) % (1n << size)),
  };
}

const OPEN_NEIGHBOURS = `
  1.0.0.0 100.128.0.0 100.63.255.255 11.0.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0
  172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0 192.167.255.255 192.169.0.0 192.175.47.255
  192.175.49.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.100.0 192.88.98.255 198.17.255.255 198.20.0.0
  198.51.101.0 198.51.99.255 203.0.112.255 203.0.114.0 223.255.255.255 9.255.255.255`
  .trim()
  .split(/\s+/);

describe("an address", () => {
  it("of a refused range is refused from its first to its last (A23)", () => {
    for (const { cidr, what } of REFUSED_RANGES) {
      const { first, last } = edgesOf(cidr);
      for (const address of [first, last]) assert.equal(mayDial(address, "public"), false, `${address}: ${what}`);
    }
  });

  it("right before and behind a range is refused only where another range begins or ends", () => {
    const neighbours = REFUSED_RANGES.flatMap(({ cidr }) => Object.values(edgesOf(cidr)).slice(2)).filter(
      (one) => one !== undefined,
    );
    const open = neighbours.filter((address) => mayDial(address, "public") && address.includes("."));
    assert.deepEqual([...new Set(open)].toSorted(), OPEN_NEIGHBOURS.toSorted());
  });

  it("that is public may be dialled", () => {
    for (const address of [
      "1.1.1.1",
      "93.184.216.34",
      "2606:4700::1111",
      "2a00:1450:4001:80b::200e",
      "2001:4860:4860::8888",
    ])
      assert.equal(mayDial(address, "public"), true, address);
  });

  it("of IPv6 outside of what is given out is refused, row or not", () => {
    for (const address of ["4000::1", "1::", "64:ff9a::1", "e000::1", "200::1"])
      assert.equal(mayDial(address, "named"), false, address);
  });

  it("that carries a private one inside is refused, whichever way it does (A23)", () => {
    for (const address of [
      "::ffff:10.0.0.1",
      "::ffff:a00:1",
      "::ffff:127.0.0.1",
      "::ffff:169.254.169.254",
      "::ffff:8.8.8.8",
      "::127.0.0.1",
      "::7f00:1",
      "::ffff:0:127.0.0.1",
      "64:ff9b::127.0.0.1",
      "64:ff9b::a9fe:a9fe",
      "64:ff9b:1::7f00:1",
      "2002:7f00:1::",
      "2002:a00:1::1",
      "2001:0:7f00:1::",
      "2a00:1450::5efe:7f00:1",
      "2a00:1450::200:5efe:a00:1",
      "fe80::1%lo",
      "fe80::1%1",
    ])
      assert.equal(mayDial(address, "named"), false, address);
  });

  it("of this machine and its networks is open to a host that an operator named, what belongs to the network itself is not", () => {
    for (const address of [
      "127.0.0.1",
      "127.255.255.254",
      "10.1.2.3",
      "172.16.0.1",
      "192.168.1.1",
      "100.64.0.1",
      "::1",
      "fd00::1",
    ]) {
      assert.equal(mayDial(address, "public"), false, address);
      assert.equal(mayDial(address, "named"), true, address);
    }
    for (const address of [
      "169.254.169.254",
      "168.63.129.16",
      "0.0.0.0",
      "::",
      "255.255.255.255",
      "224.0.0.1",
      "fe80::1",
      "ff02::1",
      "::ffff:127.0.0.1",
    ]) {
      assert.equal(mayDial(address, "named"), false, address);
      assert.equal(mayDial(address, "literal"), true, address);
    }
  });

  it("is refused when it is none", () => {
    for (const text of ["", "localhost", "1.2.3.4.5", "[::1]", "::g", "1.2.3.4/8"])
      assert.equal(mayDial(text, "literal"), false, text);
  });

  it("has one answer however it is spelled", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(255), { minLength: 16, maxLength: 16 }), (bytes) => {
        const address = ipaddr.fromByteArray(bytes) as ipaddr.IPv6;
        const answer = mayDial(address.toString(), "public");
        assert.equal(mayDial(address.toNormalizedString(), "public"), answer);
        assert.equal(mayDial(address.toNormalizedString().toUpperCase(), "public"), answer);
      }),
    );
  });
});
