import type { Command } from "commander";

import type { ReplayCheck } from "../node/replay-check.ts";
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
      const text = json ? `${JSON.stringify(check, null, 2)}\n` : await checkText(check);
      await new Promise((resolve) => process.stdout.write(text, resolve));
      // An agent's code may have left something open that would keep the process.
      process.exit(check.misfits.length === 0 ? 0 : 1);
    });
  addSettingFlags(command, ["home", "databaseSchema"]);
}

async function checkText({ checked, misfits, agents }: ReplayCheck): Promise<string> {
  const { plainText } = await import("@nylorun/protocol");
  const names = agents.map(({ id }) => id).join(", ");
  if (checked === 0) return `No turn of ${names} has begun and not ended.\n`;
  if (misfits.length === 0) return checked === 1 ? "The one turn fits.\n" : `All ${checked} turns fit.\n`;
  const versions = new Map(agents.map(({ id, version }) => [id, version]));
  const count = `${misfits.length} of ${checked} ${misfits.length === 1 ? "does" : "do"} not fit:\n\n`;
  const texts = misfits.map(({ taskId, agent, agentVersion, subject, state, statusAt, why }) => {
    const since = `${state} since ${formatTime(statusAt)}`;
    const head = `${taskId}  ${agent} ${agentVersion}, now ${versions.get(agent) ?? ""}  ${since}`;
    return `${head}\n  of ${subject}\n  ${plainText(why)}\n`;
  });
  return count + texts.join("\n");
}
