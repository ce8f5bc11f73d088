import type { Command } from "commander";

import type { HeldTurn } from "../http/operations.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTime } from "./table.ts";

const MORE = `
A turn is held when the agent's code no longer fits what the turn has done so
far, or when the process died while it ran this turn and nothing else, as it does
after two deaths. Its caller sees it as working, and the later messages of its
context wait. Mend the cause, then let it run again (release), or end it (fail).`;

export function addTurnsCommand(program: Command): void {
  const turns = program
    .command("turns")
    .description("See and settle the turns that are held.")
    .helpCommand(false)
    .addHelpText("after", MORE);

  const held = turns
    .command("held")
    .description("List the turns that are held, and why.")
    .option("--json", "Print JSON.")
    .addHelpText("after", MORE)
    .action(async ({ json }: { json?: true }) => {
      const found = await onHome(held, (operations) => operations.heldTurns());
      if (json) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      else if (found.length === 0) process.stdout.write("No turn is held.\n");
      else process.stdout.write((await heldTexts(found)).join(""));
    });

  const release = turns
    .command("release")
    .description("Let a held turn run again.")
    .argument("<task>", "The id of its task.")
    .action(async (task: string) => {
      await onHome(release, (operations) => operations.releaseTurn(task));
      process.stderr.write(`Task ${task} is released.\n`);
    });

  const fail = turns
    .command("fail")
    .description("End a held turn as failed; its context goes on with the next message.")
    .argument("<task>", "The id of its task.")
    .option("--reason <text>", "What the caller is told.")
    .action(async (task: string, { reason }: { reason?: string }) => {
      await onHome(fail, (operations) => operations.failTurn(task, reason));
      process.stderr.write(`Task ${task} has failed.\n`);
    });

  for (const command of [held, release, fail]) addSettingFlags(command, ["home"]);
}

async function heldTexts(turns: readonly HeldTurn[]): Promise<readonly string[]> {
  const { plainText } = await import("@nylorun/protocol");
  return turns.map(
    ({ taskId, agent, agentVersion, subject, heldAt, why }) =>
      `${taskId}  ${agent} ${agentVersion}  since ${formatTime(heldAt)}\n  of ${subject}\n  ${why.code}: ${plainText(why.message)}\n`,
  );
}
