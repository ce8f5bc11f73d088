import { setTimeout } from "node:timers/promises";

import { defineAgent } from "@nylorun/agents";

/** Does a little work, in two steps, and ends. Told to make files, it makes a version of one in each step. */
export default defineAgent({
  id: "teller",
  name: "Teller",
  description: "Has something to tell webhooks of.",
  version: "1.0.0",
  skills: [{ id: "tell", name: "Tell", description: "Tells.", tags: ["test"] }],

  async run(turn) {
    const plan = turn.plan(["First", "Second"]);
    for (const [step, version] of ["first", "second"].entries()) {
      plan.start(step);
      await turn.effect(version, () => setTimeout(5), { idempotent: true });
      if (turn.text === "files") await turn.file(`${turn.taskId}.txt`, version, { mediaType: "text/plain" });
    }
    return "told";
  },
});
