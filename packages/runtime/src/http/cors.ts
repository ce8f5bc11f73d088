/**
 * Pages of other origins (Fetch standard, "CORS protocol"). Who may call is what the operator lists: exact origins, none by default.
 * Cookies are never part of it: a page proves itself with the key that it sends.
 */

/** What A2A and progress reporting need a page to send, and to see. */
const MAY_SEND = "Authorization, Content-Type, A2A-Version, A2A-Extensions, Last-Event-ID, traceparent, tracestate";
const MAY_SEE = "A2A-Extensions, ETag, Retry-After, WWW-Authenticate";
/** How long a browser may remember it, in seconds; the longest that one of them takes is two hours. */
const MAX_AGE = "7200";

export type Fetch = (request: Request) => Response | Promise<Response>;

/** @param origins As browsers write them, such as `https://app.example.com`. Without any, nothing is added. */
export function withCors(fetch: Fetch, origins: readonly string[]): Fetch {
  if (origins.length === 0) return fetch;
  const allowed: ReadonlySet<string> = new Set(origins);
  return async (request) => {
    const origin = request.headers.get("origin");
    const isAllowed = origin !== null && allowed.has(origin);
    if (isAllowed && request.method === "OPTIONS" && request.headers.has("access-control-request-method")) {
      return new Response(null, {
        status: 204,
        headers: {
          "Access-Control-Allow-Origin": origin,
          "Access-Control-Allow-Methods": "GET, POST",
          "Access-Control-Allow-Headers": MAY_SEND,
          "Access-Control-Max-Age": MAX_AGE,
          Vary: "Origin",
        },
      });
    }
    const response = await fetch(request);
    // What a cache keeps for one origin is not what it may give to another.
    response.headers.append("Vary", "Origin");
    if (isAllowed) {
      response.headers.set("Access-Control-Allow-Origin", origin);
      response.headers.set("Access-Control-Expose-Headers", MAY_SEE);
    }
    return response;
  };
}
