/** A command that is run as it would run alone, and reported on. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { basename } from "node:path";
import type { Readable } from "node:stream";

import { agentOfTask } from "@nylorun/progress";

import { commandEnvironment } from "../../node/command-environment.ts";
import { openLocalSink } from "../../node/sink.ts";
import { OutputPercent } from "./output-percent.ts";
import { Reporter } from "./reporter.ts";

/** A command that is silent goes on all the same: so often that is said, in milliseconds. */
const ALIVE_MS = 30_000;

export interface ReportedOptions {
  readonly task?: string | undefined;
  readonly stage?: string | undefined;
  readonly agent?: string | undefined;
  readonly terminal?: boolean | undefined;
}

/**
 * Runs a command to its end. Returns the exit code to end with, as shells have it: its own; for a signal, 128 and the signal's
 * number; 127 or 126 when it could not be run.
 *
 * @throws ReportError for a task's name that is none.
 */
export async function runReported(command: readonly string[], options: ReportedOptions): Promise<number> {
  const task = options.task ?? taskOf(command);
  const stage = options.stage ?? command.join(" ");
  using sink = openLocalSink((text) => process.stderr.write(`nylorun: ${text}\n`));
  using reporter = new Reporter({ sink, task, agent: options.agent ?? agentOfTask(task) });
  let percent = 0;
  reporter.report({ percent, stage, status: "started" });

  const child = spawn(command[0]!, command.slice(1), {
    env: commandEnvironment(),
    stdio: options.terminal ? "inherit" : ["inherit", "pipe", "pipe"],
  });
  const alive = setInterval(() => reporter.report({ percent, stage, status: "running" }), ALIVE_MS);
  const watchOutput = (from: Readable | null, to: NodeJS.WriteStream): void => {
    if (from === null) return;
    const reader = new OutputPercent();
    from.on("data", (chunk: Buffer) => {
      const found = reader.push(chunk);
      if (found === undefined || found === percent) return;
      // Only its end makes it whole: what is at 100 here may be one part of many.
      percent = Math.min(found, 99);
      alive.refresh();
      reporter.report({ percent, stage, status: "running" });
    });
    from.pipe(to, { end: false });
    // Who reads our output has stopped: the command is to learn that as it would alone.
    to.on("error", () => from.destroy());
  };
  watchOutput(child.stdout, process.stdout);
  watchOutput(child.stderr, process.stderr);
  using _ = passSignals(child);
  const end = await endOf(child);
  clearInterval(alive);

  if ("error" in end) {
    const isMissing = end.error.code === "ENOENT";
    const why = isMissing ? "there is no such command" : end.error.message;
    reporter.report({ percent, stage, status: "error", message: `Not run: ${why}` });
    process.stderr.write(`nylorun: ${command[0]} cannot be run: ${why}.\n`);
    return isMissing ? 127 : 126;
  }
  const { code, signal } = end;
  if (code === 0) reporter.report({ percent: 100, stage, status: "done" });
  else {
    const message = signal === null ? `Exit code ${code}` : `Ended by ${signal}`;
    reporter.report({ percent, stage, status: "error", message });
  }
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}

/** `shell:<folder>:<command>`: the same for each run of a command in a folder, so that its history is its own. */
function taskOf(command: readonly string[]): string {
  const words = [basename(command[0]!), ...command.slice(1)].join("-");
  const slug = (text: string): string => text.replaceAll(/[^a-zA-Z0-9._]+/g, "-").replaceAll(/^-+|-+$/g, "");
  const folder = slug(basename(process.cwd())) || "root";
  return `shell:${folder.slice(0, 40)}:${slug(words).slice(0, 40) || "command"}`;
}

type End =
  | { readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly error: NodeJS.ErrnoException };

function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ error }));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

/** Hands on what is sent to us. What a terminal sends on Ctrl-C it sends to the command itself. */
function passSignals(child: ChildProcess): Disposable {
  const pass = (signal: NodeJS.Signals): void => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, pass);
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, pass);
    },
  };
}
