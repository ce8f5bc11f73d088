import type { Command } from "commander";

import type { Operations } from "../http/operations.ts";
import { settingsOf } from "./setting-flags.ts";

/** Does a command's work on the home that its settings name. Only a command that may make a home says so. */
export async function onHome<T>(
  command: Command,
  work: (operations: Operations) => Promise<T>,
  options: { readonly make?: boolean } = {},
): Promise<T> {
  const settings = settingsOf(command);
  // What a command needs beyond its flags is loaded when there is something to do.
  const { withOperations } = await import("../node/command.ts");
  return withOperations(settings, work, options);
}
