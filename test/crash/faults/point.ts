/**
 * Points in the life of nodes at which one may be killed. Each has a name, and counts, whichever node passes it: `after outcome 2` is when
 * the second result is in the database and nobody was told yet.
 *
 * What is to happen stands in files, so that a node need not be started anew for it: in the folder `FAULTS`, `deadly` names the point at
 * which whoever passes it dies, `slow` says how long the bank takes, and all points that are passed are written to `passed`.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.env["FAULTS"]!;
let marks = 0;

export function pass(name: string): void {
  // What others append at the same time is before or after this, for all of them.
  const mark = `${name}\t${process.pid}.${++marks}`;
  appendFileSync(join(folder, "passed"), `${mark}\n`);
  const ofName = read("passed")
    .split("\n")
    .filter((line) => line.startsWith(`${name}\t`));
  if (`${name} ${ofName.indexOf(mark) + 1}` === read("deadly")) process.kill(process.pid, "SIGKILL");
}

/** How long the bank takes to answer, in milliseconds; it pays at once. */
export function bankMs(): number {
  return Number(read("slow"));
}

/** Empty: there is none. */
function read(name: string): string {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return "";
  }
}
