/**
 * Calls hosts that somebody else has named. The address is checked when it is dialled, and what was checked is what is dialled: a
 * name that leads elsewhere the second time gains nothing, nor does a redirect. Proxies from the environment are not asked.
 */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";

import { Agent, buildConnector } from "undici";
import type { Dispatcher } from "undici";

import { mayDial } from "./addresses.ts";
import type { Trust } from "./addresses.ts";
import { DialError } from "./errors.ts";
import { addressOf } from "./host-list.ts";
import type { Origin } from "./host-list.ts";
import { lookUp } from "./lookup.ts";
import type { Lookup } from "./lookup.ts";

export interface DiallerOptions {
  /** How far an origin is trusted; undefined: it may not be called. */
  readonly trustOf: (origin: Origin) => Trust | undefined;
  /** Default: the system's, in its own way for hosts that were named. */
  readonly lookup?: Lookup;
  /** How long a connection may take to come about, in milliseconds. Default: 10 000. */
  readonly connectMs?: number;
  /** How long a connection is kept for the next call, in milliseconds. Default: 4 000. */
  readonly keepAliveMs?: number;
}

export interface DialRequest {
  /** Default: GET. */
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** The whole call, the answer's body included, ends with it. */
  readonly signal: AbortSignal;
}

export type DialAnswer = Dispatcher.ResponseData;

export interface Dialler extends AsyncDisposable {
  /**
   * Makes one call, and follows no redirect. The answer's body is to be read or destroyed.
   *
   * @throws DialError `dial.notAllowed`, `dial.privateAddress`; what the network says.
   */
  call(url: URL, request: DialRequest): Promise<DialAnswer>;
  /**
   * Makes a call and those it is redirected to, each checked as the first one. Credentials go to the first origin alone.
   *
   * @param most Redirects that are followed.
   * @throws DialError as `call`, `dial.tooManyRedirects`.
   */
  follow(url: URL, request: Omit<DialRequest, "method" | "body">, most: number): Promise<DialAnswer>;
}

export function createDialler(options: DiallerOptions): Dialler {
  const { trustOf, lookup = lookUp, connectMs = 10_000, keepAliveMs = 4_000 } = options;
  const agent = new Agent({
    connect: checkedConnector({ trustOf, lookup, connectMs }),
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // An answer may take as long as the caller's signal lets it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  const call: Dialler["call"] = async (url, { method = "GET", headers, body, signal }) => {
    // Before anything is asked of a name server.
    if (trustOf(url) === undefined) throw notAllowed(url);
    if (url.username !== "" || url.password !== "") throw notAllowed(url);
    const { origin, pathname, search } = url;
    return agent.request({
      origin,
      path: pathname + search,
      method,
      signal,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
    });
  };

  return {
    call,

    async follow(url, request, most) {
      let at = url;
      let { headers } = request;
      for (let hops = 0; hops <= most; hops++) {
        const answer = await call(at, { ...request, ...(headers && { headers }) });
        const { location } = answer.headers;
        if (![301, 302, 303, 307, 308].includes(answer.statusCode) || typeof location !== "string") return answer;
        await answer.body.dump({ limit: 16_384, signal: request.signal });
        const next = URL.parse(location, at);
        if (next === null || !/^https?:$/.test(next.protocol)) throw notAllowed(at);
        if (next.origin !== at.origin) headers = withoutCredentials(headers);
        at = next;
      }
      throw new DialError("dial.tooManyRedirects", `It redirects more than ${most} times.`);
    },

    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

type Checks = Required<Pick<DiallerOptions, "trustOf" | "lookup" | "connectMs">>;

function checkedConnector({ trustOf, lookup, connectMs }: Checks): buildConnector.connector {
  return (target, callback) => {
    const { hostname, protocol, port } = target;
    const trust = trustOf({ hostname: isIP(hostname) === 6 ? `[${hostname}]` : hostname, protocol, port });
    if (trust === undefined) return callback(notAllowed({ protocol, hostname }), null);
    const address = addressOf(hostname);
    // What spells out an address is never looked up.
    if (isIP(address) !== 0 && !mayDial(address, trust)) return callback(privateAddress(hostname), null);
    const connect = buildConnector({
      timeout: connectMs,
      allowH2: false,
      lookup: (name, { all }, found) => {
        lookup(name, trust).then(
          (addresses: readonly LookupAddress[]) => {
            const open = addresses.filter((one) => mayDial(one.address, trust));
            const [first] = open;
            if (first === undefined) found(privateAddress(name), all ? [] : "", 0);
            else if (all) found(null, [...open]);
            else found(null, first.address, first.family);
          },
          (error: unknown) => found(error as NodeJS.ErrnoException, all ? [] : "", 0),
        );
      },
    });
    connect(target, callback);
  };
}

function notAllowed({ protocol, hostname }: Pick<Origin, "protocol" | "hostname">): DialError {
  return new DialError("dial.notAllowed", `${protocol}//${hostname} is not among the hosts that may be called.`);
}

/** Whoever asked is not told which address it was, nor whether anybody listens there. */
function privateAddress(name: string): DialError {
  return new DialError("dial.privateAddress", `${name} leads to no public address.`);
}

function withoutCredentials(headers: DialRequest["headers"]): DialRequest["headers"] {
  const kept = Object.entries(headers ?? {}).filter(([name]) => !/^(authorization|cookie|x-.*token)$/i.test(name));
  return Object.fromEntries(kept);
}
