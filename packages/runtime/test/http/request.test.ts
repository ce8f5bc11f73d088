import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { after, describe, it } from "node:test";

import { EXTENSIONS } from "@nylorun/protocol";

import { listen } from "../../src/node/listener.ts";
import { echo, hello, makeAgent, serve } from "./served.ts";
import type { Answer } from "./served.ts";

const LIMIT = 4096;
const served = await serve({
  agents: [echo, makeAgent("pictures", () => "Seen.", { inputModes: ["image/*", "text/plain"] })],
  settings: { bodyBytes: LIMIT },
});

const fieldsOf = ({ body }: Answer) =>
  (body.error?.data?.[1] as { fieldViolations?: { field: string }[] } | undefined)?.fieldViolations?.map(
    ({ field }) => field,
  );

describe("what a request holds", () => {
  after(() => served[Symbol.asyncDispose]());

  describe("the id of a request", () => {
    // keeps: profile-checks-id-echoed
    it("is echoed exactly, in results and in errors (A1)", async () => {
      for (const id of [0, "", 1, -1, 2 ** 53 - 1, 0.5, "0", "id", "日本", "a".repeat(300)]) {
        const ok = await served.post(JSON.stringify({ jsonrpc: "2.0", id, method: "ListTasks" }));
        assert.deepEqual([ok.body.id, ok.body.error], [id, undefined]);
        const wrong = await served.post(JSON.stringify({ jsonrpc: "2.0", id, method: "GetTask", params: { id: "x" } }));
        assert.deepEqual([wrong.body.id, wrong.body.error?.code], [id, -32001]);
      }
    });
  });

  describe("an envelope that is none", () => {
    const good = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: hello() } };
    const wrong: readonly unknown[] = [
      [],
      [good],
      [good, good],
      null,
      1,
      "SendMessage",
      {},
      { ...good, jsonrpc: "1.0" },
      { ...good, jsonrpc: undefined },
      { ...good, id: undefined },
      { ...good, id: null },
      { ...good, id: true },
      { ...good, id: [1] },
      { ...good, id: { n: 1 } },
      { ...good, id: 2 ** 53 },
      { ...good, method: undefined },
      { ...good, method: 7 },
    ];

    // keeps: profile-checks-envelope, profile-checks-nothing-runs
    it("is -32600 with id null, and nothing runs (A2)", async () => {
      for (const envelope of wrong) {
        const { status, body } = await served.post(JSON.stringify(envelope));
        assert.deepEqual([status, body.error?.code, body.id], [200, -32600, null], JSON.stringify(envelope));
      }
      assert.equal((await served.list()).totalSize, 0);
    });
  });

  describe("a body that is no JSON", () => {
    // keeps: profile-checks-json, profile-checks-http-200
    it("is -32700 with id null (A3)", async () => {
      for (const body of ["", " ", "{", "nonsense", '{"jsonrpc":"2.0","id":1', "{'id':1}", "\0"]) {
        const answer = await served.post(body);
        assert.deepEqual([answer.status, answer.body.error?.code, answer.body.id], [200, -32700, null], body);
      }
    });

    it("is -32700 when it is no UTF-8 either, rather than being read as something else", async () => {
      const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: hello() } });
      const [head, tail] = text.split("Hello") as [string, string];
      for (const wrong of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
        const body = Buffer.concat([Buffer.from(head), Buffer.from(wrong), Buffer.from(tail)]);
        const answer = await served.post(body);
        assert.deepEqual([answer.body.error?.code, answer.body.id], [-32700, null], String(wrong));
        assert.match(answer.body.error?.message ?? "", /UTF-8/);
      }
    });

    it("but every JSON is taken: U+FFFD, white space around it, and a byte order mark", async () => {
      const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { tenant: "\uFFFD" } });
      for (const body of [text, `\n\t ${text} \r\n`, `\uFEFF${text}`]) {
        assert.equal((await served.post(body)).body.error, undefined);
      }
    });
  });

  describe("Content-Type", () => {
    it("is application/json, with any parameters and in any case", async () => {
      for (const type of [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/json ;x",
      ]) {
        const { body } = await served.call("ListTasks", {}, { headers: { "content-type": type } });
        assert.equal(body.error, undefined, type);
      }
    });

    it("is nothing else: the type of the HTTP+JSON binding neither (A2A 9.1, 14.1.1)", async () => {
      for (const type of [
        "text/plain",
        "application/a2a+json",
        "application/jsonl",
        "application/x-www-form-urlencoded",
      ]) {
        const { body } = await served.call("ListTasks", {}, { headers: { "content-type": type } });
        assert.deepEqual([body.error?.code, body.id], [-32005, null], type);
        assert.match(body.error?.message ?? "", new RegExp(`application/json; it is ${type.replace("+", "\\+")}`));
      }
      const untyped = await served.post(new Blob(["{}"]), { headers: { "content-type": undefined } });
      assert.match(untyped.body.error?.message ?? "", /there is none/);
    });
  });

  describe("A2A-Version", () => {
    it("is 1.0, in the header or the query; what follows Major.Minor does not count (A2A 3.6)", async () => {
      for (const version of ["1.0", "1.0.7", " 1.0 "]) {
        const { body } = await served.call("ListTasks", {}, { headers: { "a2a-version": version } });
        assert.equal(body.error, undefined, version);
      }
      for (const header of [undefined, ""]) {
        const agentId = "echo?A2A-Version=1.0";
        const { body } = await served.call("ListTasks", {}, { agent: agentId, headers: { "a2a-version": header } });
        assert.equal(body.error, undefined, String(header));
      }
    });

    it("of any other kind, or none, is -32009 on every method, and says what is supported (A5)", async () => {
      for (const method of ["SendMessage", "GetTask", "CancelTask", "ListTasks", "SubscribeToTask", "message/send"]) {
        for (const version of [undefined, "", "0.3", "2.0", "1", "1.1", "v1.0", "1.0, 0.3"]) {
          const { status, body } = await served.call(method, {}, { headers: { "a2a-version": version } });
          assert.deepEqual([status, body.error?.code, body.id], [200, -32009, 1], `${method} ${version}`);
          assert.equal(body.error?.data?.[0].metadata?.["supportedVersions"], "1.0");
        }
      }
      const both = await served.call(
        "ListTasks",
        {},
        { agent: "echo?A2A-Version=1.0", headers: { "a2a-version": "0.3" } },
      );
      assert.equal(both.body.error?.code, -32009, "the header counts more than the query");
    });
  });

  describe("a method", () => {
    it("that is not A2A's is -32601, by name, in this very spelling", async () => {
      for (const method of ["", "sendMessage", "message/send", "tasks/get", "toString", "__proto__"]) {
        const { body } = await served.call(method);
        assert.deepEqual([body.error?.code, body.id], [-32601, 1], method);
        assert.ok(body.error?.message.includes(method));
      }
    });

    it("that the card does not declare is answered with the error that A2A names for it, whatever its parameters (3.3.4)", async () => {
      const expected = {
        SendStreamingMessage: -32004,
        SubscribeToTask: -32004,
        GetExtendedAgentCard: -32004,
        CreateTaskPushNotificationConfig: -32003,
        GetTaskPushNotificationConfig: -32003,
        ListTaskPushNotificationConfigs: -32003,
        DeleteTaskPushNotificationConfig: -32003,
      };
      for (const [method, code] of Object.entries(expected)) {
        for (const params of [
          undefined,
          {},
          { message: hello() },
          { taskId: "x", id: "y", url: "https://example.com" },
        ]) {
          assert.equal((await served.call(method, params)).body.error?.code, code, method);
        }
      }
      assert.equal((await served.list()).totalSize, 0, "a message sent to be streamed does not run");
    });
  });

  describe("the parts of a message", () => {
    it("are one of text, raw, url and data each, and at least one: else -32602 with the field (A4)", async () => {
      const wrong: readonly (readonly [unknown, string])[] = [
        [undefined, "message.parts"],
        [[], "message.parts"],
        [[{}], "message.parts[0]"],
        [[{ text: "a", data: 1 }], "message.parts[0]"],
        [[{ text: "a" }, { text: "b", url: "https://example.com" }], "message.parts[1]"],
        [[{ text: 5 }], "message.parts[0].text"],
        [[{ raw: "***" }], "message.parts[0].raw"],
      ];
      for (const [parts, field] of wrong) {
        const answer = await served.call("SendMessage", { message: hello({ parts: parts as never }) });
        assert.equal(answer.body.error?.code, -32602, JSON.stringify(parts));
        assert.deepEqual(fieldsOf(answer), [field]);
        assert.match(answer.body.error?.message ?? "", new RegExp(field.replaceAll(/[[\].]/g, "\\$&")));
      }
      assert.equal((await served.list()).totalSize, 0);
    });

    it("whose media type the agent does not take are -32005, with what it takes; wildcards count", async () => {
      const send = (part: object, to: string) =>
        served.call("SendMessage", { message: hello({ parts: [{ text: "a" }, part as never] }) }, { agent: to });
      for (const [part, to, taken] of [
        [{ text: "a", mediaType: "text/plain; charset=utf-8" }, "echo", true],
        [{ text: "a", mediaType: "TEXT/PLAIN" }, "echo", true],
        [{ text: "# a", mediaType: "text/markdown" }, "echo", false],
        [{ data: {} }, "echo", false],
        [{ raw: "aGk=", mediaType: "image/png" }, "echo", false],
        [{ raw: "aGk=", mediaType: "image/png" }, "pictures", true],
        [{ raw: "aGk=" }, "pictures", false],
      ] as const) {
        const { body } = await send(part, to);
        assert.equal(body.error?.code, taken ? undefined : -32005, JSON.stringify(part));
        if (!taken) assert.match(body.error?.message ?? "", /takes parts of (text\/plain|image\/\*, text\/plain)/);
      }
    });
  });

  describe("parameters", () => {
    // keeps: profile-checks-snake-case
    it("may be spelled lowerCamelCase or snake_case, and what is unknown is ignored (A7)", async () => {
      const message = {
        message_id: "snake",
        role: "ROLE_USER",
        parts: [{ text: "Hello", media_type: "text/plain", novelty: 1 }],
        context_id: "snakes",
        novelty: { deep: true },
      };
      const sent = await served.result<{ task: { id: string; contextId: string; history?: unknown } }>("SendMessage", {
        message,
        configuration: { history_length: 0, accepted_output_modes: ["image/png"] },
        tenant: "anyone",
      });
      assert.equal(sent.task.contextId, "snakes");
      assert.equal(sent.task.history, undefined);
      const got = await served.result<{ history: unknown[] }>("GetTask", { id: sent.task.id, history_length: 1 });
      assert.equal(got.history.length, 1);
    });

    it("have a historyLength from 0, and unset is all (A22)", async () => {
      const { id } = await served.send({});
      for (const historyLength of [-1, 1.5, "many", 2 ** 31, true]) {
        for (const [method, params] of [
          ["SendMessage", { message: hello(), configuration: { historyLength } }],
          ["GetTask", { id, historyLength }],
          ["ListTasks", { historyLength }],
        ] as const) {
          const answer = await served.call(method, params);
          assert.equal(answer.body.error?.code, -32602, `${method} ${historyLength}`);
          assert.match(fieldsOf(answer)?.[0] ?? "", /historyLength$/);
        }
      }
      const lengths = async (params: object) =>
        (await served.result<{ history?: unknown[] }>("GetTask", { id, ...params })).history?.length;
      assert.equal(await lengths({}), 1);
      assert.equal(await lengths({ historyLength: 0 }), undefined);
      assert.equal(await lengths({ historyLength: 5 }), 1);
    });

    it("with an inline push config are -32003 while push is off, and nothing runs", async () => {
      const { totalSize } = await served.list();
      const configuration = { taskPushNotificationConfig: { url: "https://example.com/hook" } };
      const { body } = await served.call("SendMessage", { message: hello(), configuration });
      assert.equal(body.error?.code, -32003);
      assert.equal((await served.list()).totalSize, totalSize);
    });

    it("that refer to a task which is not the caller's own are -32001, whoever's it is (I7)", async () => {
      const own = await served.send({});
      const other = await served.send({}, { as: "bob" });
      const fine = await served.send({ referenceTaskIds: [own.id] });
      assert.deepEqual(fine.history?.[0]?.referenceTaskIds, [own.id]);
      const { totalSize } = await served.list();
      const answers = new Set<string>();
      for (const id of [other.id, own.id.toLowerCase(), "nonsense", "A".repeat(22)]) {
        const { body } = await served.call("SendMessage", { message: hello({ referenceTaskIds: [own.id, id] }) });
        assert.equal(body.error?.code, -32001, id);
        answers.add(JSON.stringify(body.error).replaceAll(id, "ID"));
      }
      assert.equal(answers.size, 1, "they cannot be told apart");
      assert.equal((await served.list()).totalSize, totalSize);
    });
  });

  describe("extensions", () => {
    const { progress, telemetry, files } = EXTENSIONS;
    const echoed = async (header: string | undefined) =>
      (await served.call("ListTasks", {}, { headers: { "a2a-extensions": header } })).headers.get("a2a-extensions");

    // keeps: profile-extensions-activated, profile-extensions-echoed, profile-extensions-unknown-ignored
    it("that are offered and asked for are echoed, others ignored, none without asking (A6)", async () => {
      assert.equal(await echoed(undefined), null);
      assert.equal(await echoed(""), null);
      assert.equal(await echoed("https://example.com/x"), null);
      assert.equal(await echoed(progress), progress);
      assert.equal(await echoed(` https://example.com/x ,${progress} , ${progress}`), progress);
      assert.equal(await echoed(`${progress}/`), null, "URIs are compared exactly");
      assert.equal(await echoed(`${telemetry},${progress}`), `${progress}, ${telemetry}`);
      assert.equal(await echoed(`${files}, ${files}`), files);
    });
  });

  describe("a body that is monstrous", () => {
    it("10,000 levels deep, or with 10^6 parts, is refused without harm", async () => {
      await using big = await serve();
      const deep = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${"[".repeat(10_000)}${"]".repeat(10_000)}}]}}}`;
      assert.equal((await big.post(deep)).body.error?.code, -32602);
      const parts = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[${"{},".repeat(1e6)}{}]}}}`;
      assert.equal((await big.post(parts)).body.error?.code, -32602);
    });
  });

  // Over a socket: what a body of unknown length, or of a false one, comes to. With the platform's Request and Response, and with
  // the adapter's, which are set up for the whole process and therefore come last.
  for (const ownsProcess of [false, true])
    describe(`a body, ${ownsProcess ? "in our" : "in somebody's"} process`, () => {
      const open = async () => {
        const listener = await listen({
          host: "127.0.0.1",
          port: 0,
          fetch: served.app.fetch,
          maxConnections: 100,
          requestTimeoutMs: 120_000,
          ownsProcess,
        });
        const start = (headers: Record<string, string>): ClientRequest =>
          httpRequest(`${listener.url}/v1/a2a/agents/echo`, {
            method: "POST",
            headers: {
              "content-type": "application/json",
              "a2a-version": "1.0",
              authorization: "Bearer ada",
              ...headers,
            },
          });
        return { start, [Symbol.asyncDispose]: () => listener.closed(0) };
      };
      const answered = async (client: ClientRequest) => {
        const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
        client.on("response", resolve).on("error", reject);
        const response = await promise;
        let text = "";
        for await (const chunk of response) text += String(chunk);
        return {
          status: response.statusCode,
          body: JSON.parse(text) as Answer["body"] & { error?: { limit?: number } },
        };
      };
      const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" });

      it("up to the limit is taken, said to be so long or in chunks", async () => {
        await using server = await open();
        const whole = server.start({ "content-length": String(LIMIT) });
        whole.end(list.padEnd(LIMIT));
        assert.equal((await answered(whole)).body.error, undefined);
        const chunked = server.start({ "transfer-encoding": "chunked" });
        for (const piece of list.padEnd(LIMIT).match(/[^]{1,500}/g)!) chunked.write(piece);
        chunked.end();
        assert.equal((await answered(chunked)).body.error, undefined);
      });

      // keeps: profile-checks-size
      it("that says it is longer is refused with the limit before it is sent", async () => {
        await using server = await open();
        const client = server.start({ "content-length": String(LIMIT + 1) });
        client.flushHeaders();
        const { status, body } = await answered(client);
        assert.equal(status, 413);
        assert.deepEqual([body.error?.code, body.error?.limit], ["request.tooLarge", LIMIT]);
        client.destroy();
      });

      it("in chunks is read no further than the limit", async () => {
        await using server = await open();
        const client = server.start({ "transfer-encoding": "chunked" });
        client.write("x".repeat(LIMIT + 1));
        // It is not ended: the answer comes all the same.
        assert.equal((await answered(client)).status, 413);
        client.destroy();
      });

      it("that breaks off is nobody's error in the log", async () => {
        await using server = await open();
        for (const headers of [{ "content-length": "500" }, { "transfer-encoding": "chunked" }]) {
          const client = server.start(headers);
          const broken = new Promise((resolve) => client.on("error", resolve));
          client.write(list, () => client.destroy());
          await broken;
        }
        assert.equal((await served.call("ListTasks")).status, 200);
        assert.deepEqual(served.log, []);
      });
    });
});
