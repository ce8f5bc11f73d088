import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import {
  A2aError,
  activate,
  EXTENSION_URIS,
  EXTENSIONS,
  joinMetadata,
  readExtensions,
  splitMetadata,
} from "../src/index.ts";
import type { ExtensionUri } from "../src/index.ts";

const { interactions, progress, effects, files } = EXTENSIONS;

test("the five URIs are the profile's", () => {
  assert.deepEqual(
    EXTENSION_URIS,
    ["interactions", "effects", "progress", "telemetry", "files"].map(
      (name) => `https://docs.nylorun.com/a2a/${name}/v1`,
    ),
  );
});

test("exact URIs activate, others are ignored, and the echo is in the profile's order (A6)", () => {
  const { active, echo } = activate(`${progress} ,urn:other,${interactions},${interactions}`);
  assert.deepEqual([...active], [interactions, progress]);
  assert.equal(echo, `${interactions}, ${progress}`);
});

test("what is not offered, not exact or not asked for is not active, and nothing is echoed", () => {
  for (const header of [
    undefined,
    null,
    "",
    ",",
    `${progress}/`,
    progress.toUpperCase(),
    `${progress}#x`,
    "progress",
  ]) {
    assert.deepEqual(activate(header), { active: new Set(), echo: undefined }, String(header));
  }
  assert.deepEqual(activate(`${files}, ${effects}`, [effects, progress]), {
    active: new Set([effects]),
    echo: effects,
  });
});

// keeps: profile-extensions-metadata
test("data of an active extension that the message lists is read apart from the rest", () => {
  const answer = { interactionId: "i", approved: true };
  assert.deepEqual(
    readExtensions(
      { metadata: { [interactions]: answer, delivery: "reject" }, extensions: ["urn:other", interactions] },
      new Set([interactions]),
    ),
    { data: { [interactions]: answer }, metadata: { delivery: "reject" }, extensions: ["urn:other"] },
  );
});

// keeps: profile-extensions-unlisted
test("data of an active extension that the message does not list is -32602 on message.extensions", () => {
  for (const extensions of [undefined, [], [progress]]) {
    assert.throws(
      () =>
        readExtensions(
          { metadata: { [interactions]: {} }, ...(extensions && { extensions }) },
          new Set([interactions, progress]),
        ),
      (error) =>
        error instanceof A2aError && error.code === -32602 && error.violations?.[0]?.field === "message.extensions",
    );
  }
});

// keeps: profile-extensions-inactive-ignored
test("data of an inactive extension is ignored, listed or not, and does not stay in the metadata (I6)", () => {
  const metadata = { [interactions]: { approved: true }, [progress]: {}, own: 1 };
  for (const extensions of [[], [interactions, progress]]) {
    assert.deepEqual(readExtensions({ metadata, extensions }, new Set()), { metadata: { own: 1 } });
  }
  assert.deepEqual(readExtensions({ metadata: { [interactions]: 1 }, extensions: [interactions] }, new Set()), {});
});

test("nothing of an extension goes out that was not activated, and a carrier of data lists its URI", () => {
  const split = { data: { [progress]: { steps: [] }, [effects]: { uncertain: "e" } }, metadata: { own: 1 } };
  assert.deepEqual(joinMetadata(split, new Set()), { metadata: { own: 1 } });
  assert.deepEqual(joinMetadata({ ...split, extensions: ["urn:x"] }, new Set([progress])), {
    metadata: { own: 1, [progress]: { steps: [] } },
    extensions: [progress, "urn:x"],
  });
  assert.deepEqual(joinMetadata({}, new Set(EXTENSION_URIS)), {});
});

const uris = fc.subarray([...EXTENSION_URIS]);

test("splitting and joining with everything active gives back what there was; with less, only less", () => {
  const metadata = fc.dictionary(
    fc.oneof(fc.constantFrom(...EXTENSION_URIS, "__proto__", "constructor"), fc.string()),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(metadata, uris, (given, some) => {
      const copy = JSON.parse(JSON.stringify(given)) as Record<string, unknown>;
      const split = splitMetadata({ metadata: copy });
      assert.deepEqual(joinMetadata(split, new Set(EXTENSION_URIS)).metadata ?? {}, copy);
      const joined = joinMetadata(split, new Set(some)).metadata ?? {};
      for (const uri of EXTENSION_URIS) {
        assert.equal(Object.hasOwn(joined, uri), some.includes(uri) && Object.hasOwn(copy, uri), uri);
      }
    }),
  );
});

test("a metadata key named __proto__ stays a key", () => {
  const metadata = JSON.parse(`{"__proto__": {"polluted": true}, "${progress}": {}}`) as Record<string, unknown>;
  const split = splitMetadata({ metadata });
  const joined = joinMetadata(split, new Set<ExtensionUri>([progress])).metadata;
  for (const object of [split.metadata, joined]) {
    assert.ok(object && Object.hasOwn(object, "__proto__"));
    assert.equal(Object.getPrototypeOf(object), Object.prototype);
    assert.equal(object["polluted"], undefined);
  }
});
