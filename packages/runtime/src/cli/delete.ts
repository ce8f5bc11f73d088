import type { Command } from "commander";

import type { Erasure } from "../http/operations.ts";
import { RuntimeError } from "../node/errors.ts";
import { onHome } from "./on-home.ts";
import { askLine, canAsk } from "./prompt.ts";
import { addSettingFlags } from "./setting-flags.ts";

const MORE = `
What is deleted is gone for good. In the home's database it is overwritten; files
are removed, and PostgreSQL overwrites what it has in its own time. Backups that
were made before still hold it, and the local progress events for 7 days. Nothing is deleted while a turn of it runs: cancel that, or wait.
What waits, for its turn or for somebody, is deleted with the rest.`;

export function addDeleteCommand(program: Command): void {
  const all = program
    .command("delete")
    .description("Erase a task, a context, or everything of a subject.")
    .helpCommand(false)
    .addHelpText("after", MORE);

  const task = all
    .command("task")
    .description("Erase a task, with its messages, artifacts and journal.")
    .argument("<task>", "Its id.")
    .action(async (taskId: string) => erase(task, { what: "task", taskId }));

  const context = all
    .command("context")
    .description("Erase a context, with all its tasks.")
    .argument("<context>", "Its id, as its caller knows it.")
    .requiredOption("--subject <name>", "Whose it is.")
    .requiredOption("--agent <id>", "With which agent.")
    .action(async (contextId: string, { subject, agent }: { subject: string; agent: string }) =>
      erase(context, { what: "context", subject, agent, contextId }),
    );

  const subject = all
    .command("subject")
    .description("Erase everything of a subject: contexts, tasks and keys.")
    .argument("<subject>", "Its name.")
    .option("--yes", "Do not ask whether that is meant.")
    .action(async (name: string, { yes }: { yes?: true }) => {
      if (yes !== true && !(await confirmed(name))) {
        process.stderr.write("Nothing was deleted.\n");
        process.exitCode = 1;
        return;
      }
      await erase(subject, { what: "subject", subject: name });
    });

  for (const command of [task, context, subject]) addSettingFlags(command, ["home"]);
}

async function erase(command: Command, what: Erasure): Promise<void> {
  const { turns } = await onHome(command, (operations) => operations.erase(what));
  process.stderr.write(`${turns} ${turns === 1 ? "task was" : "tasks were"} deleted.\n`);
}

async function confirmed(subject: string): Promise<boolean> {
  if (!canAsk())
    throw new RuntimeError("request.invalid", `Everything of ${subject} would be deleted. If so, say --yes.`);
  return /^y(es)?$/i.test((await askLine(`Delete everything of ${subject}, its keys too? [y/N] `)) ?? "");
}
