/** An ACP agent between a client and us: bytes are passed on as they are, and read on the way. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";

import { LineSplitter } from "@nylorun/progress";

import { commandEnvironment } from "../../node/command-environment.ts";
import { openLocalSink } from "../../node/sink.ts";
import { Reporter } from "../reports/reporter.ts";
import { AcpProgress } from "./acp-progress.ts";
import type { AcpReport } from "./acp-progress.ts";

/** Runs the agent to its end. Returns the exit code to end with, as shells have it. */
export async function runAcpAgent(command: readonly string[], name: string | undefined): Promise<number> {
  using sink = openLocalSink((text) => process.stderr.write(`nylorun: ${text}\n`));
  const reporters = new Map<string, Reporter>();
  const progress = new AcpProgress(name, command[0]!);
  const tell = (report: AcpReport | undefined): void => {
    if (report === undefined) return;
    let reporter = reporters.get(report.task);
    if (reporter === undefined) reporters.set(report.task, (reporter = new Reporter({ sink, ...report })));
    reporter.report(report.progress);
  };

  const agent = spawn(command[0]!, command.slice(1), { env: commandEnvironment(), stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<number>((resolve) => {
    agent.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "there is no such command" : error.message;
      process.stderr.write(`nylorun: ${command[0]} cannot be run: ${why}.\n`);
      resolve(error.code === "ENOENT" ? 127 : 126);
    });
    agent.once("close", (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => agent.kill(signal));
  // Whoever is gone first, the other one learns it from its own stream.
  agent.stdin.on("error", () => process.stdin.destroy());
  process.stdout.on("error", () => agent.stdout.destroy());
  process.stdin.pipe(agent.stdin);
  agent.stdout.pipe(process.stdout, { end: false });
  overhear(process.stdin, (message) => tell(progress.fromClient(message)));
  overhear(agent.stdout, (message) => tell(progress.fromAgent(message)));

  const code = await ended;
  process.stdin.destroy();
  for (const report of progress.ended()) tell(report);
  for (const reporter of reporters.values()) reporter[Symbol.dispose]();
  return code;
}

/** Reads the messages on a stream that flows elsewhere. What is none is not ours to judge. */
function overhear(stream: Readable, take: (message: unknown) => void): void {
  const lines = new LineSplitter();
  stream.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) {
      try {
        if (line !== undefined && line.trim() !== "") take(JSON.parse(line));
      } catch {
        // Not JSON.
      }
    }
  });
}
