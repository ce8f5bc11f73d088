/** What commands reported in a place. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { SinkRecord } from "@nylorun/progress";

import type { Place } from "./nylorun.ts";

/** The records in a place's sink, in their order. */
export function recordsOf({ events }: Place): SinkRecord[] {
  if (!existsSync(events)) return [];
  return globSync("*.jsonl", { cwd: events })
    .toSorted()
    .flatMap((name) => readFileSync(join(events, name), "utf8").split("\n").slice(0, -1))
    .map((line) => JSON.parse(line) as SinkRecord);
}

/** `percent status stage`, with the message if there is one. */
export function briefOf({ percent, status, stage, message }: SinkRecord): string {
  return `${Math.floor(percent)} ${status} ${stage}${message === undefined ? "" : ` (${message})`}`;
}
