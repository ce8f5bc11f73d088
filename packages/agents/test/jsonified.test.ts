import assert from "node:assert/strict";
import { test } from "node:test";

import type { Jsonified } from "@nylorun/agents";

const throughJson = <Value>(value: Value) => JSON.parse(JSON.stringify(value)) as Jsonified<Value>;

/** Whether each may stand for the other. */
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

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
  const same: Same<
    typeof came,
    { at: string; where: string; tags: Record<string, never>; pair: [string, string]; none: null }
  > = true;
  assert.ok(same);
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
  const same: readonly [
    Same<Jsonified<string | undefined>, string | undefined>,
    Same<Jsonified<boolean>, boolean>,
    Same<Jsonified<"S" | "M">, "S" | "M">,
    Same<Jsonified<unknown>, unknown>,
    Same<Jsonified<void>, void>,
  ] = [true, true, true, true, true];
  assert.ok(same.every(Boolean));
});
