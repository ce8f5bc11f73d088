/** `watch` where nothing is drawn: a line for each change, for people or for programs. */
import { follow } from "@nylorun/progress";
import type { SinkReader, SinkRecord } from "@nylorun/progress";

import { fitToCells } from "../cells.ts";
import { WatchedTasks } from "./tasks.ts";
import type { WatchedTask } from "./tasks.ts";
import { nameOf, nothingYet, percentText, stageText } from "./text.ts";

export interface LinesOptions {
  readonly reader: SinkReader;
  /** Begin with what ended long ago, too. */
  readonly all: boolean;
  /** Print records as JSON. */
  readonly json: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Prints what is going on, and ends. */
export function printOnce({ reader, all, json }: LinesOptions): void {
  const tasks = new WatchedTasks();
  for (const record of reader.read().records) tasks.add(record);
  const shown = tasks.shown(Date.now(), all).flatMap((agent) => agent.tasks);
  if (shown.length === 0 && !json) process.stdout.write(`${nothingYet(reader.folder)}\n`);
  for (const task of shown) print(task, json);
}

/** Prints what is going on, then each change. */
export async function printChanges({ reader, all, json, signal }: LinesOptions): Promise<void> {
  const tasks = new WatchedTasks();
  let upToDate = false;
  for await (const { records, more } of follow(reader, { signal })) {
    const changed = records.filter((record) => tasks.add(record));
    if (upToDate) for (const record of changed) print(now(record), json);
    else if (!more) {
      upToDate = true;
      for (const { tasks: ofAgent } of tasks.shown(Date.now(), all)) for (const task of ofAgent) print(task, json);
    }
  }
}

/** A task of which something was heard just now. What it usually takes is no news. */
function now(shown: SinkRecord): WatchedTask {
  return { shown, silentMs: 0, usual: undefined };
}

function print(task: WatchedTask, json: boolean): void {
  const { shown } = task;
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : `${lineOf(task)}\n`);
}

/** `12:00:05  claude  summarize-report  42%  Reasoning`, by the time here. */
function lineOf(task: WatchedTask): string {
  const { timestamp, agent } = task.shown;
  const time = new Date(timestamp).toTimeString().slice(0, 8);
  const cells = [time, fitToCells(agent, 12), fitToCells(nameOf(task), 24), percentText(task).padStart(4)];
  return `${cells.join("  ")}  ${stageText(task)}`.trimEnd();
}
