import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { EXTENSIONS } from "@nylorun/protocol";

import { echo, hello, serve } from "./served.ts";
import type { Answer } from "./served.ts";

const LIMIT = 2048;
const served = await serve({ agents: [echo], settings: { bodyBytes: LIMIT } });

interface Draft {
  headers: Record<string, string | undefined>;
  agent: string;
  request: Record<string, unknown>;
  /** What the body is made of the request by. */
  body: (request: Record<string, unknown>) => string;
}

/** What is wrong, in the order in which it is looked for: what spoils a good request, and what the answer is then. */
const faults: readonly { name: string; spoil: (draft: Draft) => void; answer: number; id?: unknown }[] = [
  { name: "credentials", spoil: (draft) => (draft.headers["authorization"] = undefined), answer: 401 },
  { name: "agent", spoil: (draft) => (draft.agent = "nobody"), answer: 404 },
  { name: "Content-Type", spoil: (draft) => (draft.headers["content-type"] = "text/plain"), answer: -32005, id: null },
  {
    name: "body size",
    spoil: (draft) => {
      const { body } = draft;
      draft.body = (request) => body(request).padEnd(LIMIT + 1);
    },
    answer: 413,
  },
  {
    name: "JSON",
    spoil: (draft) => {
      const { body } = draft;
      draft.body = (request) => body(request).replace("{", "{,");
    },
    answer: -32700,
    id: null,
  },
  { name: "envelope", spoil: (draft) => (draft.request["jsonrpc"] = "1.0"), answer: -32600, id: null },
  { name: "version", spoil: (draft) => (draft.headers["a2a-version"] = "0.3"), answer: -32009, id: "q" },
  { name: "method", spoil: (draft) => (draft.request["method"] = "message/send"), answer: -32601, id: "q" },
  { name: "parameters", spoil: (draft) => (draft.request["params"] = { message: {} }), answer: -32602, id: "q" },
];

function good(): Draft {
  return {
    headers: { "a2a-extensions": EXTENSIONS.progress },
    agent: "echo",
    request: { jsonrpc: "2.0", id: "q", method: "SendMessage", params: { message: hello() } },
    body: (request) => JSON.stringify(request),
  };
}

function post({ headers, agent, request, body }: Draft): Promise<Answer> {
  return served.post(body(request), { headers, agent });
}

function check({ status, headers, body }: Answer, { answer, id }: (typeof faults)[number]): void {
  if (answer > 0) assert.equal(status, answer);
  else assert.deepEqual([status, body.error?.code, body.id], [200, answer, id]);
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("a2a-extensions"), EXTENSIONS.progress, "echoed on errors too (A6)");
}

describe("the endpoint of an agent", () => {
  after(() => served[Symbol.asyncDispose]());

  // keeps: profile-checks-order
  describe("a request to an agent is checked in one order", () => {
    it("and runs when nothing is wrong", async () => {
      const { status, body } = await post(good());
      assert.equal(status, 200);
      assert.equal(body.id, "q");
      assert.ok(body.result);
    });

    for (const [index, first] of faults.entries()) {
      it(`: ${first.name} is answered ${first.answer}, whatever is wrong further on`, async () => {
        const before = (await served.list()).totalSize;
        const alone = good();
        first.spoil(alone);
        check(await post(alone), first);
        for (const second of faults.slice(index + 1)) {
          const both = good();
          // The one that is looked for later first, so that each spoils what is left of the other.
          second.spoil(both);
          first.spoil(both);
          check(await post(both), first);
        }
        assert.equal((await served.list()).totalSize, before, "and nothing runs");
      });
    }
  });

  describe("credentials", () => {
    it("that are missing are challenged (RFC 6750)", async () => {
      const { status, headers, body } = await served.call("ListTasks", {}, { headers: { authorization: undefined } });
      assert.equal(status, 401);
      assert.equal(headers.get("www-authenticate"), "Bearer");
      assert.equal(body.error?.code, "request.unauthenticated");
    });

    // keeps: profile-checks-unauthenticated
    it("of an operator act for no subject: 403, for every agent alike", async () => {
      for (const agent of ["echo", "nobody"]) {
        const { status, body } = await served.call("ListTasks", {}, { as: "operator", agent });
        assert.equal(status, 403);
        assert.equal(body.error?.code, "request.noSubject");
      }
    });
  });

  describe("an agent that is not there", () => {
    // keeps: profile-checks-unknown-agent
    it("is answered 404 with one body, whatever its name", async () => {
      const bodies = new Set<string>();
      for (const agent of ["nobody", "ECHO", "constructor", "__proto__", "%2e%2e%2fecho", "a".repeat(5000)]) {
        const { status, body } = await served.call("ListTasks", {}, { agent });
        assert.equal(status, 404, agent);
        bodies.add(JSON.stringify(body));
      }
      assert.equal(bodies.size, 1);
    });
  });

  describe("what goes wrong in here", () => {
    it("before a request is read is a 500 with a trace id and nothing else (I10)", async () => {
      await using broken = await serve({
        instead: () => ({ authenticate: () => Promise.reject(new Error("secret: the token service is down")) }),
      });
      const answer = await broken.call("ListTasks", {}, { headers: { "a2a-extensions": EXTENSIONS.progress } });
      assert.equal(answer.status, 500);
      assert.equal(answer.headers.get("a2a-extensions"), EXTENSIONS.progress);
      const { error } = answer.body as { error: { code: string; message: string; traceId: string } };
      assert.deepEqual(Object.keys(answer.body), ["error"]);
      assert.match(error.traceId, /^[0-9a-f]{32}$/);
      assert.deepEqual(error, { code: "internal", message: "Internal error", traceId: error.traceId });
      assert.match((broken.log[0] as { error: Error }).error.message, /token service/, "the log has the cause");
      assert.equal((broken.log[0] as { traceId: string }).traceId, error.traceId);
      const listed = await broken.get("/v1/agents");
      assert.equal(listed.status, 500);
      assert.ok(!(await listed.text()).includes("secret"));
    });

    // keeps: profile-checks-internal-error
    it("after that is -32603 with the id of the request and of its trace, and nothing else (I10)", async () => {
      await using broken = await serve({
        instead: ({ engine }) => ({
          engine: { ...engine, get: () => Promise.reject(new Error("secret: SQLITE_CORRUPT", { cause: "disk" })) },
        }),
      });
      const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
      const { status, body } = await broken.call("GetTask", { id: "x" }, { headers: { traceparent } });
      assert.equal(status, 200);
      assert.deepEqual(body, {
        jsonrpc: "2.0",
        id: 1,
        error: {
          code: -32603,
          message: "Internal error",
          data: [
            {
              "@type": "type.googleapis.com/google.rpc.ErrorInfo",
              reason: "INTERNAL",
              domain: "a2a-protocol.org",
              metadata: { traceId: "0123456789abcdef0123456789abcdef" },
            },
          ],
        },
      });
      assert.equal(broken.log.length, 1);
      const bad = await broken.call("GetTask", { id: "x" }, { headers: { traceparent: "00-zz" } });
      assert.match(bad.body.error?.data?.[0].metadata?.["traceId"] ?? "", /^[0-9a-f]{32}$/, "its own is made anew");
    });
  });

  describe("the address of an agent", () => {
    // keeps: profile-checks-slash
    it("is served with a slash at its end and without, and redirects nobody (A7)", async () => {
      for (const path of ["echo", "echo/"]) {
        const response = await served.fetch(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ListTasks" }), {
          agent: path,
        });
        assert.equal(response.status, 200, path);
        assert.equal(((await response.json()) as { id: unknown }).id, 0);
      }
    });
  });
});
