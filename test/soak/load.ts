/** As many messages as are taken, for 10 minutes or as many as are named: no error, no growth of memory, files or delay. */
import { saturate } from "./saturation.ts";

const [minutes = "10"] = process.argv.slice(2);

const found = await saturate({
  milliseconds: Number(minutes) * 60_000,
  onMinute: (line) => process.stdout.write(`${line}\n`),
});
process.stdout.write(
  `RESULT load ${Object.entries(found.figures)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")}\n`,
);
for (const problem of found.problems) process.stdout.write(`${problem}\n`);
if (found.problems.length > 0) process.exitCode = 1;
