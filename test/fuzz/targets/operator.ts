/** The operator's routes, and every other path: methods, paths and bodies of all kinds. */
import * as fc from "fast-check";

import { latin1, near, nearBytes } from "../edit.ts";
import { checkRequest, Served } from "../served.ts";
import type { HttpInput } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

const resolutions = fc.oneof(
  fc.record({ outcome: fc.constant("completed"), value: fc.jsonValue() }),
  fc.record({ outcome: fc.constant("failed"), message: fc.string() }),
  fc.record({ outcome: fc.constant("retry") }),
  fc.record({ reason: fc.string() }),
  fc.record({ role: fc.constant("subject"), subject: fc.constant("eve") }),
  fc.record({ what: fc.constantFrom("subject", "task"), subject: fc.constant("ada"), taskId: fc.constant("@done") }),
);
const segments = fc.oneof(
  fc.constantFrom(
    "@approving",
    "@lost",
    "@done",
    "x",
    "constructor",
    "__proto__",
    "%2e%2e",
    "%00",
    "..",
    "%ff",
    "a".repeat(3_000),
  ),
  fc.webSegment({ size: "small" }),
);
const paths = fc.oneof(
  fc.constantFrom(
    "/v1/operator/effects",
    "/v1/operator/turns/held",
    "/metrics",
    "/v1/agents",
    "/health",
    "/ready",
    "/",
  ),
  fc
    .tuple(
      fc.constantFrom(
        "/v1/operator/effects/",
        "/v1/operator/turns/",
        "/v1/operator/keys/",
        "/v1/operator/",
        "/v1/",
        "/.well-known/",
        "/v1/a2a/agents/",
      ),
      segments,
      fc.constantFrom("", "/resolve", "/release", "/fail", "/", "/.well-known/agent-card.json"),
    )
    .map((parts) => parts.join("")),
  fc.webPath({ size: "small" }).map((path) => `/${path.replace(/^\/+/, "")}`),
);
const inputs = fc.record({
  method: fc.constantFrom("GET", "POST", "POST", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"),
  path: paths,
  headers: fc.record(
    {
      authorization: fc.constantFrom(
        "Bearer @operator",
        "Bearer @operator",
        "Bearer @operator",
        "Bearer @ada",
        "Basic eDp5",
        "",
      ),
      "content-type": fc.constantFrom("application/json", "application/json", "text/plain"),
      origin: fc.constantFrom("null", "https://evil.example"),
      "if-none-match": fc.string({ unit: "binary-ascii", maxLength: 20 }),
      "if-modified-since": fc.constantFrom("x", "Thu, 01 Jan 1970 00:00:00 GMT", "99999999999999999999"),
      "x-forwarded-host": fc.constant("evil.example"),
    },
    { requiredKeys: ["authorization"] },
  ),
  body: fc.oneof(
    near(resolutions).map((value) => latin1(JSON.stringify(value) ?? "")),
    nearBytes(resolutions.map((value) => latin1(JSON.stringify(value)))),
  ),
});

export const startOperator: StartTarget = async () => {
  const served = await Served.start();
  return {
    inputs,
    async check(input: Input) {
      const given = input as HttpInput;
      // Node's client sends no body with these, and says so by an error of its own.
      const { body, ...rest } = given;
      const bare = /^(GET|HEAD|TRACE|OPTIONS|DELETE)$/.test(given.method);
      if (Served.canSend(given))
        await checkRequest(served, { ...rest, body: bare ? "" : body }, ({ status }) => status >= 400);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};
