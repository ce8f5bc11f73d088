import { createInterface } from "node:readline";
/** Asks the person at the terminal. What is asked goes to stderr, so that stdout has the results alone. */
import { setTimeout as delay } from "node:timers/promises";

/** How long to look for what was typed before the question, in milliseconds: a terminal gives it at once. */
const TYPED_AHEAD = 30;

/** Whether somebody is there to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * One line, without the blanks around it; undefined when the input ended (Ctrl-D). Ctrl-C ends the process. Lines that were typed
 * before the question was there answer nothing: they were meant for something else.
 */
export async function askLine(question: string): Promise<string | undefined> {
  const ignore = () => undefined;
  process.stdin.on("data", ignore);
  await delay(TYPED_AHEAD);
  process.stdin.off("data", ignore).pause();
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    asking.on("SIGINT", () => {
      asking.close();
      process.stderr.write("\n");
      process.exit(130);
    });
    asking.on("close", () => resolve(undefined));
    asking.question(question, (line) => {
      resolve(line.trim());
      asking.close();
    });
  });
}
