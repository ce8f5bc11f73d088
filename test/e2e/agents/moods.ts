import { defineAgent } from "@nylorun/agents";

/** Does what its text says, for tests of everything around it. */
export default defineAgent({
  id: "moods",
  name: "Moods",
  description: "For tests.",
  version: "1.0.0",
  skills: [{ id: "any", name: "Any", description: "For tests.", tags: ["test"] }],

  async run(turn) {
    const [mood, rest = ""] = turn.text.split(" ", 2);
    switch (mood) {
      case "ask":
        return turn.ask({ prompt: "What?" });
      case "fail":
        throw new Error("As told.");
      case "sleep":
        return turn.sleep(3_600_000);
      case "stay":
        return new Promise<string>((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
      case "work":
        return turn.effect("work", () => new Promise<string>((resolve) => setTimeout(resolve, Number(rest), "done")));
      case "grow":
        await turn.effect("work", () => new Promise<string>((resolve) => setTimeout(resolve, Number(rest), "done")));
        return "x".repeat(4_000_000);
      default:
        return turn.text;
    }
  },
});
