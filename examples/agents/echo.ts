import { defineAgent } from "@nylorun/agents";

export default defineAgent({
  id: "echo",
  name: "Echo",
  description: "Answers with the text that it was sent.",
  version: "1.0.0",
  skills: [{ id: "echo", name: "Echo", description: "Repeats a text.", tags: ["text"], examples: ["Hello!"] }],

  run: (turn) => turn.text,
});
