/** The gateway for an app's partners: whatever they send, what goes on goes to a listed agent, as the partner that the app says, and with nothing else. */
import { createA2aHandler } from "@nylorun/agents/a2a";
import * as fc from "fast-check";
import { decodeJwt, exportJWK, generateKeyPair } from "jose";

import { latin1, nearBytes } from "../edit.ts";
import { checkAnswer } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

interface Sent {
  readonly method: string;
  /** Below the handler's own address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One character a byte. */
  readonly body: string;
}

const PUBLIC = "https://app.example.com/a2a";
const RUNTIME = "http://127.0.0.1:6956";
const MAY_GO_ON: ReadonlySet<string> = new Set([
  "authorization",
  "content-type",
  "accept",
  "a2a-version",
  "a2a-extensions",
  "traceparent",
  "tracestate",
]);

const paths = fc.oneof(
  fc.constantFrom(
    "/who/",
    "/who",
    "/who/?A2A-Version=1.0",
    "/hidden/",
    "/who/.well-known/agent-card.json",
    "/.well-known/jwks.json",
    "/../v1/operator/keys",
    "/who/../hidden/",
    "/who%2f..%2fhidden/",
    "//who/",
    "",
  ),
  fc.string({ unit: "grapheme", maxLength: 10 }).map((text) => `/who/?A2A-Version=${encodeURIComponent(text)}`),
);
const inputs: fc.Arbitrary<Sent> = fc.record({
  method: fc.constantFrom("POST", "POST", "POST", "GET", "HEAD", "PUT", "OPTIONS"),
  path: fc.oneof(paths, nearBytes(paths.map(latin1), 2)),
  headers: fc.dictionary(
    fc.constantFrom(
      "authorization",
      "cookie",
      "x-forwarded-for",
      "x-subject",
      "host",
      "content-type",
      "a2a-version",
      "a2a-extensions",
      "traceparent",
      "if-none-match",
      "x-partner-key",
    ),
    fc.oneof(
      fc.constantFrom("ada", "Bearer x", "1.0", "application/json"),
      fc.string({ unit: "binary-ascii", maxLength: 20 }),
    ),
    { maxKeys: 5 },
  ),
  body: fc.oneof(
    fc.constant('{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'),
    fc.string({ unit: "binary", maxLength: 50 }).map(latin1),
  ),
});

export const startGateway: StartTarget = async () => {
  const wrong: string[] = [];
  const { privateKey } = await generateKeyPair("EdDSA", { extractable: true });
  const handler = await createA2aHandler({
    agents: ["who"],
    runtimeUrl: RUNTIME,
    publicUrl: PUBLIC,
    subject: (request) => (request.headers.get("x-partner-key") === "ada" ? "ada" : undefined),
    signer: {
      issuer: "https://app.example.com",
      audience: "nylorun",
      privateKey: { ...(await exportJWK(privateKey)) },
    },
    fetch: async (asked, init) => {
      const url = asked instanceof Request ? asked.url : String(asked);
      const sent = new Headers(init?.headers);
      if (init?.method === "POST") {
        if (url !== `${RUNTIME}/v1/a2a/agents/who/`) wrong.push(`goes to ${url}`);
        const { sub } = decodeJwt(sent.get("authorization")!.slice("Bearer ".length));
        if (sub !== "ada") wrong.push(`acts for ${sub}`);
        for (const name of sent.keys()) if (!MAY_GO_ON.has(name)) wrong.push(`hands on ${name}`);
        return Response.json({ jsonrpc: "2.0", id: 1, result: {} });
      }
      if (url !== `${RUNTIME}/v1/a2a/agents/who/.well-known/agent-card.json`) wrong.push(`asks ${url}`);
      return Response.json({ name: "Who", supportedInterfaces: [] });
    },
  });
  return {
    inputs,
    async check(input: Input) {
      const { method, path, headers, body } = input as Sent;
      const url = URL.parse(PUBLIC + path);
      if (url === null) return;
      let request: Request;
      try {
        request = new Request(url, {
          method,
          headers,
          ...(method === "POST" || method === "PUT" ? { body: Buffer.from(body, "latin1") } : {}),
        });
      } catch {
        return; // No server would hand such a request to a handler.
      }
      wrong.length = 0;
      const response = await handler(request);
      checkAnswer({
        status: response.status,
        type: response.headers.get("content-type") ?? "",
        text: await response.text(),
      });
      if (wrong.length > 0) throw new Error(wrong.join(", "));
    },
    async [Symbol.asyncDispose]() {},
  };
};
