/**
 * A session as credentials. A browser sends a cookie along whoever asks it to, so the cookie counts on requests of the Runtime's own
 * pages alone:
 *
 * | the request says                     | a page of ours | another one                                         |
 * |--------------------------------------|----------------|-----------------------------------------------------|
 * | `Sec-Fetch-Site` (over TLS or on this machine) | `same-origin`  | `cross-site`; `same-site` from another port; `none` |
 * | `Origin` (with every POST and DELETE) | this origin    | another one, or `null`                              |
 *
 * What it says must be right, and whatever can change something must say `Origin`. The cookie is `SameSite=Strict` besides.
 */
import type { Authenticate } from "../access/api-keys.ts";
import type { Principal } from "../access/principal.ts";
import type { Credentials, Sessions } from "../access/sessions.ts";

/** The cookie of one Runtime. */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #publicOrigin: string;

  constructor(publicUrl: string) {
    const { protocol, port, origin } = new URL(publicUrl);
    const secure = protocol === "https:";
    // Cookies know no ports: two Runtimes on one machine must not end each other's sessions.
    this.#name = secure ? "__Host-nylorun" : `nylorun-${port || "80"}`;
    this.#attributes = `; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
    this.#publicOrigin = origin;
  }

  /** The token that a request of one of our own pages brings; undefined: none, or another's request. */
  read(request: Request): string | undefined {
    const cookies = request.headers.get("cookie");
    if (cookies === null || !this.isOwn(request)) return undefined;
    for (const one of cookies.split(";")) {
      const [name, value] = one.split("=", 2);
      if (name?.trim() === this.#name) return value?.trim();
    }
    return undefined;
  }

  /** Whether a request can come from one of our own pages alone. */
  isOwn({ url, method, headers }: Request): boolean {
    const site = headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin") return false;
    const origin = headers.get("origin");
    if (origin === null) return method === "GET" || method === "HEAD";
    return origin === new URL(url).origin || origin === this.#publicOrigin;
  }

  /** `Set-Cookie` for a session. */
  keep(token: string, expiresAt: number): string {
    const seconds = Math.max(0, Math.floor((expiresAt - Date.now()) / 1000));
    return `${this.#name}=${token}; Max-Age=${seconds}${this.#attributes}`;
  }

  /** `Set-Cookie` that takes it away. */
  get drop(): string {
    return `${this.#name}=; Max-Age=0${this.#attributes}`;
  }
}

export interface SessionOptions {
  readonly authenticate: Authenticate;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
}

/** Credentials in the request come first; without any, the session's count. */
export function withSessions({ authenticate, sessions, cookie }: SessionOptions): Authenticate {
  return async (request) => {
    const principal = await authenticate(request);
    if (principal !== undefined || request.headers.has("authorization")) return principal;
    const token = cookie.read(request);
    const session = token === undefined ? undefined : await sessions.find(token);
    const bearer = session && credentialFor(request.url, session.credentials);
    return bearer === undefined ? undefined : principalOf(bearer, authenticate, request.url);
  };
}

/** Who a bearer token is of. */
export function principalOf(bearer: string, authenticate: Authenticate, url: string): Promise<Principal | undefined> {
  return authenticate(new Request(url, { headers: { authorization: `Bearer ${bearer}` } }));
}

/**
 * Who is signed in as both is an operator where only operators may, and where the page asks for everybody's (`as=operator`). Who is one
 * of them alone is that everywhere, and is told what it may not do.
 */
function credentialFor(url: string, { subject, operator }: Credentials): string | undefined {
  const { pathname, searchParams } = new URL(url);
  const isOperators = /^\/(v1\/operator(\/|$)|metrics$)/.test(pathname) || searchParams.get("as") === "operator";
  return isOperators ? (operator ?? subject) : (subject ?? operator);
}
