/**
 * The command line: which commands there are, and how each one ends. What goes wrong is one sentence on stderr and exit
 * code 1, be it a wrong flag, a bad setting or a home that another process serves; only a bug of ours shows a stack.
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { inspect } from "node:util";

import { Command, CommanderError } from "commander";

import { AccessError } from "../access/errors.ts";
import { RuntimeError } from "../node/errors.ts";
import { StoreError } from "../store/errors.ts";
import { addKeysCommand } from "./keys.ts";
import { addServeCommand } from "./serve.ts";
import type { Announce } from "./serve.ts";
import { addTurnsCommand } from "./turns.ts";

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
    await createProgram(options.announce).parseAsync(args, { from: "user" });
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
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(sentence(text.replace(/^error: /, ""))) })
    .addHelpText("after", FIRST_STEPS);
  addServeCommand(program, announce);
  addKeysCommand(program);
  addTurnsCommand(program);
  return program;
}

/** Says what went wrong, and returns the exit code for it. */
function report(error: unknown): number {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode;
  const explained = error instanceof RuntimeError || error instanceof AccessError || error instanceof StoreError;
  process.stderr.write(explained ? sentence(error.message) : `nylorun: this should not happen: ${inspect(error)}\n`);
  return 1;
}

function sentence(text: string): string {
  return `nylorun: ${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n`;
}

function version(): string {
  const path = findPackageJSON("..", import.meta.url) ?? "";
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
