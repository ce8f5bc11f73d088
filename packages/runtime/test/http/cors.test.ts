/** Pages of other origins: who is let in, what they may send and see. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { withCors } from "../../src/http/cors.ts";

const PAGE = "https://app.example.com";
const fetch = withCors(() => new Response("{}", { headers: { "A2A-Extensions": "x" } }), [PAGE]);

const call = async (origin: string | undefined, init: { method?: string; headers?: Record<string, string> } = {}) =>
  fetch(
    new Request("http://127.0.0.1/v1/a2a/agents/echo/", {
      ...init,
      headers: { ...init.headers, ...(origin !== undefined && { Origin: origin }) },
    }),
  );
const preflight = (origin: string) =>
  call(origin, {
    method: "OPTIONS",
    headers: { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "a2a-version" },
  });

test("a page of a listed origin may send what A2A needs, and see the echo", async () => {
  const asked = await preflight(PAGE);
  assert.equal(asked.status, 204);
  assert.equal(asked.headers.get("access-control-allow-origin"), PAGE);
  for (const name of ["Authorization", "Content-Type", "A2A-Version", "A2A-Extensions"]) {
    assert.ok(asked.headers.get("access-control-allow-headers")?.includes(name), name);
  }
  const answer = await call(PAGE);
  assert.equal(answer.headers.get("access-control-allow-origin"), PAGE);
  assert.match(answer.headers.get("access-control-expose-headers")!, /A2A-Extensions/);
  assert.equal(answer.headers.get("vary"), "Origin");
});

test("cookies are never part of it, and no answer is for every origin", async () => {
  for (const response of [await preflight(PAGE), await call(PAGE)]) {
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
    assert.notEqual(response.headers.get("access-control-allow-origin"), "*");
  }
});

test("origins are compared whole: no prefix, suffix, other scheme or port, and never null", async () => {
  const others = [
    "https://app.example.com.evil.com",
    "https://evil-app.example.com",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://example.com",
    "null",
    "",
  ];
  for (const origin of others) {
    for (const response of [await preflight(origin), await call(origin)]) {
      assert.equal(response.headers.get("access-control-allow-origin"), null, origin);
    }
  }
});

test("who is no page is answered as ever, and caches are told that origins differ", async () => {
  const answer = await call(undefined);
  assert.equal(answer.headers.get("access-control-allow-origin"), null);
  assert.equal(answer.headers.get("vary"), "Origin");
});

test("without origins nothing is added, and nothing is in the way", () => {
  const plain = () => new Response("{}");
  assert.equal(withCors(plain, []), plain);
});
