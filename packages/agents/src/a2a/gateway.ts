/**
 * A way to a Runtime's agents for an app that knows its own partners. The app says who a partner is; the Runtime is told so in a token
 * that the app signs and the Runtime is configured to trust (`jwtIssuers`). Nothing that a partner sends says who it is, or what
 * it may do: of its headers only those go on that are listed here, and its body names no subject (A2A has no place for one).
 *
 * | request                                            | answered with                                        |
 * |----------------------------------------------------|------------------------------------------------------|
 * | POST `<publicUrl>/<agent>/`                        | what the Runtime answers, echo included               |
 * | GET  `<publicUrl>/<agent>/.well-known/agent-card.json` | the agent's card, with this address in it             |
 * | GET  `<publicUrl>/.well-known/jwks.json`           | the public key, for the Runtime                       |
 */
import type { AgentCard, SecurityRequirement, SecurityScheme } from "@nylorun/protocol";
import { calculateJwkThumbprint, importJWK, SignJWT } from "jose";
import type { JWK } from "jose";

import { readUpTo } from "./bounded.ts";
import { invalidCall } from "./errors.ts";

export interface A2aHandlerOptions {
  /** The ids of the agents that partners may call. */
  readonly agents: readonly string[];
  /** Where the Runtime is, such as `http://127.0.0.1:6956`. */
  readonly runtimeUrl: string;
  /** Where partners find this handler, such as `https://app.example.com/a2a`. */
  readonly publicUrl: string;
  /**
   * Who a request comes from, once your app has authenticated it; undefined is answered with 401. 1-200 visible ASCII characters, less what
   * the Runtime puts before them. It must come from the credentials alone.
   */
  readonly subject: (request: Request, agent: string) => string | undefined | Promise<string | undefined>;
  /** How the Runtime knows this app: as `jwtIssuers` there has it. */
  readonly signer: {
    /** The token's `iss`. */
    readonly issuer: string;
    /** The token's `aud`. */
    readonly audience: string;
    /** An Ed25519, P-256 or RSA key as a JWK, the private part included. Keep it as you keep passwords. */
    readonly privateKey: Readonly<Record<string, unknown>>;
  };
  /** How partners authenticate here, for the card (A2A 1.0, section 4.5). Default: the card says nothing about it. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  readonly securityRequirements?: readonly SecurityRequirement[];
  /** `WWW-Authenticate` of a 401. Default: `Bearer`. */
  readonly challenge?: string;
  /** The largest body of a request, in bytes. Default: 8 MiB. */
  readonly maxBodyBytes?: number;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Web-standard: Hono, Next, Deno, Bun and workers take it as it is. */
export type A2aHandler = (request: Request) => Promise<Response>;

/** How long a token is good for, in seconds: as long as a request takes to arrive. */
const TOKEN_SECONDS = 60;
const MOST_BYTES = 8 * 1024 * 1024;
const CARD = ".well-known/agent-card.json";
const KEYS = ".well-known/jwks.json";

/** What of a request goes on. In particular no credentials, no cookies, and nothing that a proxy of the Runtime's might trust. */
const FORWARDED = ["content-type", "accept", "a2a-version", "a2a-extensions", "traceparent", "tracestate"];
const RETURNED = ["content-type", "a2a-extensions", "retry-after", "x-accel-buffering"];

/**
 * Makes the handler.
 *
 * @throws A2aClientError `call.invalid`.
 */
export async function createA2aHandler(options: A2aHandlerOptions): Promise<A2aHandler> {
  const { publicUrl, subject, maxBodyBytes = MOST_BYTES, challenge = "Bearer" } = options;
  const agents = new Set(options.agents);
  const base = folderUrl(publicUrl, "publicUrl");
  const runtime = folderUrl(options.runtimeUrl, "runtimeUrl");
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const signer = await createSigner(options.signer);

  async function forward(request: Request, agent: string): Promise<Response> {
    const who = await subject(request, agent);
    if (who === undefined) {
      const headers = { "WWW-Authenticate": challenge };
      return refuse({ status: 401, code: "request.unauthenticated", message: "Who you are is not known.", headers });
    }
    const body = await readUpTo(request.body, maxBodyBytes);
    if (body === undefined) {
      const message = `The body must have at most ${maxBodyBytes} bytes.`;
      return refuse({ status: 413, code: "request.tooLarge", message });
    }
    const headers = new Headers({ Authorization: `Bearer ${await signer.token(who)}` });
    for (const name of FORWARDED) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    // The version may be in the query (A2A 1.0, section 3.6.1); nothing else of that is anybody's business.
    const version = new URL(request.url).searchParams.get("A2A-Version");
    // What no header can hold is none of ours to refuse: the Runtime says so of every version that it does not serve.
    if (version !== null && !headers.has("a2a-version")) headers.set("a2a-version", encodeURI(version));
    const url = new URL(`v1/a2a/agents/${agent}/`, runtime);
    const answer = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: request.signal });
    // Our own token was refused: that is between this app and its Runtime, and no fault of the partner's.
    if (answer.status === 401 || answer.status === 403) {
      answer.body?.cancel().catch(() => undefined);
      return badGateway("The agent does not trust this gateway. Is it among the Runtime's jwtIssuers?");
    }
    return new Response(answer.body, { status: answer.status, headers: picked(answer.headers, RETURNED) });
  }

  async function card(request: Request, agent: string): Promise<Response> {
    const answer = await fetch(new URL(`v1/a2a/agents/${agent}/${CARD}`, runtime), { redirect: "manual" });
    if (answer.status === 404) return noSuchPath();
    if (!answer.ok) return badGateway(`The agent's card is not to be had: HTTP status ${answer.status}.`);
    const { securitySchemes, securityRequirements } = options;
    const {
      securitySchemes: _,
      securityRequirements: __,
      // They would be those of another text.
      signatures: ___,
      ...rest
    } = (await answer.json()) as AgentCard;
    const shown: AgentCard = {
      ...rest,
      supportedInterfaces: [
        { url: new URL(`${agent}/`, base).href, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      ],
      ...(securitySchemes && { securitySchemes }),
      ...(securityRequirements && { securityRequirements }),
    };
    const text = JSON.stringify(shown);
    const headers = {
      "Content-Type": "application/json",
      ETag: await etagOf(text),
      "Cache-Control": answer.headers.get("cache-control") ?? "max-age=60",
    };
    const isKnown = request.headers.get("if-none-match") === headers.ETag;
    return new Response(isKnown ? null : text, { status: isKnown ? 304 : 200, headers });
  }

  return async (request) => {
    const path = pathBelow(new URL(request.url).pathname, base.pathname);
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (path === undefined) return noSuchPath();
    if (path === KEYS && isRead) return signer.keys();
    const [agent = "", ...rest] = path.split("/");
    if (!agents.has(agent)) return noSuchPath();
    const below = rest.join("/");
    try {
      if (below === CARD && isRead) return await card(request, agent);
      if (below === "" && request.method === "POST") return await forward(request, agent);
    } catch (error) {
      if (request.signal.aborted) throw error;
      // A Runtime that is down is told apart from mistakes in the app's own `subject`, which are the app's to see.
      if (error instanceof TypeError) return badGateway("The agent cannot be reached.");
      throw error;
    }
    return below === "" || below === CARD ? wrongMethod(below === "" ? "POST" : "GET, HEAD") : noSuchPath();
  };
}

interface Signer {
  token(subject: string): Promise<string>;
  keys(): Response;
}

async function createSigner({ issuer, audience, privateKey }: A2aHandlerOptions["signer"]): Promise<Signer> {
  const jwk = privateKey as JWK;
  const alg = algorithmOf(jwk);
  if (alg === undefined || typeof jwk.d !== "string") {
    throw invalidCall("signer.privateKey must be a private JWK: Ed25519, P-256 or RSA.");
  }
  const key = await importJWK(jwk, alg).catch((error: unknown) => {
    throw invalidCall(`signer.privateKey cannot be used: ${(error as Error).message}`);
  });
  const kid = await calculateJwkThumbprint(jwk);
  // Of a private JWK only these are public.
  const { kty, crv, x, y, n, e } = jwk;
  const known = Object.fromEntries(Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined));
  const keys = JSON.stringify({ keys: [{ ...known, kid, alg, use: "sig" }] });
  return {
    token(subject) {
      if (!/^[!-~]{1,200}$/.test(subject)) {
        throw invalidCall("subject must return 1-200 visible ASCII characters, or undefined.");
      }
      return new SignJWT()
        .setProtectedHeader({ alg, kid, typ: "JWT" })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime(`${TOKEN_SECONDS}s`)
        .sign(key);
    },
    keys: () =>
      new Response(keys, { headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" } }),
  };
}

function algorithmOf({ kty, crv }: JWK): "EdDSA" | "ES256" | "RS256" | undefined {
  if (kty === "OKP" && crv === "Ed25519") return "EdDSA";
  if (kty === "EC" && crv === "P-256") return "ES256";
  return kty === "RSA" ? "RS256" : undefined;
}

/** An address with a slash at its end, so that what is below can be found. */
function folderUrl(text: string, name: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw invalidCall(`${name} must be an http or https address without query; it is "${text}".`);
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** Without the slash at its end; undefined: it is somewhere else. */
function pathBelow(path: string, base: string): string | undefined {
  return path.startsWith(base) ? path.slice(base.length).replace(/\/$/, "") : undefined;
}

function picked(headers: Headers, names: readonly string[]): Headers {
  const some = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) some.set(name, value);
  }
  return some;
}

async function etagOf(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `"${[...hash.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As the Runtime's own. */
function refuse({ status, code, message, headers }: Refusal): Response {
  const body = JSON.stringify({ error: { code, message } });
  return new Response(body, { status, headers: { "Content-Type": "application/json", ...headers } });
}

function noSuchPath(): Response {
  return refuse({ status: 404, code: "agent.unknown", message: "There is no such agent." });
}

function wrongMethod(allow: string): Response {
  return refuse({ status: 405, code: "request.wrongMethod", message: `Use ${allow}.`, headers: { Allow: allow } });
}

function badGateway(message: string): Response {
  return refuse({ status: 502, code: "gateway.failed", message });
}
