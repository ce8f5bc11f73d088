import assert from "node:assert/strict";
import { test } from "node:test";

import * as protocol from "../src/index.ts";
import { A2A_ERRORS, A2aError, internalError, invalidParams, taskNotFound, toJsonRpcError } from "../src/index.ts";

test("the codes are those of A2A 1.0, sections 5.4 and 9.5, and the reasons its names", () => {
  assert.deepEqual(Object.fromEntries(Object.values(A2A_ERRORS).map(({ code, reason }) => [reason, code])), {
    JSON_PARSE: -32700,
    INVALID_REQUEST: -32600,
    METHOD_NOT_FOUND: -32601,
    INVALID_PARAMS: -32602,
    INTERNAL: -32603,
    TASK_NOT_FOUND: -32001,
    TASK_NOT_CANCELABLE: -32002,
    PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
    UNSUPPORTED_OPERATION: -32004,
    CONTENT_TYPE_NOT_SUPPORTED: -32005,
    INVALID_AGENT_RESPONSE: -32006,
    EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
    EXTENSION_SUPPORT_REQUIRED: -32008,
    VERSION_NOT_SUPPORTED: -32009,
  });
});

test("each error has a constructor", () => {
  const made = [
    protocol.jsonParseError(),
    protocol.invalidRequest(),
    protocol.methodNotFound("Nothing"),
    invalidParams([]),
    internalError(),
    taskNotFound("t"),
    protocol.taskNotCancelable("t"),
    protocol.pushNotificationNotSupported(),
    protocol.unsupportedOperation("Streaming is not served."),
    protocol.contentTypeNotSupported("image/png is not taken."),
    protocol.invalidAgentResponse(),
    protocol.extendedAgentCardNotConfigured(),
    protocol.extensionSupportRequired("urn:x"),
    protocol.versionNotSupported("0.3", "1.0"),
  ];
  assert.deepEqual(
    made.map(({ kind }) => kind),
    Object.keys(A2A_ERRORS),
  );
  for (const error of made) {
    assert.ok(error instanceof A2aError);
    assert.equal(error.code, A2A_ERRORS[error.kind].code);
    assert.notEqual(error.message, "");
  }
});

test("an error is written with its ErrorInfo first, as in the example of section 9.5", () => {
  assert.deepEqual(toJsonRpcError(taskNotFound("nonexistent-task-id")), {
    code: -32001,
    message: "Task not found",
    data: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { taskId: "nonexistent-task-id" },
      },
    ],
  });
});

test("wrong parameters are listed in a BadRequest after it, the first one in the message too", () => {
  const written = toJsonRpcError(
    invalidParams([{ field: "message.parts", description: "must hold at least one part" }], "SOME_REASON"),
  );
  assert.equal(written.message, "Invalid parameters: message.parts must hold at least one part");
  assert.deepEqual(written.data, [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "SOME_REASON", domain: "a2a-protocol.org" },
    {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: "message.parts", description: "must hold at least one part" }],
    },
  ]);
});

test("an internal error shows a fixed text and the trace id, whoever made it (I10)", () => {
  const secret = "password of db-3";
  const shown = {
    code: -32603,
    message: "Internal error",
    data: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "INTERNAL",
        domain: "a2a-protocol.org",
        metadata: { traceId: "4bf92f3577b34da6a3ce929d0e0e4736" },
      },
    ],
  };
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const options = {
    message: secret,
    reason: secret,
    metadata: { traceId, secret },
    violations: [{ field: secret, description: secret }],
  };
  for (const thrown of [
    new Error(secret),
    secret,
    undefined,
    { code: 1, message: secret },
    internalError(traceId, new Error(secret)),
    new A2aError("Internal", options),
  ]) {
    assert.deepEqual(toJsonRpcError(thrown, traceId), shown);
  }
  const cause = new Error(secret);
  assert.equal(internalError(traceId, cause).cause, cause, "the log still learns why");
});

test("what the caller sent goes back cut to 200 characters", () => {
  const error = toJsonRpcError(taskNotFound("x".repeat(1_000_000)));
  assert.equal(error.data[0].metadata?.["taskId"]?.length, 200);
  assert.ok(toJsonRpcError(protocol.methodNotFound("😀".repeat(1000))).message.isWellFormed());
});
