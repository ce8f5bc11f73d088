/** Nylorun as a person starts it: the `nylorun` command, with default settings, in a home of its own. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import type { Launch } from "./server.ts";

const command = fileURLToPath(new URL("../packages/runtime/bin/nylorun.js", import.meta.url));

export interface Home {
  readonly home: string;
  /** Files that define agents. */
  readonly agents: readonly string[];
  /** 0: any that is free. */
  readonly port?: number;
}

export function launchNylorun({ home, agents, port = 0 }: Home): Launch {
  return {
    name: "nylorun",
    args: [command, "serve", ...agents],
    // What is served here is not to be among the person's own tasks.
    env: { NYLORUN_HOME: home, NYLORUN_PORT: String(port), AGENT_PROGRESS_EVENTS_DIR: join(home, "events") },
    port: /http:\/\/127\.0\.0\.1:(\d+)/,
  };
}

/** Makes an API key for the subject `bench`. */
export async function addKey(home: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [command, "keys", "add", "--subject", "bench"], {
    env: { ...process.env, NYLORUN_HOME: home },
  });
  return stdout.trim();
}
