/**
 * Whatever happens to a turn, it comes to what it would have come to undisturbed, and does nothing twice (E1-E5, E7-E13, E15, E16,
 * E18; I4, I6): random programs, each through an ordeal of its own.
 *
 * `TURNS_SEED` repeats a run's chances, `TURNS_RUNS` sets how many programs there are.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { fates, undergo } from "./ordeal.ts";
import type { Told } from "./ordeal.ts";
import { programs } from "./program.ts";
import { variantEngine } from "./variant.ts";
import { wrongEngines } from "./wrong-engines.ts";

const seed = Number(process.env["TURNS_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const runs = Number(process.env["TURNS_RUNS"] ?? 2500);
/** Of the programs that find out wrong engines: the same in each run, since a wrong engine may also go on for ever. */
const wrongSeed = Number(process.env["TURNS_SEED"] ?? 1);
/** A slow machine runs fewer. */
const limit = fc.interruptAfterTimeLimit(20_000);
const limitOnDisk = fc.interruptAfterTimeLimit(8000);

describe(`random programs (TURNS_SEED=${seed})`, { timeout: 180_000 }, () => {
  test("come to what they would have come to undisturbed, and do nothing twice", async (t) => {
    const all: Told[] = [];
    const property = fc.asyncProperty(programs, fates, async (program, fate) => {
      all.push(await undergo(program, fate));
    });
    await fc.assert(property, { seed, numRuns: runs, plugins: [limit] });
    const sum = (of: (told: Told) => number) => all.reduce((total, told) => total + of(told), 0);
    const ended = Object.entries(Object.groupBy(all, ({ state }) => state)).map(
      ([state, of]) => `${of.length} ${state}`,
    );
    t.diagnostic(
      `${all.length} turns: ${ended.join(", ")}; ${sum(({ lives }) => lives)} processes, ${sum(({ entries }) => entries)} entries`,
    );
    assert.ok(all.length > 100, "too few to mean anything");
  });

  test("do so on disk too", async () => {
    const property = fc.asyncProperty(programs, fates, async (program, fate) => {
      await undergo(program, fate, { store: "sqlite" });
    });
    await fc.assert(property, { seed, numRuns: 20, plugins: [limitOnDisk] });
  });

  for (const [what, changes] of Object.entries(wrongEngines)) {
    test(`find out an engine that ${what}`, async (t) => {
      const createEngine = await variantEngine(what, changes);
      const property = fc.asyncProperty(programs, fates, async (program, fate) => {
        await undergo(program, fate, { createEngine });
      });
      const found = await fc.check(property, { seed: wrongSeed, numRuns: runs, endOnFailure: true, plugins: [limit] });
      const why = String((found.errorInstance as Error | undefined)?.message).split("\n")[0]!;
      t.diagnostic(`after ${found.numRuns} turns: ${why.slice(0, 100)}`);
      assert.ok(found.counterexample !== null, "it was not found out");
    });
  }
});
