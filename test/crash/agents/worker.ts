import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

import { defineAgent } from "@nylorun/agents";

/**
 * Does what its message says, and keeps a diary of it that is not the Runtime's: one line when a turn begins, one when its work is
 * done. A killed process leaves beginnings without an end.
 *
 * - `wait N`: works for N milliseconds.
 * - `die until FILE`: kills its own process, as long as FILE does not exist.
 */
export default defineAgent({
  id: "worker",
  name: "Worker",
  description: "Works for a while, or kills the process that runs it.",
  version: "1.0.0",
  skills: [{ id: "work", name: "Work", description: "Works.", tags: ["test"] }],

  async run(turn) {
    const note = (what: string) => {
      const line = JSON.stringify({ what, task: turn.taskId, context: turn.contextId, pid: process.pid });
      appendFileSync(process.env["WORKER_DIARY"]!, `${line}\n`);
    };
    note("begin");
    const [, word, value] = /^(wait|die until) (.+)$/.exec(turn.text) ?? [];
    if (word === "wait") await setTimeout(Number(value));
    if (word === "die until" && !(await import("node:fs")).existsSync(value!)) process.kill(process.pid, "SIGKILL");
    note("end");
    return `did: ${turn.text}`;
  },
});
