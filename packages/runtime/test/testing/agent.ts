import { defineAgent } from "@nylorun/agents";
import type { Agent, AgentDefinition } from "@nylorun/agents";

export function agent(run: AgentDefinition["run"]): Agent {
  return defineAgent({
    id: "tested",
    name: "Tested",
    description: "For tests.",
    version: "1.0.0",
    skills: [{ id: "work", name: "Work", description: "Works.", tags: ["test"] }],
    run,
  });
}
