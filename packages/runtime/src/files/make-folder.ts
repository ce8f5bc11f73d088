import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder (0700), and those above it, as far as they are not there. Node's own way to do that never ends where no folder can be made
 * in one that is there, as in /proc: told that something is missing, it tries again.
 */
export function makeFolder(folder: string): void {
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
