/** The `nylorun` command: what package.json's `bin` runs. */
import { run } from "./program.ts";

await run(process.argv.slice(2));
