#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Before anything else is imported: what Node compiled at an earlier start it need not compile again. Threads learn of it
// through the environment only.
const { directory } = enableCompileCache();
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;

await import("../src/cli/main.ts");
