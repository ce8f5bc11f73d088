import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";

import { generate } from "../scripts/generate.ts";
import * as protocol from "../src/index.ts";
import type { Validator } from "../src/index.ts";

const folder = join(import.meta.dirname, "../../../protocol");

interface Case {
  readonly file: string;
  readonly at: string;
  readonly validator: Validator<unknown>;
  /** Fit the schema as they stand. */
  readonly valid: readonly unknown[];
  readonly invalid: readonly unknown[];
}

/** The contract's two examples, from the page that people read. */
const examples = [...(await readFile(join(folder, "PROTOCOL.md"), "utf8")).matchAll(/```json\n([\s\S]*?)```/g)].map(
  ([, json = ""]) => JSON.parse(json) as Record<string, unknown>,
);
const [example = {}] = examples;

const file = { kind: "file", version: 1, size: 0, sha256: "0".repeat(64), path: "output.txt" };
const withPath = (path: string) => ({ ...file, path });
const steps = (length: number, step: object) => Array.from({ length }, () => step);
const open = { interactionId: "i", kind: "approval", prompt: "Refund?" };

const CASES: readonly Case[] = [
  {
    file: "schema.json",
    at: "",
    validator: protocol.isProgressEvent,
    valid: [
      ...examples,
      { ...example, stage: "", seq: 7, session_id: "s", of_a_later_version: [] },
      { ...example, stage: "😀".repeat(120) },
    ],
    invalid: [
      { ...example, proto: 2 },
      { ...example, percent: 100.1 },
      { ...example, percent: -0.1 },
      { ...example, percent: "42" },
      { ...example, eta_seconds: -1 },
      { ...example, eta_seconds: undefined },
      { ...example, stage: "x".repeat(121) },
      { ...example, stage: "😀".repeat(121) },
      { ...example, message: "x".repeat(281) },
      { ...example, status: "complete" },
      { ...example, task_id: "a/b" },
      { ...example, task_id: "x".repeat(129) },
      { ...example, timestamp: "2026-10-14T02:00:00.000+02:00" },
      { ...example, timestamp: "2026-10-14" },
      { ...example, timestamp: 1 },
    ],
  },
  {
    file: "a2a/interactions.v1.json",
    at: "#/$defs/openInteraction",
    validator: protocol.isOpenInteraction,
    valid: [open, { ...open, kind: "question", detail: { choices: [1, 2] } }, { ...open, later: 1 }],
    invalid: [
      { ...open, kind: "other" },
      { ...open, interactionId: "" },
      { ...open, prompt: undefined },
      { ...open, detail: [] },
    ],
  },
  {
    file: "a2a/interactions.v1.json",
    at: "#/$defs/interactionAnswer",
    validator: protocol.isInteractionAnswer,
    valid: [
      { interactionId: "i", approved: true },
      { interactionId: "i", approved: false, later: 1 },
      { interactionId: "i", value: null },
      { interactionId: "i", value: { any: ["JSON"] } },
    ],
    invalid: [
      { interactionId: "i" },
      { approved: true },
      { interactionId: "i", approved: "true" },
      { interactionId: "i", approved: 1 },
      { interactionId: "i", approved: null },
      { interactionId: "i", approved: true, value: true },
      { interactionId: "i", approved: "true", value: true },
      { interactionId: 7, approved: true },
      { interactionId: "", approved: true },
      "approve",
      true,
    ],
  },
  {
    file: "a2a/effects.v1.json",
    at: "",
    validator: protocol.isEffectsData,
    valid: [{ uncertain: "e1" }],
    invalid: [{}, { uncertain: "" }, { uncertain: true }, []],
  },
  {
    file: "a2a/progress.v1.json",
    at: "",
    validator: protocol.isProgressData,
    valid: [
      { steps: [{ label: "Find", state: "active", note: "" }] },
      { steps: steps(20, { label: "x".repeat(120), state: "done", note: "x".repeat(280) }) },
    ],
    invalid: [
      {},
      { steps: [] },
      { steps: steps(21, { label: "x", state: "done" }) },
      { steps: [{ label: "", state: "done" }] },
      { steps: [{ label: "x".repeat(121), state: "done" }] },
      { steps: [{ label: "x", state: "running" }] },
      { steps: [{ label: "x", state: "done", note: "x".repeat(281) }] },
    ],
  },
  {
    file: "a2a/telemetry.v1.json",
    at: "",
    validator: protocol.isTelemetryData,
    valid: [
      { steps: 0, traceId: "4bf92f3577b34da6a3ce929d0e0e4736" },
      { steps: 3, tokens: 0, costUsd: 0.004, traceId: "4bf92f3577b34da6a3ce929d0e0e4736" },
    ],
    invalid: [
      { steps: 0 },
      { steps: 1.5, traceId: "0".repeat(32) },
      { steps: 0, traceId: "4BF92F3577B34DA6A3CE929D0E0E4736" },
      { steps: 0, tokens: -1, traceId: "0".repeat(32) },
      { steps: 0, costUsd: "1", traceId: "0".repeat(32) },
    ],
  },
  {
    file: "a2a/files.v1.json",
    at: "",
    validator: protocol.isFilesData,
    valid: [file, ...["a/b/c.txt", "..a", "a..", "...", ".hidden", "ä ö/字.md"].map(withPath)],
    invalid: [
      ...["", "/x", "../x", "a/../x", "a//b", "a/", ".", "a/.", "..", "a\\b", "a\nb", "a\u0000", "x".repeat(1025)].map(
        withPath,
      ),
      { ...file, version: 0 },
      { ...file, size: -1 },
      { ...file, sha256: "A".repeat(64) },
      { ...file, kind: "link" },
    ],
  },
];

async function read(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(folder, name), "utf8")) as Record<string, unknown>;
}

const files = [...new Set(CASES.map((each) => each.file))];
const ajv = new Ajv2020({
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  validateFormats: false,
  schemas: await Promise.all(files.map(read)),
});

async function interpreted({ file: name, at }: Case): Promise<(value: unknown) => boolean> {
  const validate = ajv.getSchema(`${(await read(name))["$id"] as string}${at}`);
  assert.ok(validate);
  return (value) => validate(value) as boolean;
}

// keeps: progress-event-schema
test("the two examples of the contract are there and fit it as they stand", () => {
  assert.equal(examples.length, 2);
  for (const each of examples)
    assert.ok(protocol.isProgressEvent(each), JSON.stringify(protocol.isProgressEvent.errors));
});

test("what fits a schema is accepted and what does not is refused with a reason", () => {
  for (const { file: name, validator, valid, invalid } of CASES) {
    for (const value of valid) {
      assert.ok(validator(value), `${name}: ${JSON.stringify(value)} ${JSON.stringify(validator.errors)}`);
    }
    for (const value of [...invalid, null, undefined, 7, "", []]) {
      assert.equal(validator(value), false, `${name}: ${JSON.stringify(value)}`);
      assert.ok(validator.errors?.[0]?.message);
    }
  }
});

test("the generated validators and Ajv reading the schemas say the same", async () => {
  for (const each of CASES) {
    const validate = await interpreted(each);
    const pool = [...each.valid, ...each.invalid].filter((value) => typeof value === "object");
    const keys = [...new Set(pool.flatMap((value) => Object.keys(value ?? {})))];
    const anything = fc.oneof(fc.jsonValue(), fc.double(), fc.string({ unit: "binary" }), fc.constant(undefined));
    const change = fc.tuple(
      fc.constantFrom(...keys),
      fc.oneof(anything, fc.constantFrom(...pool.flatMap((value) => Object.values(value ?? {})))),
    );
    const changed = fc
      .tuple(fc.constantFrom(...pool), fc.array(change, { maxLength: 3 }))
      .map(([value, changes]) => Object.fromEntries([...Object.entries(value as object), ...changes]));
    fc.assert(
      fc.property(fc.oneof(changed, anything), (value) => {
        assert.equal(each.validator(value), validate(value), each.file + each.at);
      }),
      { numRuns: 500 },
    );
  }
});

/** Every schema in a schema, by its place. */
function* nodes(schema: unknown, place = "#"): Generator<[string, Record<string, unknown>]> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  const node = schema as Record<string, unknown>;
  yield [place, node];
  for (const group of ["properties", "$defs"]) {
    for (const [name, inner] of Object.entries(node[group] ?? {})) yield* nodes(inner, `${place}/${group}/${name}`);
  }
  for (const group of ["items"]) yield* nodes(node[group], `${place}/${group}`);
}

// keeps: progress-compatibility-unknown
test("each schema is JSON Schema 2020-12 with an $id of its own, describes every field, and lets unknown ones be", async () => {
  const ids = new Set<unknown>();
  for (const name of files) {
    const schema = await read(name);
    assert.equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert.match(schema["$id"] as string, /^https:\/\/docs\.nylorun\.com\/protocol\//);
    ids.add(schema["$id"]);
    for (const [place, node] of nodes(schema)) {
      if (node["$ref"] !== undefined) continue;
      assert.ok(typeof node["description"] === "string" && node["description"].length > 10, `${name}${place}`);
      if (node["properties"] !== undefined) assert.equal(node["additionalProperties"], true, `${name}${place}`);
    }
  }
  assert.equal(ids.size, files.length);
});

test("the generated files are those that the schemas give", async () => {
  const generated = await generate();
  assert.equal(generated.size, files.length + 1);
  for (const [path, content] of generated) assert.equal(await readFile(path, "utf8"), content, path);
});
