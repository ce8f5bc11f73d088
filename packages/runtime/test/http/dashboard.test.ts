/** Signing in, and what a session is good for: on requests of our own pages alone. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { authenticateByApiKey, issueApiKey } from "../../src/access/api-keys.ts";
import { createSessions, SignInLinks } from "../../src/access/sessions.ts";
import type { DashboardFiles } from "../../src/http/dashboard.ts";
import { BASE, hello, serve } from "./served.ts";
import type { Served } from "./served.ts";

const text = (content: string) => new TextEncoder().encode(content);
const files: DashboardFiles = async () =>
  new Map([
    ["index.html", { body: text("<!doctype html><title>Page</title>"), type: "text/html; charset=utf-8" }],
    ["assets/a-1.js", { body: text("1"), type: "text/javascript; charset=utf-8" }],
  ]);
const OURS = { origin: BASE, "sec-fetch-site": "same-origin" } as const;

let served: Served;
let links: SignInLinks;
let key: string;
let keyId: string;
let operator: string;

before(async () => {
  links = new SignInLinks();
  served = await serve({
    instead: ({ store }) => ({
      authenticate: authenticateByApiKey(store.keys),
      dashboard: { files, links, sessions: createSessions(store.sessions, () => store.now()) },
    }),
  });
  const { keys } = served.core.store;
  ({
    key,
    record: { id: keyId },
  } = await issueApiKey(keys, { role: "subject", subject: "ada" }));
  ({ key: operator } = await issueApiKey(keys, { role: "operator" }));
});
after(() => served[Symbol.asyncDispose]());

interface Asking {
  readonly method?: string;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function ask(path: string, { method = "GET", cookie, headers = OURS, body }: Asking = {}): Promise<Response> {
  return served.app.fetch(
    new Request(`${BASE}${path}`, {
      method,
      headers: {
        ...headers,
        ...(cookie !== undefined && { cookie }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
}

const signIn = (body: unknown, rest: Asking = {}) => ask("/dashboard/session", { method: "POST", body, ...rest });

/** What a browser would send back. */
function cookieOf(response: Response): string {
  const [pair = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  return pair;
}

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
}

const message = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: hello() } };
const call = (cookie: string, headers: Readonly<Record<string, string>>) =>
  ask("/v1/a2a/agents/echo", { method: "POST", cookie, headers: { ...headers, "a2a-version": "1.0" }, body: message });

describe("the dashboard's page", () => {
  it("may run no script but its own files, and be in nobody's frame (P22)", async () => {
    const response = await ask("/dashboard/", { headers: {} });
    assert.equal(response.status, 200);
    const policy = response.headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      assert.ok(policy.split("; ").includes(rule), rule);
    }
    assert.ok(!/unsafe|nonce/.test(policy));
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.equal((await ask("/dashboard", { headers: {} })).headers.get("location"), "dashboard/");
  });

  it("keeps its parts, which are named by their content, and has no others", async () => {
    assert.match((await ask("/dashboard/assets/a-1.js")).headers.get("cache-control") ?? "", /immutable/);
    for (const path of ["b-1.js", "..%2f..%2fpackage.json", "%2e%2e/index.html", "constructor"]) {
      assert.equal((await ask(`/dashboard/assets/${path}`)).status, 404, path);
    }
  });
});

describe("signing in", () => {
  it("takes a key, and gives a cookie that no script sees and no other site sends", async () => {
    const response = await signIn({ key: ` ${key}\n` });
    assert.equal(response.status, 200);
    assert.match(
      response.headers.get("set-cookie") ?? "",
      /^nylorun-6956=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const { expiresAt, ...person } = (await response.json()) as { expiresAt: number };
    assert.deepEqual(person, { subject: "ada", operator: false, agents: true });
    assert.ok(expiresAt > Date.now());
    const cookie = cookieOf(response);
    assert.ok(!cookie.includes(key));
    assert.equal((await ask("/dashboard/session", { cookie })).status, 200);
    assert.equal((await call(cookie, OURS)).status, 200);
    assert.deepEqual(await codeOf(await ask("/v1/operator/effects", { cookie })), [403, "request.noOperator"]);
  });

  it("refuses what opens nothing", async () => {
    assert.deepEqual(await codeOf(await signIn({ key: "nyl_wrong" })), [401, "session.keyRefused"]);
    assert.deepEqual(await codeOf(await signIn({ key: "a\r\nb" })), [401, "session.keyRefused"]);
    assert.deepEqual(await codeOf(await signIn({ link: "x" })), [401, "session.linkRefused"]);
    for (const body of [{}, null, [], { key: 1 }, { key, link: "x" }]) {
      assert.deepEqual(await codeOf(await signIn(body)), [400, "request.invalid"], JSON.stringify(body));
    }
    assert.deepEqual(await codeOf(await ask("/dashboard/session")), [401, "session.none"]);
  });

  it("is not done without end with one key: each session is kept for a month", async () => {
    const { key: eves } = await issueApiKey(served.core.store.keys, { role: "subject", subject: "eve" });
    const answers: Response[] = [];
    for (let more = 0; more < 61; more++) answers.push(await signIn({ key: eves }));
    assert.deepEqual([...new Set(answers.slice(0, 60).map(({ status }) => status))], [200]);
    assert.ok(Number(answers[60]!.headers.get("retry-after")) > 0);
    assert.deepEqual(await codeOf(answers[60]!), [429, "limit.signIns"]);
    assert.equal((await signIn({ key })).status, 200, "others sign in");
  });

  it("takes a link once", async () => {
    const link = links.make({ subject: key, operator });
    const response = await signIn({ link });
    const { subject, operator: isOperator } = (await response.json()) as { subject: string; operator: boolean };
    assert.deepEqual([subject, isOperator], ["ada", true]);
    assert.deepEqual(await codeOf(await signIn({ link })), [401, "session.linkRefused"]);
  });

  it("adds an operator's key to a subject's, under a new token each time", async () => {
    const first = cookieOf(await signIn({ key }));
    const response = await signIn({ key: operator }, { cookie: first });
    const both = cookieOf(response);
    assert.notEqual(both, first);
    assert.equal((await ask("/dashboard/session", { cookie: first })).status, 401, "the token before is worth nothing");
    assert.equal((await ask("/v1/operator/effects", { cookie: both })).status, 200);
    assert.equal((await call(both, OURS)).status, 200);
    type Listed = { readonly tasks: readonly { readonly subject?: string }[] };
    let mine: Listed = { tasks: [] };
    // Progress is told a moment after the change.
    for (let tries = 0; tries < 1000 && mine.tasks.length === 0; tries++) {
      await delay(20);
      mine = (await (await ask("/v1/progress", { cookie: both })).json()) as Listed;
    }
    const all = (await (await ask("/v1/progress?as=operator", { cookie: both })).json()) as Listed;
    assert.ok(mine.tasks.length > 0 && mine.tasks.every(({ subject }) => subject === undefined));
    assert.ok(all.tasks.some(({ subject }) => subject === "ada"));
  });
});

describe("a session", () => {
  it("counts on requests of our own pages alone: not on those of other sites, other ports, or of none", async () => {
    const cookie = cookieOf(await signIn({ key }));
    for (const headers of [
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      { origin: "http://127.0.0.1:3000", "sec-fetch-site": "same-site" },
      { origin: "http://127.0.0.1:3000" },
      { origin: "https://127.0.0.1:6956" },
      { origin: "null" },
      { "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
      {},
    ]) {
      assert.equal((await call(cookie, headers)).status, 401, JSON.stringify(headers));
      assert.deepEqual(
        await codeOf(await ask("/dashboard/session", { method: "DELETE", cookie, headers })),
        [403, "request.foreignPage"],
        JSON.stringify(headers),
      );
      assert.deepEqual(await codeOf(await signIn({ key }, { headers })), [403, "request.foreignPage"]);
    }
    for (const site of ["cross-site", "same-site", "none"]) {
      assert.equal((await ask("/v1/progress", { cookie, headers: { "sec-fetch-site": site } })).status, 401, site);
    }
    assert.equal(
      (await ask("/v1/progress", { cookie, headers: {} })).status,
      200,
      "an address without TLS says nothing",
    );
    assert.equal((await call(cookie, OURS)).status, 200, "nothing of that has ended it");
  });

  it("counts less than credentials in the request itself, also when those open nothing", async () => {
    const cookie = cookieOf(await signIn({ key }));
    assert.equal((await call(cookie, { ...OURS, authorization: "Bearer nyl_wrong" })).status, 401);
    assert.equal(
      (await ask("/v1/operator/effects", { cookie, headers: { authorization: `Bearer ${operator}` } })).status,
      200,
    );
  });

  it("ends when its person signs out, everywhere that it was", async () => {
    const cookie = cookieOf(await signIn({ key }));
    const out = await ask("/dashboard/session", { method: "DELETE", cookie });
    assert.equal(out.status, 204);
    assert.match(out.headers.get("set-cookie") ?? "", /Max-Age=0/);
    assert.equal((await call(cookie, OURS)).status, 401);
    assert.equal((await ask("/dashboard/session", { cookie })).status, 401);
  });

  it("is of no use to who reads the database", async () => {
    const cookie = cookieOf(await signIn({ key }));
    const token = cookie.split("=")[1]!;
    const { store } = served.core;
    assert.equal(await store.sessions.find(token), undefined);
    const { DatabaseSync } = await import("node:sqlite");
    const { databaseOf } = await import("../../src/node/home.ts");
    using database = new DatabaseSync(databaseOf(served.folder), { readOnly: true });
    const rows = database.prepare("SELECT * FROM sessions").all() as { hash: string; sealed: Uint8Array }[];
    assert.ok(rows.length > 0);
    for (const { hash, sealed } of rows) {
      assert.notEqual(hash, token);
      assert.ok(!Buffer.from(sealed).includes(key.slice(4)) && !Buffer.from(sealed).includes("subject"));
      assert.equal((await ask("/dashboard/session", { cookie: `nylorun-6956=${hash}` })).status, 401);
    }
  });

  it("ends with its key", async () => {
    const cookie = cookieOf(await signIn({ key }));
    await served.core.store.keys.revoke(keyId);
    assert.equal((await call(cookie, OURS)).status, 401);
    assert.equal((await ask("/dashboard/session", { cookie })).status, 401);
  });
});
