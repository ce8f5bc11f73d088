/**
 * The command line: which commands there are, and how each one ends. What goes wrong is one sentence on stderr and exit
 * code 1, be it a wrong flag, a bad setting or a home that another process serves; only a bug of ours shows a stack.
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { inspect } from "node:util";

import { ReportError } from "@nylorun/protocol";
import { Command, CommanderError } from "commander";

import { AccessError } from "../access/errors.ts";
import { OperationError } from "../http/operations.ts";
import { RuntimeError } from "../node/errors.ts";
import { StoreError } from "../store/errors.ts";
import { addAcpCommand } from "./acp.ts";
import { addAnswerCommand } from "./answer.ts";
import { addBackupCommands } from "./backup.ts";
import { addCallCommand } from "./call.ts";
import { addDashboardCommand } from "./dashboard.ts";
import { addDeleteCommand } from "./delete.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEffectsCommand } from "./effects.ts";
import { addHookCommand } from "./hook.ts";
import { addKeysCommand } from "./keys.ts";
import { addMoveCommands } from "./move.ts";
import { addPushCommand } from "./push.ts";
import { addQueuesCommand } from "./queues.ts";
import { addReplayCheckCommand } from "./replay-check.ts";
import { addReportCommand } from "./report.ts";
import { addRunCommand } from "./run.ts";
import { addServeCommand } from "./serve.ts";
import type { Announce } from "./serve.ts";
import { addTurnsCommand } from "./turns.ts";
import { addUsageCommand } from "./usage.ts";
import { addWatchCommand } from "./watch.ts";

const FIRST_STEPS = `
First steps:
  nylorun keys add --subject ada    makes a key for a caller, and shows it once
  nylorun serve agent.ts            serves the agent that agent.ts exports

"nylorun <command> --help" says more about a command.`;

/**
 * Runs one command. Sets the exit code; the process ends when nothing is left to do.
 *
 * @param options.announce What `serve` says once it serves, instead of its own words.
 */
export async function run(args: readonly string[], options: { readonly announce?: Announce } = {}): Promise<void> {
  // Who reads our output may stop reading (`nylorun keys list | head -1`); that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  try {
    await createProgram(options.announce).parseAsync(idsLast(args), { from: "user" });
  } catch (error) {
    process.exitCode = report(error);
  }
}

function createProgram(announce: Announce | undefined): Command {
  const program = new Command("nylorun")
    .description("Serves agents over A2A. What was accepted is never lost; what was sent again never runs twice.")
    .version(version(), "--version", "Print the version.")
    .helpOption("--help", "Print this help.")
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(sentence(text.replace(/^error: /, ""))) })
    .addHelpText("after", FIRST_STEPS);
  addServeCommand(program, announce);
  addCallCommand(program);
  addAnswerCommand(program);
  addKeysCommand(program);
  addTurnsCommand(program);
  addQueuesCommand(program);
  addUsageCommand(program);
  addPushCommand(program);
  addEffectsCommand(program);
  addReplayCheckCommand(program);
  addDeleteCommand(program);
  addBackupCommands(program);
  addMoveCommands(program);
  addWatchCommand(program);
  addDashboardCommand(program);
  addReportCommand(program);
  addRunCommand(program);
  addHookCommand(program);
  addAcpCommand(program);
  addDoctorCommand(program);
  return program;
}

/** 128 bits in base64url that begin with "-": an id of a task or an effect, and no flag. */
const DASHED_ID = /^-[\w-]{20}[AQgw]$/;

/** Flags whose value is an id: commander takes it whatever it begins with. */
const FLAGS_OF_IDS: ReadonlySet<string | undefined> = new Set(["--context", "--interaction", "--message-id", "--task"]);

/** Has ids that look like flags taken as what they are, as they were copied from what we print. */
function idsLast(args: readonly string[]): readonly string[] {
  const isLoose = (arg: string, at: number) => DASHED_ID.test(arg) && !FLAGS_OF_IDS.has(args[at - 1]);
  const ids = args.filter(isLoose);
  if (ids.length === 0 || args.includes("--")) return args;
  return [...args.filter((arg, at) => !isLoose(arg, at)), "--", ...ids];
}

/** Says what went wrong, and returns the exit code for it. */
function report(error: unknown): number {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode;
  process.stderr.write(
    isExplained(error) ? sentence(error.message) : `nylorun: this should not happen: ${inspect(error)}\n`,
  );
  return 1;
}

function isExplained(error: unknown): error is Error {
  return [RuntimeError, OperationError, AccessError, StoreError, ReportError].some((kind) => error instanceof kind);
}

function sentence(text: string): string {
  return `nylorun: ${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n`;
}

function version(): string {
  const path = findPackageJSON("..", import.meta.url) ?? "";
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
