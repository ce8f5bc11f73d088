/**
 * The rooms of the house and what each may import: ARCHITECTURE.md's table, as the check that enforces it.
 *
 * `node scripts/rooms.ts` lists what breaks it, one line each, and exits with 1 if anything does.
 */
import { dirname } from "node:path";

import { violations, type Room } from "./house.ts";
import { withSources } from "./source-tree.ts";

const PROTOCOL = "@nylorun/protocol";

export const ROOMS: readonly Room[] = [
  { name: "protocol", at: ["packages/protocol/src"], imports: [], pure: { but: [] } },
  { name: "progress", at: ["packages/progress/src"], imports: [PROTOCOL, "node:*"] },
  { name: "agents", at: ["packages/agents/src"], imports: [PROTOCOL] },
  {
    name: "agents/a2a",
    at: ["packages/agents/src/a2a"],
    imports: [PROTOCOL, "agents", "@a2a-js/sdk", "standardwebhooks", "jose", "@noble/hashes"],
  },

  // The Runtime. Its heart sees the world through ports; adapters do not see each other.
  {
    name: "runtime/turn",
    at: ["packages/runtime/src/turn"],
    // Of agents' values it needs the errors that authors throw and catch.
    imports: [PROTOCOL, "@nylorun/agents", "runtime ports"],
    // Waiting goes through timers, and leases by a clock that never jumps; tests mock both.
    pure: { but: ["setTimeout", "setInterval", "performance"] },
  },
  {
    name: "runtime ports",
    at: ["store/store", "store/files", "store/push", "store/signal", "store/errors", "files/blob"].map(
      (port) => `packages/runtime/src/${port}`,
    ),
    imports: [],
    types: [PROTOCOL, "runtime/turn"],
  },
  {
    name: "runtime/store",
    at: ["packages/runtime/src/store"],
    imports: [PROTOCOL, "runtime ports", "node:*"],
    types: ["runtime/turn"],
    sql: true,
  },
  {
    name: "runtime/store/sqlite",
    at: ["packages/runtime/src/store/sqlite"],
    imports: [PROTOCOL, "runtime ports", "runtime/store", "node:*"],
    types: ["runtime/turn"],
    sql: true,
  },
  {
    name: "runtime/store/postgres",
    at: ["packages/runtime/src/store/postgres"],
    imports: [PROTOCOL, "runtime ports", "runtime/store", "node:*", "pg"],
    types: ["runtime/turn"],
    sql: true,
  },
  { name: "runtime/dial", at: ["packages/runtime/src/dial"], imports: ["node:*", "undici", "ipaddr.js"] },
  {
    name: "runtime/push",
    at: ["packages/runtime/src/push"],
    imports: [PROTOCOL, "runtime ports", "runtime/dial", "node:*", "standardwebhooks"],
    types: ["runtime/turn"],
  },
  {
    name: "runtime/files",
    at: ["packages/runtime/src/files"],
    imports: [PROTOCOL, "runtime ports", "runtime/dial", "node:*", "jose", "aws4fetch", "mrmime"],
    types: ["runtime/turn", "@nylorun/agents"],
  },
  {
    name: "runtime/access",
    at: ["packages/runtime/src/access"],
    imports: [PROTOCOL, "runtime ports", "node:*", "jose"],
    types: ["runtime/turn"],
  },
  {
    name: "runtime/http",
    at: ["packages/runtime/src/http"],
    imports: [
      PROTOCOL,
      "@nylorun/progress",
      "runtime/turn",
      "runtime ports",
      "runtime/push",
      "runtime/files",
      "runtime/dial",
      "runtime/access",
      "node:*",
      "hono",
    ],
    types: ["@nylorun/agents"],
  },
  {
    name: "runtime/node",
    at: ["packages/runtime/src/node"],
    imports: [
      "runtime*",
      "@nylorun/*",
      "node:*",
      "hono",
      "@hono/node-server",
      "pino",
      "ajv",
      "@opentelemetry/*",
      "undici",
    ],
    environment: true,
    loads: true,
  },
  {
    name: "runtime/cli",
    at: ["packages/runtime/src/cli"],
    imports: ["runtime*", "@nylorun/*", "node:*", "commander", "ansi-escapes", "string-width"],
  },
  { name: "runtime", at: ["packages/runtime/src/index"], imports: ["runtime*"] },
  {
    name: "runtime/testing",
    at: ["packages/runtime/src/testing"],
    imports: ["runtime*", PROTOCOL, "@nylorun/agents", "node:*"],
  },

  {
    name: "mcp-server",
    at: ["packages/mcp-server/src"],
    imports: [PROTOCOL, "@nylorun/progress", "@nylorun/widget/mcp-app", "@modelcontextprotocol/*", "node:*"],
    environment: true,
  },
  { name: "widget", at: ["packages/widget/src"], imports: [PROTOCOL], types: ["react"] },
  {
    name: "dashboard",
    at: ["packages/dashboard/src"],
    imports: [PROTOCOL, "@nylorun/widget", "@nylorun/widget/define", "@nylorun/agents/a2a", "lit", "uplot"],
  },

  // What is not published. Whole-system tests, examples and benchmarks reach packages by name: through public exports only.
  {
    name: "package tests",
    at: ["packages/*/test"],
    imports: ["*", "tests"],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  { name: "package scripts", at: ["packages/*/scripts"], imports: ["*"], environment: true, development: true },
  {
    name: "tests",
    at: ["test"],
    imports: ["*", "examples"],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  // To die at a named write, a process wraps the store that it would have.
  {
    name: "fault tests",
    at: ["test/crash/faults"],
    imports: ["*", "tests", "examples", "runtime/store/sqlite", "runtime/store/postgres", "runtime ports"],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  // Some of what strangers hand in comes through no export, but a command: it is handed to what reads it.
  {
    name: "fuzzing",
    at: ["test/fuzz"],
    imports: [
      "*",
      "tests",
      "examples",
      "runtime/access",
      "runtime/node",
      "runtime/store",
      "runtime/store/sqlite",
      "runtime ports",
    ],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  // What takes long puts a package's own tests through more of the same, and its load is the benchmarks'.
  {
    name: "soaks",
    at: ["test/soak"],
    imports: ["*", "tests", "fuzzing", "package tests", "benchmarks"],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  // What happens between two nodes has no export: the store's own tests time it.
  {
    name: "benchmarks",
    at: ["bench"],
    imports: ["*", "tests", "package tests"],
    environment: true,
    loads: true,
    sql: true,
    development: true,
  },
  { name: "examples", at: ["examples"], imports: ["*"], environment: true, development: true },
  // `npm start` is the command with a key and a first call.
  {
    name: "start",
    at: ["scripts/start"],
    imports: ["node:*", "@nylorun/runtime", "runtime/cli"],
    environment: true,
    development: true,
  },
  {
    name: "scripts",
    at: ["scripts"],
    imports: ["node:*", "typescript"],
    environment: true,
    loads: true,
    development: true,
  },
];

function main(root: string): void {
  const found = withSources(root, (sources) => violations(root, ROOMS, sources));
  for (const { path, line, text } of found) process.stdout.write(`${path}:${line} ${text}\n`);
  if (found.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(dirname(import.meta.dirname));
