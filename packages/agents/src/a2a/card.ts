/**
 * Where an agent's card is, what it says, and when it is read again (A2A 1.0, sections 8.2, 8.3.2 and 8.6.2).
 */
import { A2A_VERSION } from "@nylorun/protocol";
import type { AgentCard, AgentInterface } from "@nylorun/protocol";

import { readUpTo } from "./bounded.ts";
import { A2aClientError, cut, invalidCall } from "./errors.ts";
import { networkError, request } from "./exchange.ts";
import type { ExchangeOptions } from "./exchange.ts";

const WELL_KNOWN = ".well-known/agent-card.json";
/** For a card that does not say how long it is fresh, in milliseconds. */
const FRESH_MS = 5 * 60_000;

export interface CardOptions extends ExchangeOptions {
  /** For one attempt to read it, in milliseconds. */
  readonly timeoutMs: number;
}

/** The card of one agent, as it was read last. */
export class CardSource {
  readonly #options: CardOptions;
  /** undefined: the card was handed in, and is never read. */
  #address: string | undefined;
  #card: AgentCard;
  #etag: string | undefined;
  #freshUntil = Infinity;

  private constructor(options: CardOptions, card: AgentCard) {
    this.#options = options;
    this.#card = card;
  }

  /** @throws A2aClientError `card.invalid`. */
  static of(card: AgentCard, options: CardOptions): CardSource {
    return new CardSource(options, checkCard(card, "The card"));
  }

  /**
   * Finds the card of the agent at `url`: the agent's own address, or the card's, which ends in `.json`. Below the address first;
   * else at the root of its server, if the card there is this agent's.
   *
   * @throws A2aClientError `card.notFound`, `card.invalid`, and those of the exchange.
   */
  static async find(url: string, options: CardOptions): Promise<CardSource> {
    const base = URL.parse(url);
    if (base === null || !/^https?:$/.test(base.protocol)) {
      throw invalidCall(`url must be an http or https address, such as "https://example.com/agent/"; it is "${url}".`);
    }
    if (base.pathname.endsWith(".json")) {
      const found = await read(base.href, options);
      if (found === undefined) throw noCard([base.href]);
      return CardSource.#from(found, options);
    }
    // Without the slash the last segment of the path would be replaced, not extended.
    const below = new URL(base.pathname.endsWith("/") ? base : `${base.origin}${base.pathname}/`);
    const near = new URL(WELL_KNOWN, below).href;
    const found = await read(near, options);
    if (found !== undefined) return CardSource.#from(found, options);
    const root = new URL(`/${WELL_KNOWN}`, base).href;
    if (root === near) throw noCard([near]);
    const other = await read(root, options);
    if (other === undefined || !isAt(other.card, below)) throw noCard([near, root]);
    return CardSource.#from(other, options);
  }

  static #from(found: Found, options: CardOptions): CardSource {
    const source = new CardSource(options, found.card);
    source.#take(found);
    return source;
  }

  get card(): AgentCard {
    return this.#card;
  }

  /** Where the card was read; undefined for one that was handed in. */
  get address(): string | undefined {
    return this.#address;
  }

  get isStale(): boolean {
    return Date.now() >= this.#freshUntil;
  }

  /**
   * Reads the card again, if it was read at all.
   *
   * @returns Whether it says something else now.
   * @throws A2aClientError as {@link find}.
   */
  async readAgain(): Promise<boolean> {
    if (this.#address === undefined) return false;
    const found = await read(this.#address, this.#options, this.#etag);
    if (found === undefined) throw noCard([this.#address]);
    const before = JSON.stringify(this.#card);
    this.#take(found.card === undefined ? { ...found, card: this.#card } : (found as Found));
    return JSON.stringify(this.#card) !== before;
  }

  #take({ address, card, etag, freshUntil }: Found): void {
    this.#address = address;
    this.#card = card;
    this.#etag = etag;
    this.#freshUntil = freshUntil;
  }
}

interface Found<Card = AgentCard> {
  readonly address: string;
  readonly card: Card;
  readonly etag: string | undefined;
  readonly freshUntil: number;
}

function read(address: string, options: CardOptions): Promise<Found | undefined>;
/** With an etag: a card that has not changed is undefined. */
function read(address: string, options: CardOptions, etag?: string): Promise<Found<AgentCard | undefined> | undefined>;
async function read(
  address: string,
  options: CardOptions,
  etag?: string,
): Promise<Found<AgentCard | undefined> | undefined> {
  const { maxAnswerBytes, timeoutMs } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await request(options, address, {
    headers: { Accept: "application/json", "A2A-Version": A2A_VERSION, ...(etag && { "If-None-Match": etag }) },
    signal,
  }).catch((error: unknown) => {
    throw late(error, address, timeoutMs);
  });
  const { status, headers } = response;
  const validity = { address, etag: headers.get("etag") ?? etag, freshUntil: Date.now() + freshFor(headers) };
  if (status === 304) return { ...validity, card: undefined };
  const bytes = await readUpTo(response.body, maxAnswerBytes).catch((error: unknown) => {
    throw late(networkError(error, signal), address, timeoutMs);
  });
  if (status === 404 || status === 410) return undefined;
  if (status === 401 || status === 403) {
    throw new A2aClientError("agent.unauthorized", `The card at ${address} is not shown to you (${status}).`, {
      status,
    });
  }
  if (!response.ok) {
    const code = status === 429 || status === 503 ? "agent.busy" : "agent.refused";
    throw new A2aClientError(code, `The card at ${address} is not to be had: HTTP status ${status}.`, { status });
  }
  if (bytes === undefined) {
    throw new A2aClientError("answer.tooLarge", `The card at ${address} is longer than ${maxAnswerBytes} bytes.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new A2aClientError("card.invalid", `What is at ${address} is no Agent Card: it is not JSON.`, {
      cause: error,
    });
  }
  return { ...validity, card: checkCard(value, `What is at ${address}`) };
}

function late(error: unknown, address: string, timeoutMs: number): unknown {
  if (!(error instanceof DOMException) || error.name !== "TimeoutError") return error;
  return new A2aClientError("agent.unreachable", `The card at ${address} did not come within ${timeoutMs} ms.`);
}

/** How long a card may be used without asking, in milliseconds (RFC 9111, section 5.2.2). */
function freshFor(headers: Headers): number {
  const control = headers.get("cache-control") ?? "";
  if (/\bno-(?:cache|store)\b/i.test(control)) return 0;
  const age = /\bmax-age=(\d{1,9})/i.exec(control)?.[1];
  return age === undefined ? FRESH_MS : Number(age) * 1000;
}

function checkCard(value: unknown, what: string): AgentCard {
  const card = value as Partial<AgentCard> | null | undefined;
  const wrong = (why: string): A2aClientError =>
    new A2aClientError("card.invalid", `${what} is no Agent Card: ${why}.`);
  if (typeof card !== "object" || card === null || Array.isArray(card)) throw wrong("it is no JSON object");
  if (typeof card.name !== "string") throw wrong("it has no name");
  const { supportedInterfaces } = card;
  if (!Array.isArray(supportedInterfaces) || supportedInterfaces.length === 0) {
    throw wrong("it has no supportedInterfaces, which A2A 1.0 requires");
  }
  for (const one of supportedInterfaces as readonly Partial<AgentInterface | null>[]) {
    if (typeof one?.url !== "string" || typeof one.protocolBinding !== "string") {
      throw wrong("one of its supportedInterfaces has no url or no protocolBinding");
    }
  }
  return card as AgentCard;
}

/** Whether the agent of a card is reached at an address or below. */
function isAt(card: AgentCard, base: URL): boolean {
  return card.supportedInterfaces.some(({ url }) => {
    const at = URL.parse(url);
    return at !== null && at.origin === base.origin && `${at.pathname}/`.startsWith(base.pathname);
  });
}

function noCard(addresses: readonly string[]): A2aClientError {
  return new A2aClientError(
    "card.notFound",
    `There is no Agent Card of that agent at ${addresses.join(" or at ")}. Give the agent's address, or its card's, which ends in .json.`,
  );
}

/**
 * The first of the card's interfaces that speaks A2A 1.x over a binding of ours (A2A 1.0, section 8.3.2). One without TLS is none
 * for a card that was read with it: who called an https address did not agree to have the credentials sent in the clear.
 *
 * @param bindings Names of those, in any case.
 * @param address Where the card was read, if it was.
 * @throws A2aClientError `card.unsupported`, `card.invalid`.
 */
export function chooseInterface(
  card: AgentCard,
  bindings: readonly string[],
  address: string | undefined,
): AgentInterface {
  const known = new Set(bindings.map((name) => name.toUpperCase()));
  const spoken = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      known.has(protocolBinding.toUpperCase()) && /^(?:1(?:\.\d+)*)?$/.test(protocolVersion ?? ""),
  );
  const chosen = spoken.find(({ url }) => address?.startsWith("https:") !== true || !/^http:/i.test(url));
  if (chosen !== undefined) return chosen;
  if (spoken[0] !== undefined) {
    throw new A2aClientError(
      "card.invalid",
      `The card at ${address} names an address without TLS: ${cut(spoken[0].url, 200)}. Nothing is sent there.`,
    );
  }
  const offered = card.supportedInterfaces.map((one) => `${one.protocolBinding} ${one.protocolVersion ?? ""}`.trim());
  throw new A2aClientError(
    "card.unsupported",
    `${cut(card.name, 100)} speaks ${cut(offered.join(", "), 200)}; this client speaks A2A ${A2A_VERSION} over ${bindings.join(", ")}.`,
  );
}
