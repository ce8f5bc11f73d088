#!/usr/bin/env node
import module from "node:module";

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`nylorun: this needs Node 24 or newer, and is ${process.version}.\n`);
  process.exit(1);
}
// Before anything else is imported: what Node compiled at an earlier start it need not compile again. Threads learn of it
// through the environment only.
const { directory } = module.enableCompileCache();
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;

await import("../src/cli/main.ts");
