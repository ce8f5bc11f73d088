/** A folder for what commands have to remember between two calls, and nobody would miss. */
import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_STATE_HOME/nylorun`, else `~/.local/state/nylorun`. Nothing is made. */
export function stateFolder(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "nylorun");
}
