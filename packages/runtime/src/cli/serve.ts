import type { Command } from "commander";

import type { Runtime } from "../node/runtime.ts";
import { addSettingFlags, settingsOf } from "./setting-flags.ts";

/** Tells people that a Runtime serves. */
export type Announce = (runtime: Runtime) => void | Promise<void>;

const MORE = `
A file exports its agent: export default defineAgent({…}). It may be TypeScript.
Callers need a key: nylorun keys add --subject NAME

A setting is taken from its flag, else from the environment, else from the
config file, where it has its name in camelCase: {"turnTimeoutMs": 60000}.

SIGTERM and Ctrl-C stop gracefully: what is not done in time is resumed at the
next start. A second one stops at once, and nothing accepted is lost either.`;

export function addServeCommand(program: Command, announce: Announce = say): void {
  const command = program
    .command("serve")
    .description("Serve the agents that files export.")
    .argument("<file...>", "TypeScript or JavaScript files that export agents.")
    .addHelpText("after", MORE)
    .action(async (files: string[]) => {
      const settings = settingsOf(command);
      const { serve } = await import("../node/serve.ts");
      await serve({ settings, files, cwd: process.cwd(), announce });
      // An agent's code may have left something open that would keep the process.
      process.exit(0);
    });
  addSettingFlags(command);
}

function say({ url, home, agents }: Runtime): void {
  const width = Math.max(...agents.map(({ id }) => id.length));
  const lines = agents.map(({ id }) => `  ${id.padEnd(width)}  ${url}/v1/a2a/agents/${id}/`);
  process.stdout.write(`Serving at ${url} (home: ${home})\n${lines.join("\n")}\nDashboard at ${url}/dashboard/\n`);
}
