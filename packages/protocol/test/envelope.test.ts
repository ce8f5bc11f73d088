import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { A2aError, failure, parseEnvelope, success, taskNotFound } from "../src/index.ts";

const request = { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t" } };

test("an envelope gives its id, method and parameters", () => {
  assert.deepEqual(parseEnvelope({ ...request, more: true }), { id: 1, method: "GetTask", params: { id: "t" } });
  assert.equal(parseEnvelope({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" }).params, undefined);
});

test("ids are echoed exactly, 0 and the empty string too (A1)", () => {
  for (const id of [0, "", -1, 1.5, "0", Number.MAX_SAFE_INTEGER, "\ud800", "a".repeat(1000)]) {
    const read = parseEnvelope(JSON.parse(JSON.stringify({ ...request, id }))).id;
    assert.equal(JSON.stringify(success(read, {}).id), JSON.stringify(id));
    assert.equal(JSON.stringify(failure(read, taskNotFound("t")).id), JSON.stringify(id));
  }
});

test("what is no single JSON-RPC 2.0 request is -32600 (A2)", () => {
  const { id: _, ...withoutId } = request;
  const { jsonrpc: __, ...withoutVersion } = request;
  const { method: ___, ...withoutMethod } = request;
  const bodies: unknown[] = [
    [],
    [request],
    null,
    undefined,
    true,
    7,
    "GetTask",
    {},
    withoutId,
    withoutVersion,
    withoutMethod,
    { ...request, jsonrpc: "1.0" },
    { ...request, jsonrpc: 2 },
    { ...request, method: 7 },
    { ...request, method: null },
  ];
  for (const id of [null, true, false, [], [1], {}, { id: 1 }]) bodies.push({ ...request, id });
  for (const body of bodies) {
    assert.throws(
      () => parseEnvelope(body),
      (error) => error instanceof A2aError && error.code === -32600,
      JSON.stringify(body),
    );
  }
});

test("a number that cannot be echoed exactly is refused with advice", () => {
  for (const text of ["9007199254740993", "-9007199254740993", "1e400", "1e300"]) {
    assert.throws(
      () => parseEnvelope(JSON.parse(`{"jsonrpc":"2.0","method":"GetTask","id":${text}}`)),
      /as a string/,
      text,
    );
  }
});

test("any value is either an envelope or -32600", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      try {
        parseEnvelope(value);
      } catch (error) {
        assert.ok(error instanceof A2aError && error.code === -32600);
      }
    }),
  );
});

test("a failure of an unreadable request has the id null", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(failure(null, taskNotFound("t")))).id, null);
});
