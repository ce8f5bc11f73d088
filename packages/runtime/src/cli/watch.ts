/** `nylorun watch`: every agent on this machine, live. */
import type { Command } from "commander";

const MORE = `
It shows what is reported on this machine: by agents over MCP (npx @nylorun/mcp-server), by "nylorun report" and
"nylorun run", by hooks, and by every task that a local Runtime serves. Ctrl-C or q ends it.

Where the output is no terminal, each change is a line; --json makes it the record itself.`;

export function addWatchCommand(program: Command): void {
  program
    .command("watch")
    .description("Watch what every agent on this machine is doing.")
    .option("--all", "Also show what ended more than 10 minutes ago.")
    .option("--once", "Print what is going on now, and end.")
    .option("--plain", "Print a line for each change, on a terminal too.")
    .option("--json", "Print each change as JSON, one record a line.")
    .addHelpText("after", MORE)
    .action(async (options: Partial<Record<"all" | "once" | "plain" | "json", boolean>>) => {
      const { watch } = await import("./watch/watch.ts");
      const { all = false, once = false, plain = false, json = false } = options;
      await watch({ all, once, plain, json });
    });
}
