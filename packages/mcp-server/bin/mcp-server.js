#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Before anything else is imported: what Node compiled at an earlier start it need not compile again.
enableCompileCache();
await import("../src/main.ts");
