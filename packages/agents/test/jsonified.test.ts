import assert from "node:assert/strict";
import { test } from "node:test";

import type { Jsonified } from "@nylorun/agents";

const throughJson = <Value>(value: Value) => JSON.parse(JSON.stringify(value)) as Jsonified<Value>;

/** Compiles only when both are the very same type. */
type Same<One, Other> =
  (<Type>() => Type extends One ? 1 : 2) extends <Type>() => Type extends Other ? 1 : 2 ? true : false;
const isSame = <One, Other>(same: Same<One, Other>) => assert.ok(same);

interface Order {
  readonly id: string;
  readonly lines: readonly { readonly sku: string; readonly count?: number }[];
}

test("the type of what comes back from an effect is that of its JSON (E4)", () => {
  const came = throughJson({
    at: new Date(0),
    where: new URL("https://example.com/"),
    tags: new Set(["a"]),
    pair: ["a", new Date(0)] as [string, Date],
    cancel: () => undefined,
    none: null,
  });
  isSame<typeof came, { at: string; where: string; tags: Record<string, never>; pair: [string, string]; none: null }>(
    true,
  );
  assert.deepEqual(came, {
    at: "1970-01-01T00:00:00.000Z",
    where: "https://example.com/",
    tags: {},
    pair: ["a", "1970-01-01T00:00:00.000Z"],
    none: null,
  });
});

test("what is JSON already keeps its type", () => {
  const order = (): Order => ({ id: "1001", lines: [{ sku: "a" }] });
  const came: Order = throughJson(order());
  assert.deepEqual(came, order());
  isSame<Jsonified<string | undefined>, string | undefined>(true);
  isSame<Jsonified<boolean>, boolean>(true);
  isSame<Jsonified<"S" | "M">, "S" | "M">(true);
  isSame<Jsonified<unknown>, unknown>(true);
  isSame<Jsonified<void>, void>(true);
});
