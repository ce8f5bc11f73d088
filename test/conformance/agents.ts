/** Agents that do each of the things which a protocol has words for. */
import { defineAgent, OutcomeUnknown, refuse, reply } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";

/** An agent with everything but what it does. */
export function makeAgent(id: string, run: AgentDefinition["run"], more: Partial<AgentDefinition> = {}): Agent {
  const skills = [{ id, name: id, description: "For a test.", tags: ["test"] }];
  return defineAgent({ id, name: `The ${id}`, description: "For a test.", version: "1.0.0", skills, run, ...more });
}

/** Does what the text says. */
export const actor: Agent = makeAgent("actor", async (turn) => {
  switch (turn.text) {
    case "ask":
      return `It is ${await turn.ask({ prompt: "What is it?" })}.`;
    case "approve":
      return (await turn.approve({ prompt: "Do it?", detail: { what: "it" } })) ? "Done." : "Not done.";
    case "connect":
      return (await turn.connect({ prompt: "Connect it.", provider: "it", verify: () => false }))
        ? "Done."
        : "Not done.";
    case "run":
      return new Promise<string>((resolve) => turn.signal.addEventListener("abort", () => resolve("")));
    case "data":
      return { key: "value", count: 42, nothing: null };
    case "message":
      return reply("Hello from the agent");
    case "refuse":
      return refuse("No.");
    case "throw":
      throw new Error("the treasure is under the oak");
    case "lose":
      return turn.effect("lose", () => {
        throw new OutcomeUnknown("The line broke.");
      });
    case "remember":
      return turn.history.map(({ text }) => text).join(", ");
    case "say":
      turn.say("I look at it.");
      return `It is ${await turn.ask({ prompt: "What is it?" })}.`;
    default:
      return turn.text;
  }
});

/** Takes pictures and plain text. */
export const pictures: Agent = makeAgent("pictures", () => "Seen.", { inputModes: ["image/*", "text/plain"] });
