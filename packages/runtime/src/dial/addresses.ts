/**
 * Which addresses may be dialled for somebody who is not trusted with this machine's network: all that are public, and none of those
 * in the tables below (IANA's special-purpose registries, and what clouds have made their own).
 *
 * | trust   | what it comes from                           | may be dialled                                     |
 * |---------|----------------------------------------------|----------------------------------------------------|
 * | public  | a pattern, or nothing                        | public addresses                                   |
 * | named   | an operator named the host                   | also addresses of this machine and of its networks |
 * | literal | an operator named this very address          | that address                                       |
 */
import ipaddr from "ipaddr.js";

export type Trust = "public" | "named" | "literal";

interface Range {
  readonly cidr: string;
  readonly what: string;
  /** Where a host of one's own may be: open to one that was named. */
  readonly own?: true;
}

export const REFUSED_RANGES: readonly Range[] = [
  { cidr: "0.0.0.0/8", what: "this network" },
  { cidr: "10.0.0.0/8", what: "private", own: true },
  { cidr: "100.64.0.0/10", what: "shared by a carrier's customers", own: true },
  { cidr: "127.0.0.0/8", what: "loopback", own: true },
  { cidr: "168.63.129.16/32", what: "a cloud's own" },
  { cidr: "169.254.0.0/16", what: "link-local" },
  { cidr: "172.16.0.0/12", what: "private", own: true },
  { cidr: "192.0.0.0/24", what: "IETF protocols" },
  { cidr: "192.0.2.0/24", what: "documentation" },
  { cidr: "192.31.196.0/24", what: "AS112" },
  { cidr: "192.52.193.0/24", what: "AMT" },
  { cidr: "192.88.99.0/24", what: "6to4 relays" },
  { cidr: "192.168.0.0/16", what: "private", own: true },
  { cidr: "192.175.48.0/24", what: "AS112" },
  { cidr: "198.18.0.0/15", what: "benchmarks" },
  { cidr: "198.51.100.0/24", what: "documentation" },
  { cidr: "203.0.113.0/24", what: "documentation" },
  { cidr: "224.0.0.0/4", what: "multicast" },
  { cidr: "240.0.0.0/4", what: "reserved, and broadcast" },

  // Of IPv6, what is not global unicast (2000::/3) is refused whether it has a row or not.
  { cidr: "::1/128", what: "loopback", own: true },
  { cidr: "::/96", what: "unspecified, and IPv4-compatible" },
  { cidr: "::ffff:0:0/96", what: "IPv4-mapped" },
  { cidr: "::ffff:0:0:0/96", what: "IPv4-translated" },
  { cidr: "64:ff9b::/96", what: "NAT64" },
  { cidr: "64:ff9b:1::/48", what: "NAT64 of a network" },
  { cidr: "100::/64", what: "discarded" },
  { cidr: "100:0:0:1::/64", what: "dummy" },
  { cidr: "2001::/23", what: "IETF protocols: Teredo, ORCHID, benchmarks" },
  { cidr: "2001:db8::/32", what: "documentation" },
  { cidr: "2002::/16", what: "6to4" },
  { cidr: "2620:4f:8000::/48", what: "AS112" },
  { cidr: "3fff::/20", what: "documentation" },
  { cidr: "5f00::/16", what: "segment routing" },
  { cidr: "fc00::/7", what: "unique local", own: true },
  { cidr: "fe80::/10", what: "link-local" },
  { cidr: "fec0::/10", what: "site-local" },
  { cidr: "ff00::/8", what: "multicast" },
];

const RANGES = REFUSED_RANGES.map(({ cidr, own = false }) => ({ cidr: ipaddr.parseCIDR(cidr), own }));
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");
/** The last 64 bits of an IPv6 address that carries an IPv4 one in them (RFC 5214): with or without the global bit. */
const ISATAP: ReadonlySet<number> = new Set([0x5efe, 0x200_5efe]);

/**
 * Whether an address may be dialled.
 *
 * @param address As `node:net` takes it: dotted or colon form, without brackets.
 */
export function mayDial(address: string, trust: Trust): boolean {
  if (!ipaddr.isValid(address)) return false;
  if (trust === "literal") return true;
  const parsed = ipaddr.parse(address);
  for (const { cidr, own } of RANGES) {
    if (isWithin(parsed, cidr)) return own && trust === "named";
  }
  if (!(parsed instanceof ipaddr.IPv6)) return true;
  const [, , , , high = 0, low = 0] = parsed.parts;
  return isWithin(parsed, GLOBAL_UNICAST) && !ISATAP.has(high * 0x1_0000 + low);
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function isWithin(address: Address, [first, bits]: [Address, number]): boolean {
  return address.kind() === first.kind() && address.match(first, bits);
}
