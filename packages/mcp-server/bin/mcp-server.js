#!/usr/bin/env node
import module from "node:module";

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`nylorun-mcp-server: this needs Node 24 or newer, and is ${process.version}.\n`);
  process.exit(1);
}
// Before anything else is imported: what Node compiled at an earlier start it need not compile again.
module.enableCompileCache();
await import("../src/main.ts");
