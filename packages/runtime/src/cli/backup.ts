import { resolve } from "node:path";

import type { Command } from "commander";

import { filesApart, filesNeeded } from "./files-apart.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags, settingsOf } from "./setting-flags.ts";

const BACKUP_MORE = `
It may be made while the home is served: the copy is of one moment, checked, and
only there when it is whole. It holds the keys of everything, as the home does:
keep it as safe.`;

const RESTORE_MORE = `
The home must be a new one. Turns that had not ended when the backup was made
come back held: they may have gone on since, and done things in the world that
the backup knows nothing of. See "nylorun turns held", and then release or fail
each. Messages that were accepted after the backup are not in it.`;

export function addBackupCommands(program: Command): void {
  const backup = program
    .command("backup")
    .description("Write a copy of the home to a file.")
    .argument("<file>", "Where to; nothing may be there yet.")
    .addHelpText("after", BACKUP_MORE)
    .action(async (file: string) => {
      const files = await onHome(backup, (operations) => operations.backup(resolve(file)));
      process.stderr.write(`The backup is ${resolve(file)}.\n${filesApart(files)}`);
    });

  const restore = program
    .command("restore")
    .description("Make a home out of a backup.")
    .argument("<file>", 'What "nylorun backup" wrote.')
    .addHelpText("after", RESTORE_MORE)
    .action(async (file: string) => {
      const settings = settingsOf(restore);
      const { home } = settings;
      const [{ restoreHome }, { filePlaceOf }] = await Promise.all([
        import("../node/restore.ts"),
        import("../node/files.ts"),
      ]);
      const { held, fileBytes } = await restoreHome(resolve(file), home);
      const what =
        held === 0 ? "No turn was unfinished" : `${held} unfinished ${held === 1 ? "turn is" : "turns are"} held`;
      process.stderr.write(
        `The home ${home} is restored. ${what}.\n${filesNeeded({ bytes: fileBytes, place: filePlaceOf(home, settings) })}`,
      );
    });

  for (const command of [backup, restore]) addSettingFlags(command, ["home"]);
}
