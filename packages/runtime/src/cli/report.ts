/** `nylorun report`: one report from a command line or a script. */
import type { Command } from "commander";
import { Option } from "commander";

const MORE = `
The task's name is the same in each report of it; by convention it is the
reporter's name, a colon, and a short slug. The rest is what people see:

  nylorun report backup:photos --status started
  nylorun report backup:photos --percent 40 --stage "Copying 2024"
  nylorun report backup:photos --status done

An ETA is given only when it is known. "nylorun watch" shows all of it.`;

interface ReportFlags {
  readonly percent?: string;
  readonly stage: string;
  readonly status: string;
  readonly eta?: string;
  readonly message?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly json?: true;
}

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description("Report how far a task is.")
    .argument("<task>", "Its name: 1-128 of a-z, A-Z, 0-9, . _ : -")
    .option("--percent <number>", "How much is done, 0-100. Of a task that started: 0; that is done: 100.")
    .option("--stage <text>", "What is being done now, up to 120 characters.", "")
    .addOption(new Option("--status <word>", "started, running, paused, done or error.").default("running"))
    .option("--eta <seconds>", "Seconds until the end, if they are known.")
    .option("--message <text>", "A short note, up to 280 characters; of an error: what went wrong.")
    .option("--agent <name>", "Who reports. Default: what the task's name begins with.")
    .option("--session <id>", "The session that the task belongs to. Default: the task's name.")
    .option("--json", "Print the record.")
    .addHelpText("after", MORE)
    .action(async (task: string, flags: ReportFlags) => {
      const { reportOnce } = await import("./reports/reporter.ts");
      const record = await reportOnce(
        {
          task_id: task,
          percent: flags.percent === undefined ? impliedPercent(flags.status) : numberOf(flags.percent),
          stage: flags.stage,
          status: flags.status,
          eta_seconds: flags.eta === undefined ? null : numberOf(flags.eta),
          message: flags.message,
          session_id: flags.session,
        },
        flags.agent,
      );
      if (flags.json) process.stdout.write(`${JSON.stringify(record)}\n`);
    });
}

function impliedPercent(status: string): number | undefined {
  return status === "started" ? 0 : status === "done" ? 100 : undefined;
}

/** What is no number stays as it was typed, for the words that refuse it. */
function numberOf(text: string): number | string {
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}
