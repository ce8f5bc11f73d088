/**
 * Points in the life of a process at which it may be killed. Each has a name, and counts: `after outcome 2` is when the second result
 * is on disk and nobody was told yet.
 *
 * `FAULT` names the point at which this process dies; `FAULTS` is a file to which all that are passed are written.
 */
import { appendFileSync } from "node:fs";

const { FAULT: deadly, FAULTS: list } = process.env;
const passed = new Map<string, number>();

export function pass(name: string): void {
  const times = (passed.get(name) ?? 0) + 1;
  passed.set(name, times);
  const point = `${name} ${times}`;
  if (list !== undefined) appendFileSync(list, `${point}\n`);
  if (point === deadly) process.kill(process.pid, "SIGKILL");
}
