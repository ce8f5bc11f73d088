/** Random agents through every ordeal there is, for 10 minutes or as many as are named; then a seed to repeat a run. */
import * as fc from "fast-check";

import { fates, undergo } from "../../packages/runtime/test/turn/ordeal.ts";
import { programs } from "../../packages/runtime/test/turn/program.ts";

/** Programs of one seed: so many that a failure is found again within minutes. */
const batch = 2000;

const [minutes = "10", given] = process.argv.slice(2);
const end = performance.now() + Number(minutes) * 60_000;
const told = { turns: 0, processes: 0, entries: 0, completed: 0, failed: 0, canceled: 0 };

for (let seed = Number(given ?? Math.floor(Math.random() * 2 ** 31)); performance.now() < end; seed++) {
  const property = fc.asyncProperty(programs, fates, async (program, fate) => {
    const { state, lives, entries } = await undergo(program, fate);
    if (state === "completed" || state === "failed" || state === "canceled") told[state]++;
    told.turns++;
    told.processes += lives;
    told.entries += entries;
  });
  const left = fc.interruptAfterTimeLimit(Math.max(1, end - performance.now()));
  await fc.assert(property, { seed, numRuns: batch, plugins: [left] });
  process.stdout.write(`seed ${seed}: ${JSON.stringify(told)}\n`);
}
