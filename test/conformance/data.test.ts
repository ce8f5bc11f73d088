/** A2A 1.0, sections 4, 5 and 9, over HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { A2A_ERRORS } from "@nylorun/protocol";
import type { Task } from "@nylorun/protocol";

import { actor, pictures } from "./agents.ts";
import { faultsOf } from "./shape.ts";
import { AT_ONCE, messageOf, serve } from "./wire.ts";
import type { Answer, Served, Wire } from "./wire.ts";

const CARD = "/v1/a2a/agents/actor/.well-known/agent-card.json";
const ALL = Object.values(await import("@nylorun/protocol").then(({ EXTENSIONS }) => EXTENSIONS)).join(", ");

describe("what is on the wire", () => {
  let served: Served;
  let ada: Wire;

  before(async () => {
    served = await serve({ agents: [actor, pictures], a2aWaitMs: 10_000 });
    ada = await served.as("ada");
  });
  after(() => served[Symbol.asyncDispose]());

  /** Tasks in every state that there is. */
  const inEveryState = async (): Promise<Task[]> => {
    const running = await ada.send("actor", "run", {
      configuration: AT_ONCE,
      message: { contextId: crypto.randomUUID() },
    });
    const { contextId } = running;
    const queued = await ada.send("actor", "Hello", { configuration: AT_ONCE, message: { contextId } });
    const tasks = [queued, await ada.until("actor", running.id, "TASK_STATE_WORKING")];
    for (const text of ["ask", "approve", "connect", "Hello", "data", "throw", "refuse", "say"]) {
      tasks.push(await ada.send("actor", text));
    }
    tasks.push(await ada.result<Task>("actor", "CancelTask", { id: running.id }));
    return tasks;
  };

  describe("objects", () => {
    // keeps: a2a-4.1-task, a2a-4.1-states, a2a-4.1-status, a2a-4.1-message, a2a-4.1-role, a2a-4.1-part, a2a-4.1-artifact
    // keeps: a2a-5.5-enums, a2a-5.7-required
    it("have the fields that they must, and no other, in every state", async () => {
      const tasks = await inEveryState();
      assert.equal(new Set(tasks.map(({ status }) => status.state)).size, 8);
      for (const task of tasks) assert.deepEqual(faultsOf("task", task), [], JSON.stringify(task));
      const headers = { "a2a-extensions": ALL };
      for (const { id } of tasks) {
        const full = await ada.result("actor", "GetTask", { id }, { headers });
        assert.deepEqual(faultsOf("task", full), [], JSON.stringify(full));
      }
      for (const text of ["Hello", "message"]) {
        const answer = await ada.result("actor", "SendMessage", { message: messageOf(text) }, { headers });
        assert.deepEqual(faultsOf("sendMessage", answer), []);
      }
      assert.deepEqual(faultsOf("listTasks", await ada.list("actor", { includeArtifacts: true })), []);
    });

    // keeps: a2a-5.5-camel-case
    it("have names in lowerCamelCase, whatever names came in", async () => {
      const names = (value: unknown): string[] =>
        typeof value === "object" && value !== null
          ? Object.entries(value).flatMap(([name, one]) => [...(Array.isArray(value) ? [] : [name]), ...names(one)])
          : [];
      const message = {
        message_id: crypto.randomUUID(),
        role: "ROLE_USER",
        parts: [{ text: "Hello", media_type: "text/plain" }],
      };
      const params = { message, configuration: { history_length: 1 } };
      const answers = [
        await ada.call("actor", "SendMessage", params),
        await ada.call("actor", "ListTasks", { include_artifacts: true }),
        await ada.get(CARD),
      ];
      for (const { body } of answers) {
        assert.equal(body.error, undefined);
        assert.deepEqual(
          names(body).filter((name) => !/^[a-z][a-zA-Z0-9]*$/.test(name)),
          [],
        );
      }
    });

    // keeps: a2a-5.6.1-utc, a2a-5.6.1-milliseconds
    it("have times in UTC with milliseconds", async () => {
      for (const { status } of await inEveryState()) {
        assert.match(status.timestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.ok(Math.abs(Date.parse(status.timestamp!) - Date.now()) < 60_000);
      }
    });

    // keeps: a2a-5.6.1-parsed
    it("are found by times in any offset and precision", async () => {
      const { id, status } = await ada.send("actor", "Hello");
      const at = new Date(status.timestamp!);
      const offset = `${new Date(at.getTime() + 3_600_000).toISOString().slice(0, -1)}+01:00`;
      const exact = status.timestamp!;
      for (const [moment, found] of [
        [exact, true],
        [offset, true],
        [exact.replace("Z", "000000Z"), true],
        [exact.replace("Z", "000001Z"), false],
        [new Date(at.getTime() + 1).toISOString(), false],
      ] as const) {
        const { tasks } = await ada.list("actor", { statusTimestampAfter: moment });
        assert.equal(
          tasks.some((task) => task.id === id),
          found,
          moment,
        );
      }
      for (const none of ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01", 7]) {
        assert.equal(await ada.code("actor", "ListTasks", { statusTimestampAfter: none }), -32602);
      }
    });

    // keeps: a2a-5.7-validated, a2a-3.3.2-validated, a2a-3.3.2-which-parameter, a2a-9.5-bad-request, a2a-14.1-validated
    it("that come in without what they must have are refused, field by field, and nothing runs", async () => {
      const { totalSize } = await ada.list("actor");
      const good = messageOf("Hello") as Record<string, unknown>;
      for (const [field, params] of [
        ["message", {}],
        ["message.messageId", { message: { ...good, messageId: undefined } }],
        ["message.messageId", { message: { ...good, messageId: "" } }],
        ["message.role", { message: { ...good, role: undefined } }],
        ["message.role", { message: { ...good, role: "user" } }],
        ["message.parts", { message: { ...good, parts: [] } }],
        ["message.parts[0]", { message: { ...good, parts: [{}] } }],
        ["message.parts[0]", { message: { ...good, parts: [{ text: "Hello", data: {} }] } }],
        ["configuration.historyLength", { message: good, configuration: { historyLength: -1 } }],
      ] as const) {
        const { status, body } = await ada.call("actor", "SendMessage", params);
        assert.deepEqual([status, body.error?.code], [200, -32602], field);
        const [violation] = body.error!.data!.find((one) => one["@type"].endsWith(".BadRequest"))!.fieldViolations!;
        assert.equal(violation?.field, field);
        assert.ok(violation.description.length > 5);
      }
      for (const method of ["GetTask", "CancelTask"]) assert.equal(await ada.code("actor", method, {}), -32602);
      assert.equal((await ada.list("actor")).totalSize, totalSize);
    });

    // keeps: a2a-5.7-unknown
    it("that come in with fields that nobody knows are taken", async () => {
      const message = messageOf("Hello", { parts: [{ text: "Hello", unknown: 1 }], unknownField: { a: [1] } });
      const params = { message, configuration: { blocking: true }, another: "one" };
      assert.equal(await ada.code("actor", "SendMessage", params), undefined);
      const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { unknown: null }, more: true };
      assert.equal((await ada.post("actor", JSON.stringify(body))).body.error, undefined);
    });
  });

  describe("JSON-RPC", () => {
    // keeps: a2a-9.1-json-rpc, a2a-9.5-object
    it("2.0 is what every answer is, of each method, result or error", async () => {
      const answers: Answer[] = [];
      for (const method of [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
        "nothing",
      ]) {
        answers.push(await ada.call("actor", method, { message: messageOf("Hello"), id: "x", taskId: "x" }));
        answers.push(await ada.call("actor", method, {}));
      }
      for (const { status, body } of answers) {
        assert.equal(status, 200);
        assert.deepEqual(faultsOf("response", body), [], JSON.stringify(body));
        assert.equal(body.id, 1);
      }
    });

    // deviates: a2a-9.1-notifications
    it("has no notifications here: a request without an id is refused, and does not run", async () => {
      const { totalSize } = await ada.list("actor");
      const params = { message: messageOf("Hello") };
      const { body } = await ada.post("actor", JSON.stringify({ jsonrpc: "2.0", method: "SendMessage", params }));
      assert.deepEqual([body.error?.code, body.id], [-32600, null]);
      assert.equal((await ada.list("actor")).totalSize, totalSize);
    });

    // keeps: a2a-9.1-content-type
    it("is application/json, there and back", async () => {
      const { headers } = await ada.call("actor", "SendMessage", { message: messageOf("Hello") });
      assert.match(headers.get("content-type")!, /^application\/json\b/);
      for (const type of ["text/plain", "application/xml", undefined]) {
        const { body } = await ada.call("actor", "ListTasks", {}, { headers: { "content-type": type } });
        assert.equal(body.error?.code, -32005, String(type));
      }
    });

    // keeps: a2a-9.1-methods
    it("calls methods by the names of A2A, and by no others", async () => {
      for (const method of ["SendMessage", "GetTask", "ListTasks", "CancelTask"]) {
        assert.notEqual(await ada.code("actor", method, {}), -32601, method);
      }
      for (const method of ["sendMessage", "message/send", "tasks/get", "Send_Message", "a2a.SendMessage", "rpc.x"]) {
        assert.equal(await ada.code("actor", method, {}), -32601, method);
      }
    });

    // keeps: a2a-9.2-headers, a2a-9.2-list, a2a-3.2.6-case-insensitive
    it("has its service parameters in headers, in whatever case, lists with commas", async () => {
      const [one, two] = ALL.split(", ") as [string, string];
      const unknown = "https://example.com/ext/v1";
      for (const [name, value] of [
        ["A2A-Extensions", `${one},${unknown}, ${two}`],
        ["a2a-extensions", `${two} ,${one}`],
        ["A2a-eXtensions", `${unknown},${one},${two},${one}`],
      ] as const) {
        const { headers, body } = await ada.call("actor", "ListTasks", {}, { headers: { [name]: value } });
        assert.equal(body.error, undefined);
        assert.deepEqual(headers.get("a2a-extensions")?.split(/,\s*/).toSorted(), [one, two].toSorted());
      }
    });

    // keeps: a2a-9.5-standard, a2a-3.3.2-payload
    it("names what is wrong with its own codes, always with a code and a message", async () => {
      const id = 1;
      for (const [body, code] of [
        ["{", -32700],
        ["[]", -32600],
        [JSON.stringify({ jsonrpc: "1.0", id, method: "ListTasks" }), -32600],
        [JSON.stringify({ jsonrpc: "2.0", id, method: "NoSuch" }), -32601],
        [JSON.stringify({ jsonrpc: "2.0", id, method: "GetTask", params: { id: 7 } }), -32602],
        [JSON.stringify({ jsonrpc: "2.0", id, method: "GetTask", params: [] }), -32602],
      ] as const) {
        const { body: answer } = await ada.post("actor", body);
        assert.equal(answer.error?.code, code, body);
        assert.ok(answer.error.message.length > 5);
      }
    });

    // keeps: a2a-5.4-codes, a2a-9.5-error-info, a2a-3.3.2-well-known
    it("carries A2A's errors with their codes and an ErrorInfo", async () => {
      const done = await ada.send("actor", "Hello");
      const many = { parts: [{ url: "https://example.com/x", mediaType: "application/zip" }] };
      const calls = {
        TaskNotFound: await ada.call("actor", "GetTask", { id: "none" }),
        TaskNotCancelable: await ada.call("actor", "CancelTask", { id: done.id }),
        PushNotificationNotSupported: await ada.call("actor", "ListTaskPushNotificationConfigs", { taskId: done.id }),
        UnsupportedOperation: await ada.call("actor", "SubscribeToTask", { id: done.id }),
        ContentTypeNotSupported: await ada.call("actor", "SendMessage", { message: messageOf("", many) }),
        VersionNotSupported: await ada.call("actor", "GetTask", { id: "x" }, { headers: { "a2a-version": "0.3" } }),
      } as const;
      for (const [kind, { body }] of Object.entries(calls)) {
        const { code } = A2A_ERRORS[kind as keyof typeof calls];
        assert.equal(body.error?.code, code, kind);
        assert.ok(code <= -32001 && code >= -32099);
        const info = body.error.data?.[0];
        assert.equal(info?.["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
        assert.equal(info.domain, "a2a-protocol.org");
        assert.equal(info.reason, kind.replaceAll(/(?<!^)[A-Z]/g, "_$&").toUpperCase());
      }
    });
  });

  describe("versions", () => {
    const code = (version: string | undefined, suffix = "/") =>
      ada.code("actor", "ListTasks", {}, { headers: { "a2a-version": version }, suffix });

    // keeps: a2a-3.6-patch, a2a-3.6-semantics
    it("are Major.Minor: a patch number makes no difference", async () => {
      for (const version of ["1.0", "1.0.0", "1.0.9"]) assert.equal(await code(version), undefined, version);
      assert.equal(await code(undefined, "/?A2A-Version=1.0"), undefined);
    });

    // keeps: a2a-3.6-unsupported
    it("that are not served are -32009, with those that are", async () => {
      for (const version of ["0.3", "0.2.5", "1.1", "2.0", "99.0"]) {
        const { body } = await ada.call("actor", "GetTask", { id: "x" }, { headers: { "a2a-version": version } });
        assert.equal(body.error?.code, -32009, version);
        assert.equal(body.error.data?.[0]?.metadata?.["supportedVersions"], "1.0");
      }
    });

    // keeps: a2a-3.6-empty
    it("that are empty or missing are 0.3, which is not served", async () => {
      assert.equal(await code(undefined), -32009);
      assert.equal(await code(""), -32009);
    });

    // keeps: a2a-3.6-no-patch
    it("have no patch number on cards and in answers", async () => {
      const { body } = await ada.get(CARD);
      const { supportedInterfaces } = body as { supportedInterfaces: { protocolVersion: string }[] };
      for (const { protocolVersion } of supportedInterfaces) assert.match(protocolVersion, /^\d+\.\d+$/);
    });
  });

  describe("the card", () => {
    // keeps: a2a-4.4-fields, a2a-8.1-available, a2a-8.3.1-protocols
    it("is there, with all that it must have", async () => {
      const { status, headers, body } = await ada.get(CARD);
      assert.equal(status, 200);
      assert.match(headers.get("content-type")!, /^application\/json\b/);
      assert.deepEqual(faultsOf("card", body), []);
    });

    // keeps: a2a-5.2-declared, a2a-5.1-same, a2a-8.3.1-accurate, profile-serves-binding
    it("declares the one binding that is served, at an address that works", async () => {
      const { body } = await ada.get(CARD);
      const { supportedInterfaces } = body as { supportedInterfaces: { url: string; protocolBinding: string }[] };
      assert.deepEqual(
        supportedInterfaces.map((one) => ({ ...one, url: "" })),
        [{ url: "", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      );
      const response = await fetch(supportedInterfaces[0]!.url, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0", authorization: `Bearer ${ada.key}` },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" }),
      });
      assert.ok("result" in ((await response.json()) as object));
    });

    // keeps: a2a-8.6.1-cache-control, a2a-8.6.1-etag, a2a-8.6.1-last-modified
    it("can be cached: a max-age, a tag and a date, each of which saves sending it again", async () => {
      const { headers } = await ada.get(CARD);
      assert.match(headers.get("cache-control")!, /\bmax-age=[1-9]\d*/);
      const [etag, modified] = [headers.get("etag")!, headers.get("last-modified")!];
      assert.match(etag, /^"[^"]+"$/);
      assert.ok(Date.parse(modified) <= Date.now());
      for (const condition of [{ "if-none-match": etag }, { "if-modified-since": modified }]) {
        const { status, text } = await ada.get(CARD, condition);
        assert.deepEqual([status, text], [304, ""]);
      }
      assert.equal((await ada.get(CARD, { "if-none-match": '"another"' })).status, 200);
    });

    // keeps: a2a-14.3-card, a2a-14.3-no-secrets, a2a-4.6-versioned
    it("is at the well-known address, and says nothing of the inside", async () => {
      await using alone = await serve({ agents: [actor] });
      const wire = await alone.as("ada");
      const { status, body, text } = await wire.get("/.well-known/agent-card.json");
      assert.equal(status, 200);
      assert.deepEqual(faultsOf("card", body), []);
      for (const secret of [wire.key, alone.runtime.home, process.cwd(), "sqlite"]) assert.ok(!text.includes(secret));
      const { capabilities } = body as { capabilities?: { extensions: { uri: string }[] } };
      for (const { uri } of capabilities!.extensions) assert.match(uri, /\/v\d+$/);
    });
  });

  describe("extensions", () => {
    // keeps: a2a-4.6-ignored, a2a-4.6-no-fallback
    it("of another version are ignored, and none takes their place", async () => {
      const other = ALL.replaceAll("/v1", "/v2");
      const { body, headers } = await ada.call(
        "actor",
        "SendMessage",
        { message: messageOf("approve") },
        { headers: { "a2a-extensions": other } },
      );
      assert.equal(headers.get("a2a-extensions"), null);
      assert.ok(!JSON.stringify(body).includes("/v1"));
    });
  });
});
