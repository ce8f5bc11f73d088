/** `nylorun acp -- command`: an agent of the Agent Client Protocol, with its progress reported. */
import type { Command } from "commander";

const MORE = `
An editor that speaks ACP starts it in the agent's place. Every byte between the
two is passed on as it is; the agent's plan, its tool calls and the ends of its
turns are reported on the way. In Zed's settings:

  "agent_servers": {
    "Gemini CLI": { "command": "nylorun", "args": ["acp", "--", "gemini", "--experimental-acp"] }
  }`;

export function addAcpCommand(program: Command): void {
  program
    .command("acp")
    .description("Run an ACP agent for an editor, and report its progress.")
    .argument("<command...>", "The agent, after --.")
    .option("--agent <name>", "Who works. Default: the name that the agent gives itself.")
    .passThroughOptions()
    .addHelpText("after", MORE)
    .action(async (command: string[], { agent }: { agent?: string }) => {
      const { runAcpAgent } = await import("./adapters/acp-agent.ts");
      process.exitCode = await runAcpAgent(command, agent);
    });
}
