import { resolve } from "node:path";

import type { Command } from "commander";

import { filesApart, filesNeeded } from "./files-apart.ts";
import { addSettingFlags, settingsOf } from "./setting-flags.ts";

const EXPORT_MORE = `
Nobody may serve the home now, and nobody serves it afterwards: what it holds goes
on where it is imported. The file holds the keys of everything: keep it as safe.`;

const IMPORT_MORE = `
The database is the one of NYLORUN_DATABASE_URL. No node serves from it before the
import has come to its end, when every row has been compared with the file's. One
that was interrupted goes on where it stopped: run it again.`;

export function addMoveCommands(program: Command): void {
  const exporting = program
    .command("export")
    .description("Write all that the home holds to a file, to go on elsewhere.")
    .argument("<file>", "Where to; nothing may be there yet.")
    .addHelpText("after", EXPORT_MORE)
    .action(async (file: string) => {
      const settings = settingsOf(exporting);
      const { exportHome } = await import("../node/move.ts");
      const files = await exportHome(settings, resolve(file));
      process.stderr.write(
        `The home ${settings.home} is in ${resolve(file)}, and is not served any more.\n${filesApart(files)}`,
      );
    });

  const importing = program
    .command("import")
    .description("Carry what was exported into a database that many nodes share.")
    .argument("<file>", 'What "nylorun export" wrote.')
    .addHelpText("after", IMPORT_MORE)
    .action(async (file: string) => {
      const settings = settingsOf(importing);
      const { importHome } = await import("../node/move.ts");
      let told = 0;
      const { rows, resumed, files } = await importHome(resolve(file), settings, ({ table, rows: done, of }) => {
        if (done < of && performance.now() - told < 1000) return;
        told = performance.now();
        process.stderr.write(`${table}: ${done} of ${of}\n`);
      });
      const all = Object.values(rows).reduce((sum, count) => sum + count, 0);
      const how = resumed ? "It had been interrupted, and went on. " : "";
      process.stderr.write(
        `${how}${rows.turns === 1 ? "1 task is" : `${rows.turns} tasks are`} in the database; all ${all} rows are what was exported.\n${filesNeeded(files)}`,
      );
    });

  addSettingFlags(exporting, ["home"]);
  addSettingFlags(importing, ["databaseSchema"]);
}
