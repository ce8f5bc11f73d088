/**
 * A process that appends records one after the other, and tells on its standard output how many are acknowledged.
 * Arguments: folder, name, count.
 */
import { writeSync } from "node:fs";

import { Sink } from "../src/sink.ts";
import { record } from "./events.ts";

const [folder = "", name = "", count = "0"] = process.argv.slice(2);
const sink = new Sink({ folder, warn: (text) => process.stderr.write(`${text}\n`) });
for (let done = 0; done < Number(count); done++) {
  // Of very different lengths, over the ends of pages too.
  const message = "·".repeat((done * 37) % 280);
  const persisted = await sink.append(record({ task_id: `${name}:${done}`, message, session_id: `${name}-${done}` }));
  if (!persisted) throw new Error(`record ${done} of ${name} was not stored`);
  writeSync(1, `${done}\n`);
}
