import { createInterface } from "node:readline";
/** Asks the person at the terminal. What is asked goes to stderr, so that stdout has the results alone. */
import { setTimeout as delay } from "node:timers/promises";

/** How long to look for what was typed before the question, in milliseconds: a terminal gives it at once. */
const TYPED_AHEAD = 30;

/** Whether somebody is there to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

export interface AskOptions {
  /** Aborted when nobody needs the answer any more. */
  readonly signal?: AbortSignal;
  /** What Ctrl-C does. Default: it ends the process. */
  readonly onInterrupt?: () => void;
}

/**
 * One line, without the blanks around it; undefined when the input ended (Ctrl-D), was interrupted (Ctrl-C), or the question was
 * taken back. Lines that were typed before the question was there answer nothing: they were meant for something else.
 */
export async function askLine(question: string, { signal, onInterrupt }: AskOptions = {}): Promise<string | undefined> {
  const ignore = () => undefined;
  process.stdin.on("data", ignore);
  await delay(TYPED_AHEAD);
  process.stdin.off("data", ignore).pause();
  if (signal?.aborted) return undefined;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const takeBack = (): void => asking.close();
  signal?.addEventListener("abort", takeBack, { once: true });
  return new Promise((resolve) => {
    asking.on("SIGINT", () => {
      asking.close();
      process.stderr.write("\n");
      if (onInterrupt === undefined) process.exit(130);
      onInterrupt();
    });
    asking.on("close", () => {
      signal?.removeEventListener("abort", takeBack);
      resolve(undefined);
    });
    asking.question(question, (line) => {
      resolve(line.trim());
      asking.close();
    });
  });
}
