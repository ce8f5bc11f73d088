/**
 * Which hosts a server answers for. A page in a browser can make any name that its owner has point to this machine (DNS
 * rebinding); what it cannot do is to have the browser send another name than that.
 *
 * | listens on     | answers for                                                              |
 * |----------------|--------------------------------------------------------------------------|
 * | loopback       | localhost, 127.0.0.1, [::1], the public URL's host, the allowed hosts     |
 * | anything else  | these, and any IP address: an address is no name, and cannot be rebound   |
 */
import { BlockList, isIP } from "node:net";

export interface HostSettings {
  /** Where the server listens. */
  readonly host: string;
  readonly publicUrl: string;
  /** Host names without port. */
  readonly allowedHosts: readonly string[];
}

/** Requests come under few hosts. More than so many different ones are somebody's experiment, and are not remembered. */
const REMEMBERED = 100;

/** Says whether a request's URL, which has the host that the request named, is one of a host that is answered for. */
export function createHostCheck(settings: HostSettings): (url: string) => boolean {
  const names = new Set(
    ["localhost", "127.0.0.1", "::1", settings.host, hostOf(settings.publicUrl), ...settings.allowedHosts].map(plain),
  );
  const local = isLoopback(settings.host);
  const known = new Map<string, boolean>();
  return (url) => {
    const start = url.indexOf("://") + 3;
    const end = url.indexOf("/", start);
    const authority = end === -1 ? url.slice(start) : url.slice(start, end);
    let answered = known.get(authority);
    if (answered === undefined) {
      const name = plain(hostOf(url));
      answered = names.has(name) || (!local && isIP(name) !== 0);
      if (known.size < REMEMBERED) known.set(authority, answered);
    }
    return answered;
  };
}

/** The host that a URL names, for people. */
export function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? "";
}

/** Without the brackets of an IPv6 address and the dot that may end a name. */
function plain(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether nothing but this machine reaches an address. */
export function isLoopback(host: string): boolean {
  const name = plain(host);
  const version = isIP(name);
  return version === 0 ? name === "localhost" : loopback.check(name, version === 4 ? "ipv4" : "ipv6");
}
