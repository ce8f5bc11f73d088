/** `nylorun dashboard`: every agent on this machine, in a page. */
import { once } from "node:events";

import type { Command } from "commander";

import { RuntimeError } from "../node/errors.ts";

const MORE = `
It shows what "nylorun watch" shows: what agents on this machine report, over MCP, from scripts and from hooks. The agents of a Runtime have a
dashboard with more to do in it, at /dashboard of the Runtime itself.

Only this machine reaches it, and only who has the link that it prints. Ctrl-C ends it.`;

/** Beside the Runtime's own port. */
const PORT = 6957;

export function addDashboardCommand(program: Command): void {
  program
    .command("dashboard")
    .description("Show what every agent on this machine is doing, in a page.")
    .option("--port <number>", "The port to listen on; 0 takes any that is free.", String(PORT))
    .addHelpText("after", MORE)
    .action(async ({ port: text }: { readonly port: string }) => {
      const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
      if (port < 0 || port > 65_535) {
        throw new RuntimeError(
          "setting.invalid",
          `--port must be a whole number from 0 to 65535; it is ${text.slice(0, 20)}.`,
        );
      }
      const { serveSinkDashboard } = await import("../node/sink-dashboard.ts");
      await using dashboard = await serveSinkDashboard({ port });
      // From before it is said how to end it.
      const ended = Promise.race(["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => once(process, signal)));
      process.stdout.write(
        `Every agent that reports on this machine (${dashboard.folder}).\nThis link signs you in, once:\n\n${dashboard.link}\n\nCtrl-C ends it.\n`,
      );
      await ended;
    });
}
