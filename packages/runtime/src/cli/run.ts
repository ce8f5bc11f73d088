/** `nylorun run -- command`: runs a command, and reports how far it is. */
import type { Command } from "commander";

const MORE = `
The command runs as it would alone: its input, its output and its exit code are
its own, and so are signals. Percent is read from what it prints, where it prints
one: in a line that it rewrites in place, or as in "[ 42%] Building". When it ends
with 0 the task is done, else it failed.

  nylorun run -- npm test
  nylorun run --task backup:photos -- rsync -a --info=progress2 photos/ /mnt/photos/

As it writes into a pipe, it may leave colours out; with --terminal it has the
terminal to itself, and no percent is read.`;

interface RunFlags {
  readonly task?: string;
  readonly stage?: string;
  readonly agent?: string;
  readonly terminal?: boolean;
}

export function addRunCommand(program: Command): void {
  program
    .command("run")
    .description("Run a command, and report how far it is.")
    .argument("<command...>", "What to run, after --.")
    .option("--task <name>", "The task's name. Default: shell, the folder's name, and the command.")
    .option("--stage <text>", "What people see. Default: the command.")
    .option("--agent <name>", "Who works. Default: what the task's name begins with.")
    .option("--terminal", "Give the command the terminal itself; no percent is read.")
    .passThroughOptions()
    .addHelpText("after", MORE)
    .action(async (command: string[], flags: RunFlags) => {
      const { runReported } = await import("./reports/reported-command.ts");
      process.exitCode = await runReported(command, flags);
    });
}
