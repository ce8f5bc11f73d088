/** Where the sink is, and that it is its owner's alone. */
import { chmodSync, existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The variable that puts the sink elsewhere. */
export const FOLDER_VARIABLE = "AGENT_PROGRESS_EVENTS_DIR";

/**
 * The sink's folder: `AGENT_PROGRESS_EVENTS_DIR`, else `~/.agent-progress`. A leading `~/` in the variable is the user's own
 * folder too, as the configuration files of MCP hosts are read by no shell.
 */
export function sinkFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const named = environment[FOLDER_VARIABLE] ?? "";
  return named === "" ? join(homedir(), ".agent-progress") : resolve(named.replace(/^~(?=$|[/\\])/, homedir()));
}

/** Makes the folder if there is none, and takes it away from everybody else. */
export function prepareFolder(folder: string): void {
  makeFolder(folder);
  const { mode } = lstatSync(folder);
  if (isWide(mode) && mayTighten(folder)) chmodSync(folder, 0o700);
}

/**
 * Makes a folder (0700), and those above it, as far as they are not there. Node's own way to do that never ends where no folder can be made
 * in one that is there, as in /proc: told that something is missing, it tries again.
 */
function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let at = resolve(folder); missing.length === 0 || !existsSync(at); at = dirname(at)) {
    missing.push(at);
    if (at === dirname(at)) break;
  }
  for (const each of missing.toReversed()) {
    try {
      mkdirSync(each, { mode: 0o700 });
    } catch (error) {
      // It was there, or another process has been quicker.
      if (statSync(each, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}

/** Whether others than the owner have any rights. */
export function isWide(mode: number): boolean {
  return process.platform !== "win32" && (mode & 0o077) !== 0;
}

/** Nobody's `/tmp` is to become private because it was named by mistake: what is everybody's, or somebody else's, stays so. */
export function mayTighten(path: string): boolean {
  const { mode, uid } = lstatSync(path);
  return (mode & 0o1000) === 0 && uid === process.getuid?.();
}
