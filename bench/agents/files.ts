import { defineAgent } from "@nylorun/agents";

/** Takes a file in, and hands it out again when it is asked to. */
export default defineAgent({
  id: "files",
  name: "Files",
  description: "Takes a file, and gives it back.",
  version: "1.0.0",
  skills: [{ id: "files", name: "Files", description: "Takes a file, and gives it back.", tags: ["bench"] }],
  inputModes: ["*/*"],
  async run(turn) {
    const [input] = turn.inputs;
    if (input !== undefined && turn.text === "back") await turn.file("file.bin", () => input.stream());
    return String(input?.size ?? 0);
  },
});
