import type { Command } from "commander";

import type { DailyUsage } from "../http/operations.ts";
import { numberOf } from "./number.ts";
import { onHome } from "./on-home.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { formatTable } from "./table.ts";

/** Days. */
const MOST = 400;

const MORE = `
It is added up as tasks end. What agents of this Runtime have called for
(turn.call) counts for the subject in whose name they did. Tokens and costs are
what agents reported; "-" is that none did. --json has it by day.`;

export function addUsageCommand(program: Command): void {
  const usage = program
    .command("usage")
    .description("Show what tasks used, by agent.")
    .option("--days <n>", `How many days, today among them, in UTC: 1 to ${MOST}.`, "30")
    .option("--subject <name>", "Only what was done for this one.")
    .option("--json", "Print JSON, by agent and day.")
    .addHelpText("after", MORE)
    .action(async ({ days: given, subject, json }: { days: string; subject?: string; json?: true }) => {
      const days = numberOf("--days", given, MOST);
      const rows = await onHome(usage, (operations) => operations.usage({ days, subject }));
      if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
      else if (rows.length === 0) process.stdout.write("No task has ended in this time.\n");
      else process.stdout.write(usageTable(rows));
    });
  addSettingFlags(usage, ["home"]);
}

function usageTable(rows: readonly DailyUsage[]): string {
  const agents = [...Map.groupBy(rows, ({ agent }) => agent)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = agents.map(([agent, days]) => lineOf(agent, days));
  return formatTable(
    ["AGENT", "TASKS", "TOKENS", "COST (USD)"],
    agents.length === 1 ? lines : [...lines, lineOf("all", rows)],
  );
}

function lineOf(name: string, rows: readonly DailyUsage[]): readonly string[] {
  const sum = (numbers: readonly (number | undefined)[]): number | undefined => {
    const known = numbers.filter((number) => number !== undefined);
    return known.length === 0 ? undefined : known.reduce((one, other) => one + other, 0);
  };
  const cost = sum(rows.map(({ costUsd }) => costUsd));
  return [
    name,
    sum(rows.map(({ turns }) => turns))?.toString() ?? "0",
    sum(rows.map(({ tokens }) => tokens))?.toString() ?? "-",
    cost === undefined ? "-" : cost.toFixed(4),
  ];
}
