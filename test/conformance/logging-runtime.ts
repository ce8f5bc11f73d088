/** A Runtime that logs everything, for tests to read the log of: says where it is, and ends with its standard input. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startRuntime } from "@nylorun/runtime";

import { actor } from "./agents.ts";

const folder = mkdtempSync(join(tmpdir(), "nylorun-logging-"));
try {
  await using runtime = await startRuntime({ agents: [actor], home: join(folder, "home"), port: 0, logLevel: "debug" });
  const subject = await runtime.addKey({ role: "subject", subject: "ada" });
  const operator = await runtime.addKey({ role: "operator" });
  process.stdout.write(`${JSON.stringify({ url: runtime.url, subject, operator })}\n`);
  process.stdin.resume();
  await once(process.stdin, "end");
} finally {
  rmSync(folder, { recursive: true });
}
