/**
 * Who may call what: every route there is, with every kind of credentials. A route that is not in the table, or a row without a route, is
 * a failure, so nothing is served that nobody thought about.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { OutcomeUnknown } from "@nylorun/agents";

import { authenticateByApiKey, issueApiKey } from "../../src/access/api-keys.ts";
import { createSessions, SignInLinks } from "../../src/access/sessions.ts";
import { BASE, hello, makeAgent, serve } from "./served.ts";
import type { Served } from "./served.ts";

/** Who a route is for. */
type Audience = "everybody" | "subjects" | "operators" | "both" | "signed in";

interface Row {
  readonly audience: Audience;
  /** The path, with what stands for its parameters in their place. */
  readonly path?: (ids: Ids) => string;
  readonly body?: (ids: Ids) => object;
  /** What is answered when the caller may; default: 200. */
  readonly allowed?: number;
}

interface Ids {
  readonly task: string;
  readonly effect: string;
  readonly key: string;
}

const AGENT = "/v1/a2a/agents/:agent";
const call = { jsonrpc: "2.0", id: 1, method: "ListTasks" };

const TABLE: Readonly<Record<string, Row>> = {
  [`POST ${AGENT}`]: { audience: "subjects", body: () => call },
  [`POST ${AGENT}/`]: { audience: "subjects", body: () => call },
  [`GET ${AGENT}/.well-known/agent-card.json`]: { audience: "everybody" },
  "GET /.well-known/agent-card.json": { audience: "everybody" },
  "GET /.well-known/nylorun-card-keys.json": { audience: "everybody" },
  "GET /.well-known/nylorun-webhook-keys.json": { audience: "everybody" },
  "GET /v1/agents": { audience: "subjects" },
  // The link is the permission: it is signed, and this one is not.
  "GET /v1/files/:token": { audience: "everybody", path: () => "/v1/files/x", allowed: 403 },
  "GET /v1/files/:token/:name": { audience: "everybody", path: () => "/v1/files/x/report.csv", allowed: 403 },
  "POST /v1/progress": {
    audience: "subjects",
    body: () => ({ task_id: "a:b", percent: 1, stage: "x", status: "running" }),
  },
  "GET /v1/progress": { audience: "both" },
  "GET /v1/progress/events": { audience: "both" },
  "GET /v1/usage": { audience: "both" },
  "GET /v1/operator/effects": { audience: "operators" },
  "POST /v1/operator/effects/:id/resolve": {
    audience: "operators",
    path: ({ effect }) => `/v1/operator/effects/${effect}/resolve`,
    body: () => ({ outcome: "retry" }),
    allowed: 204,
  },
  "GET /v1/operator/queues": { audience: "operators" },
  "GET /v1/operator/usage": { audience: "operators" },
  "GET /v1/operator/keys": { audience: "operators" },
  "DELETE /v1/operator/keys/:id": {
    audience: "operators",
    path: ({ key }) => `/v1/operator/keys/${key}`,
    allowed: 204,
  },
  "GET /v1/operator/deliveries": { audience: "operators" },
  "POST /v1/operator/deliveries/:id/resend": {
    audience: "operators",
    path: () => "/v1/operator/deliveries/1/resend",
    allowed: 404,
  },
  "GET /v1/operator/turns/held": { audience: "operators" },
  "POST /v1/operator/turns/:task/release": {
    audience: "operators",
    path: ({ task }) => `/v1/operator/turns/${task}/release`,
    allowed: 409,
  },
  "POST /v1/operator/turns/:task/fail": {
    audience: "operators",
    path: ({ task }) => `/v1/operator/turns/${task}/fail`,
    body: () => ({ reason: "No." }),
    allowed: 409,
  },
  "GET /metrics": { audience: "operators" },
  "GET /health": { audience: "everybody" },
  "GET /ready": { audience: "everybody" },
  "GET /dashboard": { audience: "everybody", allowed: 308 },
  "GET /dashboard/": { audience: "everybody" },
  "GET /dashboard/assets/:file": { audience: "everybody", path: () => "/dashboard/assets/a.js" },
  "GET /dashboard/session": { audience: "signed in" },
  "POST /dashboard/session": { audience: "everybody", body: () => ({ key: "nyl_nothing" }), allowed: 401 },
  "DELETE /dashboard/session": { audience: "everybody", allowed: 204 },
};

const CALLERS = ["nobody", "nonsense", "a revoked key", "a subject", "another subject", "an operator"] as const;
type Caller = (typeof CALLERS)[number];

/** What a caller is answered; `undefined`: what whoever may is answered. */
function refusal(audience: Audience, caller: Caller): number | undefined {
  if (audience === "everybody") return undefined;
  if (caller === "nobody" || caller === "nonsense" || caller === "a revoked key") return 401;
  if (audience === "subjects" && caller === "an operator") return 403;
  if (audience === "operators" && caller !== "an operator") return 403;
  return undefined;
}

describe("who may call what (I7, A31)", () => {
  let served: Served;
  const authorization = new Map<Caller, string>();
  let ids: Ids;

  before(async () => {
    const text = (content: string) => new TextEncoder().encode(content);
    const loser = makeAgent("echo", (turn) => {
      if (turn.text !== "lose") return turn.text;
      return turn.effect("lose", () => {
        throw new OutcomeUnknown("Lost.");
      });
    });
    served = await serve({
      agents: [loser],
      instead: ({ store }) => ({
        authenticate: authenticateByApiKey(store.keys),
        dashboard: {
          files: async () =>
            new Map([
              ["index.html", { body: text("<!doctype html>"), type: "text/html" }],
              ["assets/a.js", { body: text("1"), type: "text/javascript" }],
            ]),
          links: new SignInLinks(),
          sessions: createSessions(store.sessions, () => store.now()),
        },
      }),
    });
    const { keys } = served.core.store;
    const issue = async (caller: Caller, holder: Parameters<typeof issueApiKey>[1]) => {
      const { key, record } = await issueApiKey(keys, holder);
      authorization.set(caller, `Bearer ${key}`);
      return record;
    };
    authorization.set("nonsense", `Bearer nyl_${"x".repeat(43)}`);
    await issue("a subject", { role: "subject", subject: "ada" });
    await issue("another subject", { role: "subject", subject: "bob" });
    await issue("an operator", { role: "operator" });
    const { id: revoked } = await issue("a revoked key", { role: "operator" });
    await keys.revoke(revoked);
    const { key: spare, record } = await issueApiKey(keys, { role: "subject", subject: "eve" });
    const params = { message: hello({ parts: [{ text: "lose" }] }), configuration: { returnImmediately: true } };
    const headers = { authorization: authorization.get("a subject") };
    const { task } = await served.result<{ task: { id: string } }>("SendMessage", params, { headers });
    let [lost] = await served.core.operations.lostEffects();
    for (let tries = 0; lost === undefined && tries < 1_000; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      [lost] = await served.core.operations.lostEffects();
    }
    ids = { task: task.id, effect: lost!.effectId, key: record.id };
    assert.ok(spare.startsWith("nyl_"));
  });
  after(() => served[Symbol.asyncDispose]());

  const ask = (route: string, caller: Caller, more: Readonly<Record<string, string>> = {}): Promise<Response> => {
    const [method = "", pattern = ""] = route.split(" ");
    const { path, body } = TABLE[route]!;
    const given = authorization.get(caller);
    return Promise.resolve(
      served.app.fetch(
        new Request(BASE + (path?.(ids) ?? pattern.replace(":agent", "echo")), {
          method,
          headers: {
            ...(given !== undefined && { authorization: given }),
            ...(body && { "content-type": "application/json" }),
            "a2a-version": "1.0",
            ...(pattern.startsWith("/dashboard") && { origin: BASE, "sec-fetch-site": "same-origin" }),
            ...more,
          },
          ...(body && { body: JSON.stringify(body(ids)) }),
        }),
      ),
    );
  };

  it("is decided for every route there is, and for no other", () => {
    assert.deepEqual(served.app.routes.toSorted(), Object.keys(TABLE).toSorted());
  });

  for (const [route, { audience, allowed = 200 }] of Object.entries(TABLE)) {
    it(`${route} is for ${audience}`, async () => {
      // Whoever may comes last: what it does might make another one's answer look right.
      const callers = CALLERS.toSorted(
        (one, other) => Number(refusal(audience, one) === undefined) - Number(refusal(audience, other) === undefined),
      );
      for (const caller of callers) {
        const response = await ask(route, caller);
        const expected = refusal(audience, caller) ?? allowed;
        assert.equal(response.status, expected, caller);
        if (response.status === 401 && audience !== "signed in" && audience !== "everybody") {
          assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer/);
        }
        await response.body?.cancel();
      }
    });
  }

  // deviates: a2a-13.4-log-failures
  it("is counted each time it is nobody, whatever the route, and is told to no label", async () => {
    const count = async (): Promise<number> => {
      const text = await (await ask("GET /metrics", "an operator")).text();
      return Number(/^nylorun_authentication_failures_total (\d+)$/m.exec(text)?.[1]);
    };
    for (const [route, { audience }] of Object.entries(TABLE)) {
      const signsIn = route === "POST /dashboard/session";
      for (const caller of CALLERS) {
        const counted = await count();
        const response = await ask(route, caller);
        await response.body?.cancel();
        const fails = signsIn || refusal(audience, caller) === 401;
        // A page that nobody is signed in to asks whether somebody is.
        const isQuiet = audience === "signed in" && caller === "nobody";
        assert.equal((await count()) - counted, fails && !isQuiet ? 1 : 0, `${route} by ${caller}`);
      }
    }
  });

  it("is the same for one that names somebody else in a header, a query or a body", async () => {
    const others = {
      "x-forwarded-user": "bob",
      "x-subject": "bob",
      "x-nylorun-subject": "bob",
      "x-forwarded-for": "127.0.0.1",
      cookie: "subject=bob; nylorun-6956=bob",
    };
    for (const route of ["GET /v1/progress", "GET /v1/usage", "GET /v1/agents"]) {
      const [plain, dressed] = [await ask(route, "a subject"), await ask(route, "a subject", others)];
      assert.equal(await dressed.text(), await plain.text(), route);
      assert.equal((await ask(route, "nobody", others)).status, 401, route);
    }
  });

  it("counts a session for no route when another page asks", async () => {
    const own = { origin: BASE, "sec-fetch-site": "same-origin", "content-type": "application/json" };
    let cookie = "";
    for (const caller of ["a subject", "an operator"] as const) {
      const key = authorization.get(caller)!.slice("Bearer ".length);
      const signedIn = await served.app.fetch(
        new Request(`${BASE}/dashboard/session`, {
          method: "POST",
          headers: { ...own, cookie },
          body: JSON.stringify({ key }),
        }),
      );
      assert.equal(signedIn.status, 200);
      cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
    }
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:6957" },
      { origin: "http://localhost:6956" },
      { origin: `${BASE}.evil.example` },
      { origin: BASE, "sec-fetch-site": "cross-site" },
      { origin: BASE, "sec-fetch-site": "same-site" },
      { origin: BASE, "sec-fetch-site": "none" },
    ];
    for (const [route, { audience }] of Object.entries(TABLE)) {
      const [method = ""] = route.split(" ");
      const isForm = route.endsWith("/dashboard/session") && method !== "GET";
      if (audience === "everybody" && !isForm) continue;
      for (const headers of [...foreign, ...(method === "GET" ? [] : [{ origin: "", "sec-fetch-site": "" }])]) {
        const sent = new Headers({ cookie, "content-type": "application/json", "a2a-version": "1.0" });
        for (const [name, value] of Object.entries(headers)) if (value !== "") sent.set(name, value);
        const { path, body } = TABLE[route]!;
        const at = path?.(ids) ?? route.split(" ")[1]!.replace(":agent", "echo");
        const response = await served.app.fetch(
          new Request(BASE + at, { method, headers: sent, ...(body && { body: JSON.stringify(body(ids)) }) }),
        );
        await response.body?.cancel();
        assert.ok([401, 403].includes(response.status), `${route} from ${JSON.stringify(headers)}: ${response.status}`);
      }
    }
    const asked = await served.app.fetch(new Request(`${BASE}/v1/agents`, { headers: { ...own, cookie } }));
    assert.equal(asked.status, 200, "and for our own it counts");
  });

  it("tells no subject's name, task or key in the metrics", async () => {
    await ask("GET /v1/agents", "a subject");
    const text = await (await ask("GET /metrics", "an operator")).text();
    assert.match(text, /nylorun_/);
    const words = new Set(text.match(/[\w-]+/g));
    for (const name of ["ada", "bob", "eve", ids.task, ids.effect]) assert.ok(!words.has(name), name);
    for (const bearer of authorization.values()) assert.ok(!text.includes(bearer.slice("Bearer ".length)));
  });

  it("lets no answer that is somebody's be kept by a cache", async () => {
    for (const [route, { audience }] of Object.entries(TABLE)) {
      if (!route.startsWith("GET ") || audience === "everybody") continue;
      for (const caller of CALLERS) {
        const response = await ask(route, caller);
        await response.body?.cancel();
        if (response.status === 200) assert.match(response.headers.get("cache-control") ?? "", /no-store/, route);
      }
    }
  });
});
