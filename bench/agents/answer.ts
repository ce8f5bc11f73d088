import { defineAgent } from "@nylorun/agents";

/** Answers one text at once: what is measured is everything around the agent. */
export default defineAgent({
  id: "answer",
  name: "Answer",
  description: "Answers one text at once.",
  version: "1.0.0",
  skills: [{ id: "answer", name: "Answer", description: "Answers.", tags: ["bench"] }],
  run: () => "Here is your answer.",
});
