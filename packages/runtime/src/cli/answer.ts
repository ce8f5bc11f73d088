import { Option } from "commander";
import type { Command } from "commander";

import { addSettingFlags, settingsOf } from "./setting-flags.ts";

const MORE = `
Shows what the task asks, and asks you, when you are at a terminal. A script says
the answer with a flag; nothing but the flag for it approves.

It calls the process that serves the home, or --url, as any A2A client does: with
--key-file, else the key in NYLORUN_KEY, else the home's own, which "npm start"
makes. Only the subject whose task it is can answer.

Exit codes:
  0   the answer was taken
  1   it was not, and the sentence on stderr says why: the task waits for nothing,
      is not yours, was answered meanwhile, or takes another kind of answer
  2   nothing was answered: left for later, or nobody was there to ask`;

/** The flags, as typed. */
export interface AnswerFlags {
  readonly url?: string;
  readonly keyFile?: string;
  readonly interaction?: string;
  readonly approve?: true;
  readonly deny?: true;
  readonly connected?: true;
  readonly value?: string;
  readonly text?: string;
}

const ANSWERS = ["approve", "deny", "connected", "value", "text"] as const;

export function addAnswerCommand(program: Command): void {
  const command = program
    .command("answer")
    .description("Answer what a task of yours waits for: approve, deny, choose, tell.")
    .argument("<task>", "The id of the task.");
  const flags = {
    approve: new Option("--approve", "An approval: yes."),
    deny: new Option("--deny", "An approval or a connection: no."),
    connected: new Option("--connected", "A connection: it is made. The agent looks whether it is."),
    value: new Option("--value <json>", "A question: the answer, as JSON."),
    text: new Option("--text <text>", "A question: the answer, as a text."),
  };
  for (const name of ANSWERS) command.addOption(flags[name].conflicts(ANSWERS.filter((other) => other !== name)));
  command
    .option("--interaction <id>", "Answer only if this very interaction is the open one.")
    .option("--url <url>", "Where the Runtime is. Default: what serves the home.")
    .option("--key-file <file>", "A file that holds your key.")
    .addHelpText("after", MORE)
    .action(async (task: string, given: AnswerFlags) => {
      const { home } = settingsOf(command);
      const { answerTask } = await import("./answer-task.ts");
      process.exitCode = await answerTask(task, { ...given, home });
    });
  addSettingFlags(command, ["home"]);
}
