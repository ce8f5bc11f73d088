/** What a write of a run says, in words. */
import type { Commit } from "../store/store.ts";
import { callName, isStart } from "../turn/journal.ts";
import type { Entry } from "../turn/journal.ts";

/** @param journal What was written before. */
export function writeText({ entries = [], then }: Commit, journal: readonly Entry[]): string {
  const all = [...journal, ...entries];
  const said = entries.map((entry) => entryText(entry, all));
  if (then?.do === "park") said.push("it waits");
  if (then?.do === "end") said.push("it ends");
  return said.length === 0 ? "what it shows" : said.join(", ");
}

function entryText(entry: Entry, all: readonly Entry[]): string {
  if (isStart(entry)) return `${callName(entry)} begins`;
  const start = "of" in entry ? all[entry.of] : undefined;
  const name = start !== undefined && isStart(start) ? callName(start) : "it";
  switch (entry.kind) {
    case "outcome":
      return `the outcome of ${name}`;
    case "end":
      return `${name} is ${entry.how}`;
    case "retry":
      return `${name} is tried again`;
    case "lost":
      return `the outcome of ${name} is lost`;
    default:
      return entry.kind;
  }
}
