/** 96,000 tasks that end, or as many as are named: what they leave in memory, and how long a list takes beside them (A33). */
import { endTasks } from "./ended-tasks.ts";

const [tasks = "96000"] = process.argv.slice(2);
const found = await endTasks(Number(tasks));
const figures = Object.entries(found).map(([name, value]) => `${name}=${Number((value as number).toPrecision(3))}`);
process.stdout.write(`RESULT ended ${figures.join(" ")}\n`);
// 7.8 kB each is what it was where this was a problem.
if (found.heapBytesEach > 100 || found.filesMore > 5) process.exitCode = 1;
