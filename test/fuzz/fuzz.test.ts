/**
 * Everything that reads what strangers send, with what once found something and a few seconds of chance each. A failure prints its seed
 * and the smallest input; `npm run soak -- fuzz` goes on for as long as it is told to.
 */
import { describe, it } from "node:test";

import { fuzz, TARGETS } from "./fuzz.ts";

/** Of chance, in milliseconds; less for those that take long to start, or soon have seen much. */
const BUDGET = 3_000;
const SMALL_BUDGETS: ReadonlyMap<string, number> = new Map([
  ["a2a-postgres", 2_000],
  ["restore", 1_500],
  ["control", 1_500],
  ["jwt", 1_500],
  ["settings", 1_000],
  ["client", 2_000],
]);

const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

describe(`whatever is sent (FUZZ_SEED=${seed})`, () => {
  for (const name of TARGETS.keys()) {
    it(
      `to ${name} crashes nothing, hangs nothing, and changes nothing when it is refused`,
      { timeout: 120_000 },
      async (t) => {
        const milliseconds = SMALL_BUDGETS.get(name) ?? BUDGET;
        t.diagnostic(`${await fuzz(name, { seed, milliseconds })} inputs`);
      },
    );
  }
});
