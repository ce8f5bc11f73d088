/**
 * The hosts that an operator allows, as a list of entries: `example.com`, `*.example.com` (any name below it, not itself), an address;
 * with `:8443` or `:*` for other ports than the scheme's own; with `http://` before it where no TLS is wanted.
 *
 * What is compared is what a URL parser makes of a host: `0x7f.1` is `127.0.0.1` here, and `EXAMPLE.com.` is `example.com`.
 */
import { isIP } from "node:net";

import type { Trust } from "./addresses.ts";

/** What of a URL says where it leads. */
export type Origin = Pick<URL, "protocol" | "hostname" | "port">;

interface Entry {
  readonly protocol: "http:" | "https:";
  readonly hostname: string;
  /** Any name below {@link hostname}. */
  readonly below: boolean;
  /** As a URL has it: empty for the scheme's own. `*`: any. */
  readonly port: string;
}

export class HostList {
  readonly #entries: readonly Entry[];

  private constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  /** Undefined: one of them is no entry. */
  static parse(texts: readonly string[]): HostList | undefined {
    const entries = texts.map(parseEntry);
    return entries.every((entry) => entry !== undefined) ? new HostList(entries) : undefined;
  }

  /** How far whoever stands behind this origin is trusted; undefined: not at all, it is not in the list. */
  trustOf({ protocol, hostname, port }: Origin): Trust | undefined {
    const name = bareName(hostname);
    const fits = this.#entries.filter(
      (entry) => entry.protocol === protocol && (entry.port === "*" || entry.port === port) && isNamedBy(name, entry),
    );
    if (fits.length === 0) return undefined;
    if (fits.every(({ below }) => below)) return "public";
    return isIP(addressOf(name)) === 0 ? "named" : "literal";
  }
}

/** The address that a URL's host spells out, as `node:net` takes it; of a name, that name. */
export function addressOf(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

const ENTRY = /^(?:(https?):\/\/)?(\*\.)?(\[[^\]]*\]|[^:/?#@[\]\s]+)(?::(\d{1,5}|\*))?$/i;

function parseEntry(text: string): Entry | undefined {
  const [, scheme = "https", star, host = "", port = ""] = ENTRY.exec(text.trim()) ?? [];
  if (host === "" || host.includes("*")) return undefined;
  const url = URL.parse(`${scheme.toLowerCase()}://${host}${port === "*" || port === "" ? "" : `:${port}`}`);
  if (url === null) return undefined;
  const hostname = bareName(url.hostname);
  if (hostname === "" || (star !== undefined && isIP(addressOf(hostname)) !== 0)) return undefined;
  return {
    protocol: url.protocol as Entry["protocol"],
    hostname,
    below: star !== undefined,
    port: port === "*" ? "*" : url.port,
  };
}

/** A name with a dot at its end is the same name. */
function bareName(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

function isNamedBy(name: string, { hostname, below }: Entry): boolean {
  return below ? name.endsWith(`.${hostname}`) && name.length > hostname.length + 1 : name === hostname;
}
