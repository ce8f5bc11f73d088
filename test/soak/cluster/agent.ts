/** What the soak's nodes serve. Everything that it does in the world stands in a log of its own, not the Runtime's. */
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

import { defineAgent } from "@nylorun/agents";

/** One line of the log: an effect was begun, or is done. */
export interface Deed {
  readonly what: "begin" | "done";
  readonly context: string;
  readonly task: string;
  readonly effect: string;
  /** Of the effect: the same for each attempt. */
  readonly key: string;
  readonly pid: number;
}

const log = process.env["SOAK_LOG"]!;

/**
 * - `pay`: two effects that may run once only, and one that may run again.
 * - `ask`: the same, with a question between.
 * - `nap`: the same, with a sleep between.
 */
export default defineAgent({
  id: "worker",
  name: "Worker",
  description: "Works for the soak.",
  version: "1.0.0",
  skills: [{ id: "work", name: "Work", description: "Works.", tags: ["test"] }],

  async run(turn) {
    const did = (effect: string, idempotent: boolean) =>
      turn.effect(
        effect,
        async ({ key }) => {
          const deed = { context: turn.contextId, task: turn.taskId, effect, key, pid: process.pid };
          const note = (what: Deed["what"]) =>
            appendFileSync(log, `${JSON.stringify({ what, ...deed } satisfies Deed)}\n`);
          note("begin");
          await setTimeout(5 + Math.random() * 60);
          note("done");
          return effect;
        },
        { idempotent },
      );
    const first = await did("first", false);
    const answer = turn.text === "ask" ? await turn.ask({ prompt: "What?" }) : undefined;
    if (turn.text === "nap") await turn.sleep(500);
    const again = await did("again", true);
    const second = await did("second", false);
    return [first, answer, again, second].join(" ");
  },
});
