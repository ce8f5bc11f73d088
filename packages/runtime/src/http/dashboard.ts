/**
 * The dashboard's page, and its sign-in. The page is static and the same for everybody; what it shows it asks for as an ordinary
 * client, with the rights of whoever is signed in.
 *
 * | route                     | does                                                              |
 * |---------------------------|-------------------------------------------------------------------|
 * | GET /dashboard/           | the page                                                          |
 * | GET /dashboard/assets/…   | its parts, named by their content                                 |
 * | GET /dashboard/session    | who is signed in                                                  |
 * | POST /dashboard/session   | signs in, with a `key` or the `link` that a start printed         |
 * | DELETE /dashboard/session | signs out                                                         |
 */
import { Hono } from "hono";

import type { Authenticate } from "../access/api-keys.ts";
import type { Credentials, Sessions, SignInLinks } from "../access/sessions.ts";
import { refuse } from "./answer.ts";
import { Buckets } from "./buckets.ts";
import { readJson } from "./json-body.ts";
import {
  badSignIn,
  foreignPage,
  keyRefused,
  linkRefused,
  noDashboard,
  noSuchPath,
  signedOut,
  tooManySignIns,
} from "./refusals.ts";
import { principalOf } from "./session.ts";
import type { SessionCookie } from "./session.ts";

export interface DashboardFile {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The same, compressed. Default: it is sent as it is. */
  readonly gzipped?: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

/** By path below `/dashboard/`; `index.html` is the page. Undefined: it cannot be built here, and the log says why. */
export type DashboardFiles = () => Promise<ReadonlyMap<string, DashboardFile> | undefined>;

/** What the page is told of the Runtime. */
export interface DashboardFacts {
  /** Whether there are agents to call and an operator's routes; without, there is progress alone. */
  readonly agents: boolean;
  /** Where traces are looked at; `{traceId}` stands for the id. */
  readonly traceUrl?: string | undefined;
}

export interface DashboardOptions {
  readonly files: DashboardFiles;
  readonly sessions: Sessions;
  readonly links: SignInLinks;
}

export interface DashboardRoutesOptions extends DashboardOptions {
  readonly cookie: SessionCookie;
  readonly facts: DashboardFacts;
  /** Of credentials in the request itself. */
  readonly authenticate: Authenticate;
  /** Told of each sign-in, and each session, that is nobody's. */
  readonly onStranger?: () => void;
}

/**
 * No script but our own files, none in the page, none from a text (Trusted Types: only what lit writes itself); nobody else is asked for anything; no other page
 * can have this one in a frame.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types lit-html",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
} as const;

/** Of one person: so many at once, and one more a minute. Each is a row that is kept for a month. */
const SIGN_INS = 60;
const SIGN_INS_PER_SECOND = 1 / 60;
/** A key or a token, and little around it. */
const SIGN_IN_BYTES = 16 * 1024;

export function createDashboardRoutes(options: DashboardRoutesOptions): Hono {
  const { files, sessions, links, cookie, facts, authenticate, onStranger = () => {} } = options;

  const signIns = new Buckets(SIGN_INS, SIGN_INS_PER_SECOND);

  const page = async (path: string, request: Request): Promise<Response> => {
    const built = await files();
    if (built === undefined) return refuse(noDashboard);
    const file = built.get(path);
    if (file === undefined) return refuse(noSuchPath);
    // The page names its parts by their content; kept in a browser's history, it would show what a person signed out of.
    const caching = path === "index.html" ? "no-store" : "public, max-age=31536000, immutable";
    const headers = { ...HEADERS, "Content-Type": file.type, "Cache-Control": caching, Vary: "Accept-Encoding" };
    const takesGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
    return takesGzip && file.gzipped !== undefined
      ? new Response(file.gzipped, { headers: { ...headers, "Content-Encoding": "gzip" } })
      : new Response(file.body, { headers });
  };

  /** Who has these credentials; undefined: nobody, any more. */
  const personOf = async (credentials: Credentials, url: string) => {
    const holder = async (bearer: string | undefined) =>
      bearer === undefined ? undefined : principalOf(bearer, authenticate, url);
    const [subject, operator] = await Promise.all([holder(credentials.subject), holder(credentials.operator)]);
    const name = subject?.role === "subject" ? subject.subject : undefined;
    const isOperator = operator?.role === "operator";
    return name === undefined && !isOperator ? undefined : { subject: name, operator: isOperator };
  };

  const answer = (person: object, expiresAt: number | undefined, setCookie?: string): Response => {
    const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };
    const body = JSON.stringify({ ...person, expiresAt, ...facts });
    return new Response(body, { headers: { ...headers, ...(setCookie && { "Set-Cookie": setCookie }) } });
  };

  /** The credentials that a key is; undefined: it opens nothing. */
  const credentialsOf = async (key: string, url: string): Promise<Credentials | undefined> => {
    const principal = /^[!-~]+$/.test(key) ? await principalOf(key, authenticate, url) : undefined;
    return principal && { [principal.role]: key };
  };

  return (
    new Hono()
      // Relative, as is everything in the page: what stands before us may have a path of its own.
      .get("/dashboard", () => new Response(null, { status: 308, headers: { Location: "dashboard/" } }))
      .get("/dashboard/", (c) => page("index.html", c.req.raw))
      .get("/dashboard/assets/:file", (c) => page(`assets/${c.req.param("file")}`, c.req.raw))
      .get("/dashboard/session", async (c) => {
        const request = c.req.raw;
        const token = cookie.read(request);
        const session = token === undefined ? undefined : await sessions.find(token);
        const person = session && (await personOf(session.credentials, request.url));
        if (person !== undefined) return answer(person, session?.expiresAt);
        // An embedder may know people by something of its own.
        const principal = cookie.isOwn(request) ? await authenticate(request) : undefined;
        if (principal === undefined) {
          // A page asks before anybody has signed in.
          if (token !== undefined || request.headers.has("authorization")) onStranger();
          return refuse(signedOut);
        }
        const isOperator = principal.role === "operator";
        return answer({ subject: isOperator ? undefined : principal.subject, operator: isOperator }, undefined);
      })
      .post("/dashboard/session", async (c) => {
        const request = c.req.raw;
        if (!cookie.isOwn(request)) return refuse(foreignPage);
        const body = await readJson(request, SIGN_IN_BYTES);
        if ("refusal" in body) return refuse(body.refusal);
        const { key, link } = (body.value ?? {}) as { readonly key?: unknown; readonly link?: unknown };
        if ((typeof key === "string") === (typeof link === "string")) return refuse(badSignIn);
        const added =
          typeof key === "string" ? await credentialsOf(key.trim(), request.url) : links.use(link as string);
        if (added === undefined) {
          onStranger();
          return refuse(typeof key === "string" ? keyRefused : linkRefused);
        }
        const before = cookie.read(request);
        const had = before === undefined ? undefined : await sessions.find(before);
        // A second key of the other kind adds to the first. Of the same kind, it takes its place.
        const credentials = { ...had?.credentials, ...added };
        const person = await personOf(credentials, request.url);
        if (person === undefined) {
          onStranger();
          return refuse(keyRefused);
        }
        const seconds = signIns.take(JSON.stringify(person));
        if (seconds > 0) return refuse(tooManySignIns(seconds));
        // Always a new token: one that somebody planted before is worth nothing afterwards.
        const { token, expiresAt } = await sessions.begin(credentials);
        if (before !== undefined) await sessions.end(before);
        return answer(person, expiresAt, cookie.keep(token, expiresAt));
      })
      .delete("/dashboard/session", async (c) => {
        if (!cookie.isOwn(c.req.raw)) return refuse(foreignPage);
        const token = cookie.read(c.req.raw);
        if (token !== undefined) await sessions.end(token);
        return new Response(null, { status: 204, headers: { "Set-Cookie": cookie.drop } });
      })
  );
}
