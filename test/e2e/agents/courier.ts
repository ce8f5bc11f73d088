import { defineAgent } from "@nylorun/agents";

/** Hands back what it is sent, byte for byte. */
export default defineAgent({
  id: "courier",
  name: "Courier",
  description: "Hands back the files that it is sent.",
  version: "1.0.0",
  skills: [{ id: "carry", name: "Carry", description: "Hands a file back.", tags: ["files"] }],
  inputModes: ["*/*"],
  async run(turn) {
    for (const input of turn.inputs) await turn.file(input.name, () => input.stream());
  },
});
