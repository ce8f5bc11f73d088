/** The environment of a command that is run for somebody: as it was given to us, and nothing of ours. */
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Node keeps what it compiled when nobody says otherwise: bin/nylorun.js puts it there for our own threads. */
const OUR_CACHE = join(tmpdir(), "node-compile-cache");

export function commandEnvironment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: cache, ...given } = process.env;
  return cache === OUR_CACHE ? given : process.env;
}
