/**
 * The answers of the HTTP routes. What is not JSON-RPC is `{"error": {"code", "message"}}`: `code` is stable, `message` is for
 * people.
 *
 * Headers are plain objects that are made once: the server writes such an answer in one go, without making a `Headers` of it.
 */

const JSON_TYPE = "application/json";

interface Init {
  readonly headers: Readonly<Record<string, string>>;
}

const PLAIN: Init = { headers: { "Content-Type": JSON_TYPE } };

/** How a JSON answer to a request is sent that activated these extensions: echoed on every answer, errors too (A2A 1.0, section 4.6). */
const byEcho = new Map<string, Init>();

function initOf(echo: string | undefined): Init {
  if (echo === undefined) return PLAIN;
  let init = byEcho.get(echo);
  if (init === undefined) {
    // There are as many as there are sets of extensions to activate.
    byEcho.set(echo, (init = { headers: { "Content-Type": JSON_TYPE, "A2A-Extensions": echo } }));
  }
  return init;
}

/** @param echo The value of `A2A-Extensions`; undefined: no such header. */
export function jsonText(text: string, echo?: string): Response {
  return new Response(text, initOf(echo));
}

const OWN: Init = { headers: { "Content-Type": JSON_TYPE, "Cache-Control": "no-store" } };

/** JSON that is for whoever asked: with a session's cookie for credentials, a cache in between could take it for everybody's. */
export function ownJsonText(text: string): Response {
  return new Response(text, OWN);
}

/** JSON that comes later, after white space that keeps the connection open. */
export function jsonStream(stream: ReadableStream<Uint8Array>, echo?: string): Response {
  // Proxies that collect an answer before they pass it on would collect the white space too.
  return new Response(stream, { headers: { ...initOf(echo).headers, "X-Accel-Buffering": "no" } });
}

/** Why a request gets nothing, as HTTP says it. All there are: `refusals.ts`. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** What else a program may want to know. */
  readonly details?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by what a request goes through, for whoever answers it to send. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export function refused(refusal: Refusal): Refused {
  return new Refused(refusal);
}

export function refuse({ status, code, message, details, headers }: Refusal, echo?: string): Response {
  return new Response(JSON.stringify({ error: { code, message, ...details } }), {
    status,
    headers: { ...initOf(echo).headers, ...headers },
  });
}
