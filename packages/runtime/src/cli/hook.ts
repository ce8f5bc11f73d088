/** `nylorun hook claude-code`: the command that Claude Code's hooks run. */
import type { Command } from "commander";

const MORE = `
Claude Code runs it at each event of a session; it reports the session's progress
from the list that the agent keeps, and never gets in the agent's way. To install
it, merge what --settings prints into ~/.claude/settings.json.`;

export function addHookCommand(program: Command): void {
  program
    .command("hook")
    .description("Report the progress of a coding agent from its hooks.")
    .helpCommand(false)
    .command("claude-code")
    .description("Read a hook's input from standard input, and report.")
    .option("--settings", "Print the settings that have Claude Code run this.")
    .addHelpText("after", MORE)
    .action(async ({ settings = false }: { settings?: boolean }) => {
      if (settings) process.stdout.write(`${JSON.stringify(hookSettings("nylorun hook claude-code"), null, 2)}\n`);
      else await (await import("./adapters/hook-report.ts")).reportHook(process.stdin);
    });
}

/** Claude Code's settings that run a command at the events that matter. */
export function hookSettings(command: string): object {
  const hooks = [{ type: "command", command, timeout: 10 }];
  const everyTool = [{ matcher: "*", hooks }];
  const always = [{ hooks }];
  return {
    hooks: {
      UserPromptSubmit: always,
      PreToolUse: everyTool,
      PostToolUse: everyTool,
      Notification: [{ matcher: "permission_prompt", hooks }],
      Stop: always,
      StopFailure: always,
      SessionEnd: always,
    },
  };
}
