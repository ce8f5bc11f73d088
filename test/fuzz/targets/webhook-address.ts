/** The addresses of webhooks: whatever is written, what is taken is on a host that the operator allows, as the one who will dial it reads it. */
import * as fc from "fast-check";

import { nearBytes } from "../edit.ts";
import { checkAnswer, HOSTS, Served } from "../served.ts";
import type { Input, StartTarget } from "../target.ts";

interface Address {
  readonly url: string;
}

const hosts = fc.constantFrom(
  "hooks.example.com",
  "HOOKS.EXAMPLE.COM",
  "hooks.example.com.",
  "a.example.org",
  "example.org",
  "evilexample.org",
  "plain.example.com:8080",
  "hooks.example.com:443",
  "hooks.example.com:8443",
  "hooks。example.com",
  "hooks.example.com@evil.example",
  "evil.example#hooks.example.com",
  "evil.example\\@hooks.example.com",
  "hooks.example.com.evil.example",
  "xn--hooks-.example.com",
  "127.0.0.1",
  "0x7f.1",
  "[::ffff:127.0.0.1]",
  "2130706433",
  "localhost",
);
const addresses = fc
  .tuple(
    fc.constantFrom(
      "https://",
      "http://",
      "HTTPS://",
      "https:",
      "https:/",
      "https:\\\\",
      "//",
      "file://",
      "javascript:",
      "ftp://",
    ),
    fc.constantFrom("", "", "", "user@", "user:pass@", "hooks.example.com@", "%68"),
    hosts,
    fc.constantFrom("", "/", "/hook?x=1", "?@evil.example", "#x", "/../..", ":", ":0", ":99999", ";evil"),
  )
  .map((parts) => parts.join(""));

export const startWebhookAddress: StartTarget = async () => {
  const served = await Served.start();
  return {
    inputs: fc.record({
      url: fc.oneof(
        addresses,
        nearBytes(addresses, 2),
        fc.webUrl({ validSchemes: ["http", "https"], withFragments: true }),
      ),
    }),
    async check(input: Input) {
      const { url } = input as Address;
      const params = { taskId: served.fill("@running"), id: "one", url };
      const answer = await served.ask({
        method: "POST",
        path: "/v1/a2a/agents/target/",
        headers: { authorization: "Bearer @ada", "content-type": "application/json", "a2a-version": "1.0" },
        body: Buffer.from(
          JSON.stringify({ jsonrpc: "2.0", id: 1, method: "CreateTaskPushNotificationConfig", params }),
        ).toString("latin1"),
      });
      checkAnswer(answer);
      const { error } = JSON.parse(answer.text) as { readonly error?: { readonly code: number } };
      if (error?.code === -32602) return;
      if (error !== undefined) throw new Error(`refused with ${error.code}: ${answer.text}`);
      if (!isAllowed(URL.parse(url))) throw new Error(`is taken: ${JSON.stringify(url)}`);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
};

/** What the operator's list says, read apart from the code that reads it. */
function isAllowed(url: URL | null): boolean {
  if (url === null || url.username !== "" || url.password !== "") return false;
  const { protocol, hostname, port } = url;
  const name = hostname.replace(/\.$/, "");
  if (protocol === "http:") return HOSTS.includes(`http://${name}:${port}`);
  if (protocol !== "https:" || port !== "") return false;
  return HOSTS.includes(name) || (name.endsWith(".example.org") && name.length > ".example.org".length);
}
