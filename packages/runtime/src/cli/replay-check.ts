import type { Command } from "commander";

import type { Misfit, ReplayCheck } from "../node/replay-check.ts";
import { addSettingFlags, settingsOf } from "./setting-flags.ts";
import { formatTime } from "./table.ts";

const MORE = `
Do this before you serve changed code: turns that wait for an answer or a time
are run again from their start when it comes, by the code that is there then. A
turn that does not fit it is held until code comes that does.

Nothing happens to the turns, and no effect runs. What an agent's code does
outside of effects, it does here as well. The turns are those of the home, or of
the database of NYLORUN_DATABASE_URL; they may be served meanwhile.

Where the code has to differ, turn.patch("name") tells turns that have gone past
that line from those that come to it. Exit code 1: some turn does not fit.`;

export function addReplayCheckCommand(program: Command): void {
  const command = program
    .command("replay-check")
    .description("See which turns would not fit the code of these files.")
    .argument("<file...>", "TypeScript or JavaScript files that export agents.")
    .option("--json", "Print JSON.")
    .addHelpText("after", MORE)
    .action(async (files: string[], { json }: { json?: true }) => {
      const settings = settingsOf(command);
      const { replayCheck } = await import("../node/replay-check.ts");
      const check = await replayCheck({ settings, files, cwd: process.cwd() });
      const text = json ? `${JSON.stringify(check, null, 2)}\n` : checkText(check);
      await new Promise((resolve) => process.stdout.write(text, resolve));
      // An agent's code may have left something open that would keep the process.
      process.exit(check.misfits.length === 0 ? 0 : 1);
    });
  addSettingFlags(command, ["home", "databaseSchema"]);
}

function checkText({ checked, misfits, agents }: ReplayCheck): string {
  const names = agents.map(({ id }) => id).join(", ");
  if (checked === 0) return `No turn of ${names} has begun and not ended.\n`;
  if (misfits.length === 0) return checked === 1 ? "The one turn fits.\n" : `All ${checked} turns fit.\n`;
  const versions = new Map(agents.map(({ id, version }) => [id, version]));
  const count = `${misfits.length} of ${checked} ${misfits.length === 1 ? "does" : "do"} not fit:\n\n`;
  return count + misfits.map((misfit) => misfitText(misfit, versions.get(misfit.agent) ?? "")).join("\n");
}

function misfitText({ taskId, agent, agentVersion, subject, state, statusAt, why }: Misfit, version: string): string {
  const since = `${state} since ${formatTime(statusAt)}`;
  return `${taskId}  ${agent} ${agentVersion}, now ${version}  ${since}\n  of ${subject}\n  ${why}\n`;
}
