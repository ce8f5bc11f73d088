import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { A2aError, isA2aMethod, MAX_DEPTH, MAX_PARTS, parseParams } from "../src/index.ts";
import type { A2aMethod, FieldViolation } from "../src/index.ts";

const METHODS = [
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
] as const satisfies readonly A2aMethod[];

/** Everything that A2A 1.0 lets a SendMessage say. */
const FULL = {
  tenant: "t",
  message: {
    messageId: "m-1",
    contextId: "c-1",
    taskId: "task",
    role: "ROLE_USER",
    parts: [
      { text: "Hello", mediaType: "text/markdown", filename: "a.md", metadata: { a: [1, null] } },
      { raw: "AAEC/w==", mediaType: "image/png" },
      { url: "https://example.com/a.csv" },
      { data: { deep: [1, { two: null }] } },
    ],
    metadata: { delivery: "reject" },
    extensions: ["urn:x"],
    referenceTaskIds: ["earlier"],
  },
  configuration: {
    acceptedOutputModes: ["text/plain"],
    taskPushNotificationConfig: {
      id: "p",
      url: "https://example.com/hook",
      token: "secret",
      authentication: { scheme: "Bearer", credentials: "key" },
    },
    historyLength: 0,
    returnImmediately: true,
  },
  metadata: {},
};

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "Hi" }] };

function violationsOf(method: A2aMethod, params: unknown): readonly FieldViolation[] {
  try {
    parseParams(method, params);
  } catch (error) {
    assert.ok(error instanceof A2aError, String(error));
    assert.equal(error.code, -32602);
    assert.ok(error.violations && error.violations.length > 0);
    return error.violations;
  }
  return assert.fail(`accepted: ${JSON.stringify(params)?.slice(0, 200)}`);
}

function fieldsOf(method: A2aMethod, params: unknown): readonly string[] {
  return violationsOf(method, params).map(({ field }) => field);
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** Renames the protocol's own fields to snake_case, as many of them as `choose` says. */
function renamed(value: unknown, choose: () => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, choose));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      choose() ? snakeCase(key) : key,
      key === "metadata" || key === "data" ? item : renamed(item, choose),
    ]),
  );
}

test("A2A 1.0's methods are known, and nothing else is", () => {
  for (const method of METHODS) assert.ok(isA2aMethod(method));
  for (const name of ["message/send", "sendMessage", "constructor", "__proto__", "toString", ""]) {
    assert.equal(isA2aMethod(name), false, name);
  }
});

test("a message that says everything is read as it was said", () => {
  assert.deepEqual(parseParams("SendMessage", JSON.parse(JSON.stringify(FULL))), FULL);
});

test("camelCase and snake_case read the same, in any mixture (A7)", () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (choices) => {
      const snake = renamed(FULL, () => choices.next().value as boolean);
      assert.deepEqual(parseParams("SendMessage", snake), FULL);
    }),
  );
  assert.deepEqual(parseParams("GetTask", { id: "t", history_length: 3 }), { id: "t", historyLength: 3 });
  assert.deepEqual(parseParams("ListTasks", { page_size: 1, include_artifacts: false }), {
    pageSize: 1,
    includeArtifacts: false,
  });
});

test("a field given under both of its names is refused", () => {
  assert.deepEqual(fieldsOf("SendMessage", { message: { ...message, message_id: "other" } }), ["message.messageId"]);
  assert.deepEqual(parseParams("SendMessage", { message: { ...message, message_id: null } }), { message });
});

test("unknown fields are ignored, null is absent, and so is an empty string or list", () => {
  const params = {
    message: {
      ...message,
      kind: "message",
      contextId: "",
      taskId: null,
      metadata: null,
      extensions: [],
      parts: [{ text: "Hi", raw: null, url: null, data: null, filename: "", mediaType: null, kind: "text" }],
    },
    configuration: { historyLength: null, blocking: true },
    tenant: "",
  };
  assert.deepEqual(parseParams("SendMessage", params), { message, configuration: {} });
  assert.deepEqual(parseParams("ListTasks", { status: "TASK_STATE_UNSPECIFIED", pageToken: "" }), {});
});

test("absent parameters are empty ones", () => {
  assert.deepEqual(parseParams("ListTasks", undefined), {});
  assert.deepEqual(parseParams("GetExtendedAgentCard", null), {});
  assert.deepEqual(fieldsOf("GetTask", undefined), ["id"]);
});

test("a part has exactly one of text, raw, url, data (A4)", () => {
  const send = (part: unknown) => ({ message: { ...message, parts: [{ text: "first" }, part] } });
  for (const part of [
    {},
    { mediaType: "text/plain" },
    { text: null },
    { text: "a", data: {} },
    { text: "", raw: "" },
    { url: "https://example.com/", data: 1 },
    { text: "a", raw: "AA==", url: "https://example.com/", data: false },
  ]) {
    assert.deepEqual(fieldsOf("SendMessage", send(part)), ["message.parts[1]"], JSON.stringify(part));
  }
  for (const part of [{ text: "" }, { raw: "" }, { data: null }, { data: 0 }, { data: "" }, { data: [] }]) {
    assert.deepEqual(parseParams("SendMessage", send(part)).message.parts[1], part);
  }
  assert.match(violationsOf("SendMessage", send({ text: "a", data: 1 }))[0]?.description ?? "", /text and data/);
});

test("what is wrong is named by its path", () => {
  const push = { configuration: { taskPushNotificationConfig: { url: "https://example.com/" } }, message };
  const withPush = (fields: object) => ({
    ...push,
    configuration: { taskPushNotificationConfig: { url: "https://example.com/", ...fields } },
  });
  const withMessage = (fields: object) => ({ message: { ...message, ...fields } });
  const table: readonly [unknown, string][] = [
    [7, "params"],
    ["text", "params"],
    [[], "params"],
    [{}, "message"],
    [{ message: [] }, "message"],
    [{ message: "Hi" }, "message"],
    [withMessage({ parts: undefined }), "message.parts"],
    [withMessage({ parts: [] }), "message.parts"],
    [withMessage({ parts: {} }), "message.parts"],
    [withMessage({ parts: [null] }), "message.parts[0]"],
    [withMessage({ parts: ["Hi"] }), "message.parts[0]"],
    [withMessage({ parts: [{ text: 7 }] }), "message.parts[0].text"],
    [withMessage({ parts: [{ text: "a" }, { raw: "?" }] }), "message.parts[1].raw"],
    [withMessage({ parts: [{ url: "" }] }), "message.parts[0].url"],
    [withMessage({ parts: [{ text: "a", metadata: [] }] }), "message.parts[0].metadata"],
    [withMessage({ parts: [{ text: "a", mediaType: 1 }] }), "message.parts[0].mediaType"],
    [withMessage({ messageId: undefined }), "message.messageId"],
    [withMessage({ messageId: "" }), "message.messageId"],
    [withMessage({ messageId: 7 }), "message.messageId"],
    [withMessage({ messageId: "x".repeat(257) }), "message.messageId"],
    [withMessage({ messageId: "\ud800" }), "message.messageId"],
    [withMessage({ messageId: "a\0" }), "message.messageId"],
    [withPush({ id: "a\0" }), "configuration.taskPushNotificationConfig.id"],
    [withMessage({ role: undefined }), "message.role"],
    [withMessage({ role: "ROLE_AGENT" }), "message.role"],
    [withMessage({ role: "ROLE_UNSPECIFIED" }), "message.role"],
    [withMessage({ role: "user" }), "message.role"],
    [withMessage({ role: 1 }), "message.role"],
    [withMessage({ contextId: "two words" }), "message.contextId"],
    [withMessage({ contextId: "x".repeat(201) }), "message.contextId"],
    [withMessage({ contextId: "ü" }), "message.contextId"],
    [withMessage({ contextId: 1 }), "message.contextId"],
    [withMessage({ metadata: "x" }), "message.metadata"],
    [withMessage({ metadata: [] }), "message.metadata"],
    [withMessage({ extensions: "urn:x" }), "message.extensions"],
    [withMessage({ extensions: [1] }), "message.extensions[0]"],
    [withMessage({ extensions: Array(101).fill("x") }), "message.extensions"],
    [withMessage({ referenceTaskIds: [null] }), "message.referenceTaskIds[0]"],
    [{ message, metadata: 1 }, "metadata"],
    [{ message, configuration: [] }, "configuration"],
    [{ message, configuration: { returnImmediately: "true" } }, "configuration.returnImmediately"],
    [{ message, configuration: { historyLength: -1 } }, "configuration.historyLength"],
    [{ message, configuration: { historyLength: 1.5 } }, "configuration.historyLength"],
    [{ message, configuration: { historyLength: 2 ** 31 } }, "configuration.historyLength"],
    [withPush({ url: undefined }), "configuration.taskPushNotificationConfig.url"],
    [withPush({ token: "a\r\nX: 1" }), "configuration.taskPushNotificationConfig.token"],
    [withPush({ authentication: {} }), "configuration.taskPushNotificationConfig.authentication.scheme"],
    [
      withPush({ authentication: { scheme: "Bearer", credentials: "a\nb" } }),
      "configuration.taskPushNotificationConfig.authentication.credentials",
    ],
    [
      withPush({ authentication: { scheme: "Bearer\0" } }),
      "configuration.taskPushNotificationConfig.authentication.scheme",
    ],
  ];
  for (const [params, field] of table) {
    assert.deepEqual(fieldsOf("SendMessage", params), [field], JSON.stringify(params));
  }
});

test("all that is wrong is told at once, twenty things at most", () => {
  assert.deepEqual(fieldsOf("SendMessage", { message: { parts: [{}, { text: 1 }] } }), [
    "message.messageId",
    "message.role",
    "message.parts[0]",
    "message.parts[1].text",
  ]);
  assert.equal(
    fieldsOf("SendMessage", { message: { ...message, parts: Array.from({ length: 900 }, () => ({})) } }).length,
    20,
  );
});

test("ids of tasks are not judged here: malformed and unknown are the same answer", () => {
  for (const id of ["x".repeat(10_000), "not a task", "\ud800"]) {
    assert.equal(parseParams("GetTask", { id }).id, id);
    assert.equal(parseParams("CancelTask", { id }).id, id);
  }
  for (const method of ["GetTask", "CancelTask", "SubscribeToTask"] as const) {
    assert.deepEqual(fieldsOf(method, { id: "" }), ["id"]);
    assert.deepEqual(fieldsOf(method, { id: 7 }), ["id"]);
  }
});

test("history length is 0 or more, and unset is not 0 (A22)", () => {
  assert.deepEqual(parseParams("GetTask", { id: "t" }), { id: "t" });
  assert.deepEqual(parseParams("GetTask", { id: "t", historyLength: 0 }), { id: "t", historyLength: 0 });
  // An int32 may come as a string of digits in ProtoJSON.
  assert.deepEqual(parseParams("GetTask", { id: "t", historyLength: "12" }), { id: "t", historyLength: 12 });
  for (const historyLength of [-1, 0.5, "", "a", "1e3", true, [], 2 ** 31]) {
    assert.deepEqual(fieldsOf("GetTask", { id: "t", historyLength }), ["historyLength"], String(historyLength));
  }
});

test("ListTasks takes 1-100 a page, states by name, and times", () => {
  for (const pageSize of [0, 101, -5, 1.5]) assert.deepEqual(fieldsOf("ListTasks", { pageSize }), ["pageSize"]);
  for (const pageSize of [1, 50, 100]) assert.equal(parseParams("ListTasks", { pageSize }).pageSize, pageSize);
  for (const status of ["TASK_STATE_RUNNING", "completed", 3, "constructor"]) {
    assert.deepEqual(fieldsOf("ListTasks", { status }), ["status"]);
  }
  assert.equal(parseParams("ListTasks", { status: "TASK_STATE_WORKING" }).status, "TASK_STATE_WORKING");
});

test("times are ISO 8601 and come out in UTC milliseconds, rounded up so that >= stays exact (A20)", () => {
  for (const [given, read] of [
    ["2023-10-27T10:00:00Z", "2023-10-27T10:00:00.000Z"],
    ["2023-10-27T10:00:00.123Z", "2023-10-27T10:00:00.123Z"],
    ["2023-10-27T10:00:00.1Z", "2023-10-27T10:00:00.100Z"],
    ["2023-10-27T10:00:00.123000000Z", "2023-10-27T10:00:00.123Z"],
    ["2023-10-27T10:00:00.123000001Z", "2023-10-27T10:00:00.124Z"],
    ["2023-12-31T23:59:59.9999Z", "2024-01-01T00:00:00.000Z"],
    ["2023-10-27T12:00:00+02:00", "2023-10-27T10:00:00.000Z"],
    ["2023-10-27T05:30:00-04:30", "2023-10-27T10:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ]) {
    assert.equal(parseParams("ListTasks", { statusTimestampAfter: given }).statusTimestampAfter, read);
  }
  for (const wrong of [
    "2023-10-27",
    "2023-10-27T10:00:00",
    "2023-10-27 10:00:00Z",
    "2023-02-29T00:00:00Z",
    "2023-13-01T00:00:00Z",
    "2023-10-27T24:00:00Z",
    "2023-10-27T10:60:00Z",
    "2023-10-27T10:00:00+25:00",
    "9999-12-31T23:59:59.9999Z",
    "10000-01-01T00:00:00Z",
    "yesterday",
    1698400800,
    {},
  ]) {
    assert.deepEqual(
      fieldsOf("ListTasks", { statusTimestampAfter: wrong }),
      ["statusTimestampAfter"],
      JSON.stringify(wrong),
    );
  }
});

test("raw is base64 in either alphabet, and comes out standard and padded", () => {
  const raw = (value: unknown) => ({ message: { ...message, parts: [{ raw: value }] } });
  fc.assert(
    fc.property(fc.uint8Array(), fc.constantFrom("base64", "base64url"), (array, alphabet) => {
      const bytes = Buffer.from(array);
      const read = parseParams("SendMessage", raw(bytes.toString(alphabet))).message.parts[0]?.raw;
      assert.equal(read, bytes.toString("base64"));
    }),
  );
  for (const wrong of ["a", "aaaaa", "aa=", "aa===", "a=aa", "aaaa=", "====", "aa aa", "aa\naa", "äöüß", 7, {}]) {
    assert.deepEqual(fieldsOf("SendMessage", raw(wrong)), ["message.parts[0].raw"], JSON.stringify(wrong));
  }
});

test("push config methods name their task", () => {
  assert.deepEqual(fieldsOf("CreateTaskPushNotificationConfig", { url: "https://example.com/" }), ["taskId"]);
  assert.deepEqual(fieldsOf("GetTaskPushNotificationConfig", {}), ["taskId", "id"]);
  assert.deepEqual(fieldsOf("DeleteTaskPushNotificationConfig", { taskId: "t", id: "\0" }), ["id"]);
  assert.deepEqual(parseParams("DeleteTaskPushNotificationConfig", { task_id: "t", id: "p" }), {
    taskId: "t",
    id: "p",
  });
  assert.deepEqual(parseParams("ListTaskPushNotificationConfigs", { taskId: "t", pageSize: 0 }), {
    taskId: "t",
    pageSize: 0,
  });
});

test("free-form JSON may be nested as deep as the limit, and no deeper", () => {
  const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  const data = (value: unknown) => ({ message: { ...message, parts: [{ data: value }] } });
  assert.ok(parseParams("SendMessage", data(nested(MAX_DEPTH))));
  assert.deepEqual(fieldsOf("SendMessage", data(nested(MAX_DEPTH + 1))), ["message.parts[0].data"]);
  assert.deepEqual(fieldsOf("SendMessage", data(nested(100_000))), ["message.parts[0].data"]);
  assert.deepEqual(fieldsOf("SendMessage", { message: { ...message, metadata: { a: nested(MAX_DEPTH) } } }), [
    "message.metadata",
  ]);
});

test("a million parts are refused without a look at them", () => {
  const parts = Array.from({ length: 1_000_000 }, () => ({ text: "x" }));
  const looked: unknown[] = [];
  const watched = new Proxy(parts, {
    get: (target, key) => {
      if (key !== "length") looked.push(key);
      return Reflect.get(target, key) as unknown;
    },
  });
  assert.deepEqual(fieldsOf("SendMessage", { message: { ...message, parts: watched } }), ["message.parts"]);
  assert.deepEqual(looked, []);
  assert.equal(
    parseParams("SendMessage", { message: { ...message, parts: parts.slice(0, MAX_PARTS) } }).message.parts.length,
    MAX_PARTS,
  );
});

test("keys named __proto__ pollute nothing and stay what they are in free-form JSON", () => {
  const params = JSON.parse(
    `{"message": {"messageId": "m", "role": "ROLE_USER", "__proto__": {"contextId": "c"},
      "parts": [{"data": {"__proto__": {"x": 1}}, "__proto__": {"filename": "f"}}],
      "metadata": {"__proto__": {"delivery": "reject"}, "constructor": {"prototype": {"y": 1}}}}, "__proto__": {"tenant": "t"}}`,
  ) as unknown;
  const read = parseParams("SendMessage", params);
  assert.equal(read.tenant, undefined);
  assert.equal(read.message.contextId, undefined);
  assert.equal(read.message.parts[0]?.filename, undefined);
  assert.equal(read.message.metadata?.["delivery"], undefined);
  assert.equal(JSON.stringify(read.message.parts[0]?.data), '{"__proto__":{"x":1}}');
  assert.equal(Object.keys(read.message.metadata ?? {}).join(), "__proto__,constructor");
  assert.equal(({} as Record<string, unknown>)["x"] ?? ({} as Record<string, unknown>)["y"], undefined);
});

test("the reader throws nothing but an A2aError, whatever it is given", () => {
  const names = [
    ...Object.keys(FULL),
    ...Object.keys(FULL.message),
    ...Object.keys(FULL.configuration),
    "id",
    "text",
    "raw",
    "url",
    "data",
    "status",
    "pageSize",
    "statusTimestampAfter",
  ];
  const anything = fc.oneof(
    fc.anything(),
    fc.jsonValue(),
    fc.constantFrom("ROLE_USER", "AAAA", "2023-10-27T10:00:00Z"),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      anything,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, ...names.map(snakeCase)), tie("tree")),
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...METHODS), tree, (method, params) => {
      try {
        parseParams(method, params);
      } catch (error) {
        assert.ok(error instanceof A2aError && error.code === -32602, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test("what was read reads again as the same", () => {
  const text = fc.string({ unit: "grapheme" });
  const part = fc.oneof(
    fc.record({ text, mediaType: fc.string({ minLength: 1 }) }, { requiredKeys: ["text"] }),
    fc.record({ data: fc.jsonValue(), metadata: fc.dictionary(text, fc.jsonValue()) }, { requiredKeys: ["data"] }),
    fc.record({ raw: fc.base64String(), filename: text }, { requiredKeys: ["raw"] }),
  );
  const params = fc.record({
    message: fc.record({
      messageId: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
      role: fc.constant("ROLE_USER"),
      parts: fc.array(part, { minLength: 1, maxLength: 5 }),
    }),
  });
  fc.assert(
    fc.property(params, (given) => {
      const once = parseParams("SendMessage", given);
      assert.deepEqual(parseParams("SendMessage", JSON.parse(JSON.stringify(once))), JSON.parse(JSON.stringify(once)));
    }),
  );
});
