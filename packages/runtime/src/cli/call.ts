/** `nylorun call`: a message to any A2A agent, and what comes of it. */
import type { Command } from "commander";

import { addSettingFlags, settingsOf } from "./setting-flags.ts";

const MORE = `
The agent is an address, of any A2A 1.0 agent, or the id of one that the home's
own process serves. What it asks is asked here, at the prompt; nothing but the word
for it approves. The output goes to stdout, everything else to stderr.

The key is --key-file's, else the one in NYLORUN_KEY, else, for the process that
serves the home, the home's own, which "npm start" makes.

Ctrl-C ends the wait, not the task; pressed again, it cancels the task.

Exit codes:
  0    completed
  1    the agent could not be called, and stderr says why
  2    the task waits for somebody: left for later, or nobody was there to ask
  3    failed
  4    refused by the agent
  5    cancelled
  130  no longer waited for; the task goes on`;

/** The flags, as typed. */
export interface CallFlags {
  readonly task?: string;
  readonly context?: string;
  readonly messageId?: string;
  readonly wait: boolean;
  readonly json?: true;
  readonly keyFile?: string;
}

export function addCallCommand(program: Command): void {
  const command = program
    .command("call")
    .description("Send a message to an agent, watch its task, and answer what it asks.")
    .argument("<agent>", "An address such as https://example.com/agent/, or the id of an agent that is served here.")
    .argument("[text]", "The message. Left out only with --task.")
    .option("--task <id>", "Take up a task that was begun earlier, instead of sending a message.")
    .option("--context <id>", "Go on with a conversation.")
    .option("--message-id <id>", "Name the message: sent again under the same id, it is not done again.")
    .option("--no-wait", "Send it, print the task's id, and end.")
    .option("--json", "Print the task as JSON when it ends, or waits; ask nothing.")
    .option("--key-file <file>", "A file that holds your key.")
    .addHelpText("after", MORE)
    .action(async (agent: string, text: string | undefined, flags: CallFlags) => {
      const { home } = settingsOf(command);
      const { callAgent } = await import("./call/call-agent.ts");
      process.exitCode = await callAgent(agent, text, { ...flags, home });
    });
  addSettingFlags(command, ["home"]);
}
