/** Everything that reads what strangers send, fuzzed for an hour or as many minutes as are named; then a seed, then targets. */
import { fuzz, TARGETS } from "../fuzz/fuzz.ts";

/** Of one target before the next has its turn, in milliseconds: short, so that all of them are seen early. */
const TURN = 20_000;

const [minutes = "60", given, ...asked] = process.argv.slice(2);
const names = asked.length === 0 ? [...TARGETS.keys()] : asked;
const end = performance.now() + Number(minutes) * 60_000;
const tried = new Map<string, number>();
const found: string[] = [];

for (let seed = Number(given ?? Math.floor(Math.random() * 2 ** 31)); performance.now() < end; seed++) {
  for (const name of names) {
    const milliseconds = Math.min(TURN, end - performance.now());
    if (milliseconds <= 0) break;
    try {
      tried.set(name, (tried.get(name) ?? 0) + (await fuzz(name, { seed, milliseconds })));
    } catch (error) {
      const { message, cause } = error as Error;
      const line = `${message}\n  ${String(cause)}`;
      if (!found.includes(line)) process.stdout.write(`FOUND ${line}\n`);
      found.push(line);
    }
  }
  process.stdout.write(`seed ${seed}: ${JSON.stringify(Object.fromEntries(tried))}, ${found.length} found\n`);
}
if (found.length > 0) process.exitCode = 1;
