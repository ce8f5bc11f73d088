/** `nylorun doctor`: looks the sink over. */
import type { Command } from "commander";

const MORE = `
It looks for lines that are no records, files that others may read, files past
their 7 days, files that are not the sink's, and tasks that went silent before
they ended. --fix mends what can be mended without losing a record: it never
deletes what is not the sink's, and it ends no task. Exit code 1: something is
left to look at.`;

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("Look over what is reported on this machine, and mend it.")
    .option("--fix", "Mend what can be mended.")
    .option("--json", "Print what was found as JSON.")
    .addHelpText("after", MORE)
    .action(async ({ fix = false, json = false }: { fix?: boolean; json?: boolean }) => {
      const { examine } = await import("./reports/examination.ts");
      process.exitCode = examine({ fix, json }) ? 0 : 1;
    });
}
