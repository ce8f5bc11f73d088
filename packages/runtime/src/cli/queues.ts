import type { Command } from "commander";

import type { WaitingContext } from "../http/operations.ts";
import { numberOf } from "./number.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTime } from "./table.ts";

const MOST = 1_000;

const MORE = `
A context does one thing at a time: a message that comes meanwhile waits until
the task before it has ended. What is waited for may itself wait: for an answer
(waiting), or for an operator (uncertain: "nylorun effects"; held: "nylorun
turns"). The context whose oldest message has waited longest comes first.`;

export function addQueuesCommand(program: Command): void {
  const queues = program
    .command("queues")
    .description("List the contexts in which messages wait, and what for.")
    .option("--limit <n>", `How many contexts at most: 1 to ${MOST}.`, "100")
    .option("--json", "Print JSON.")
    .addHelpText("after", MORE)
    .action(async ({ limit: given, json }: { limit: string; json?: true }) => {
      const limit = numberOf("--limit", given, MOST);
      const found = await onHome(queues, (operations) => operations.queues(limit));
      if (json) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
      else if (found.length === 0) process.stdout.write("No message waits.\n");
      else process.stdout.write(found.map(queueText).join(""));
      if (!json && found.length === limit) process.stdout.write(`These are the first ${limit}.\n`);
    });
  addSettingFlags(queues, ["home"]);
}

function queueText({ agent, subject, contextId, waiting, since, active }: WaitingContext): string {
  const count = waiting === 1 ? "1 message waits" : `${waiting} messages wait`;
  return `${contextId}  ${agent}  ${count}, since ${formatTime(since)}\n  of ${subject}\n  for ${active.taskId}, ${active.state} since ${formatTime(active.since)}\n`;
}
